// PTX of sm_80 under its own names: asynchronous copies, matrix loads, matrix multiply-adds.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace gemm::device {

/// The address of shared memory as PTX wants it.
__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// The same value, but the compiler no longer knows where it came from: it keeps it in a register
/// for a whole loop, where it might compute it anew in each round.
__device__ inline unsigned kept(unsigned value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// cp.async.cg.shared.global: 16 bytes past the registers and L1. Only the first `valid` bytes are
/// read (0 to 16); the rest of the 16 becomes zero.
__device__ inline void cp_async_16(unsigned to, const void* from, int valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid));
}
/// cp.async.ca.shared.global: 4 bytes past the registers; 0 bytes read, and zero written, if
/// `valid` is 0.
__device__ inline void cp_async_4(unsigned to, const void* from, int valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(valid));
}
__device__ inline void cp_async_commit_group() { asm volatile("cp.async.commit_group;"); }
/// Waits until at most `pending` groups of this thread are on their way.
template <int pending>
__device__ inline void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// ldmatrix .x4: four 8 x 8 matrices of 16-bit elements (or 8 x 4 of 32-bit ones). Lane i gives the
/// address of row i % 8 of matrix i / 8, and receives two elements of row i / 4 of each.
__device__ inline void ldmatrix_x4(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
/// The same, each matrix transposed on its way.
__device__ inline void ldmatrix_x4_trans(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// mma.sync: d += a b for a 16 x 8 piece of C and 32 bytes of k: m16n8k16 for 16-bit elements,
/// m16n8k8 for TF32. Accumulates in FP32.
template <class Storage>
__device__ void mma_16x8(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);

#define GEMM_MMA(STORAGE, INSTRUCTION)                                                       \
  template <>                                                                                \
  __device__ inline void mma_16x8<STORAGE>(float(&d)[4], const unsigned(&a)[4], unsigned b0, \
                                           unsigned b1) {                                    \
    asm volatile("mma.sync.aligned." INSTRUCTION                                             \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"          \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));            \
  }
GEMM_MMA(__half, "m16n8k16.row.col.f32.f16.f16.f32")
GEMM_MMA(__nv_bfloat16, "m16n8k16.row.col.f32.bf16.bf16.f32")
GEMM_MMA(float, "m16n8k8.row.col.f32.tf32.tf32.f32")
#undef GEMM_MMA

}  // namespace gemm::device
