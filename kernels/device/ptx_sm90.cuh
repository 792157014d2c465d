// PTX of sm_90a under its own names: barriers in shared memory, the bulk tensor copy, wgmma.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "ptx_sm80.cuh"

namespace gemm::device {

// -- mbarrier: counts arrivals and bytes, and changes phase when both are complete

__device__ inline void mbarrier_init(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
/// Makes initialised barriers visible to the copy engine.
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// Arrives and announces `bytes` that the copy engine will bring in this phase.
__device__ inline void mbarrier_arrive_expect_tx(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ inline void mbarrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Waits until the phase of this parity is complete.
__device__ inline void mbarrier_wait_parity(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "wait:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra wait;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// -- Bulk tensor copy

/// Brings a box of a tensor map to shared memory and counts its bytes on the barrier. Coordinates
/// are along the contiguous direction, across lines, and over the batch; beyond the edges it is
/// zero.
__device__ inline void cp_async_bulk_tensor_3d(unsigned to, const CUtensorMap* map, int along,
                                               int line, int batch, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
      "l"(map), "r"(along), "r"(line), "r"(batch), "r"(barrier)
      : "memory");
}

// -- Registers

/// setmaxnreg: the warpgroup gives registers back, or takes more, until each thread has `count`.
template <int count>
__device__ inline void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ inline void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

// -- wgmma

/// Orders register accesses of the warpgroup before the wgmma that follow.
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most `pending` groups of this warpgroup are in flight.
template <int pending>
__device__ inline void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/// A matrix descriptor for shared memory in 128-byte swizzle: 8 lines of 128 bytes are one
/// 1024-byte atom, and atoms follow one another along the lines. `leading_bytes` is from one
/// 128-byte column of atoms to the next; only operands that are contiguous along m or n use it.
__device__ inline std::uint64_t wgmma_descriptor(unsigned address, int leading_bytes) {
  constexpr std::uint64_t swizzle_128 = 1ull << 62, atom_stride = 1024;
  return (address & 0x3ffff) >> 4 | static_cast<std::uint64_t>(leading_bytes >> 4) << 16 |
         (atom_stride >> 4) << 32 | swizzle_128;
}

/// d += a b for 64 x 256 of C and 32 bytes of k. The operands' contiguous direction is k, unless
/// the flag says m (for a) or n (for b), which 16-bit types only can have. Asynchronous: see the
/// fences.
template <class Storage, bool a_m_contiguous, bool b_n_contiguous>
__device__ void wgmma_64x256(float (&d)[128], std::uint64_t a, std::uint64_t b);

#define GEMM_EIGHT(I)                                                                         \
  "+f"(d[I]), "+f"(d[I + 1]), "+f"(d[I + 2]), "+f"(d[I + 3]), "+f"(d[I + 4]), "+f"(d[I + 5]), \
      "+f"(d[I + 6]), "+f"(d[I + 7])
#define GEMM_SIXTY_FOUR(I)                                                                      \
  GEMM_EIGHT(I), GEMM_EIGHT(I + 8), GEMM_EIGHT(I + 16), GEMM_EIGHT(I + 24), GEMM_EIGHT(I + 32), \
      GEMM_EIGHT(I + 40), GEMM_EIGHT(I + 48), GEMM_EIGHT(I + 56)
#define GEMM_ACCUMULATORS                                                                        \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define GEMM_WGMMA(STORAGE, TYPE)                                                                \
  template <bool a_m_contiguous, bool b_n_contiguous>                                            \
  __device__ inline void wgmma_64x256_##TYPE(float(&d)[128], std::uint64_t a, std::uint64_t b) { \
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32." #TYPE "." #TYPE                  \
                 " {" GEMM_ACCUMULATORS "}, %128, %129, 1, 1, 1, %130, %131;"                    \
                 : GEMM_SIXTY_FOUR(0), GEMM_SIXTY_FOUR(64)                                       \
                 : "l"(a), "l"(b), "n"(a_m_contiguous), "n"(b_n_contiguous));                    \
  }
GEMM_WGMMA(__half, f16)
GEMM_WGMMA(__nv_bfloat16, bf16)
#undef GEMM_WGMMA

__device__ inline void wgmma_64x256_tf32(float (&d)[128], std::uint64_t a, std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {" GEMM_ACCUMULATORS
               "}, %128, %129, 1, 1, 1;"
               : GEMM_SIXTY_FOUR(0), GEMM_SIXTY_FOUR(64)
               : "l"(a), "l"(b));
}
#undef GEMM_ACCUMULATORS
#undef GEMM_SIXTY_FOUR
#undef GEMM_EIGHT

template <class Storage, bool a_m_contiguous, bool b_n_contiguous>
__device__ void wgmma_64x256(float (&d)[128], std::uint64_t a, std::uint64_t b) {
  if constexpr (sizeof(Storage) == 4) {
    static_assert(!a_m_contiguous && !b_n_contiguous, "tf32 operands are contiguous along k");
    wgmma_64x256_tf32(d, a, b);
  } else if constexpr (std::is_same_v<Storage, __half>) {
    wgmma_64x256_f16<a_m_contiguous, b_n_contiguous>(d, a, b);
  } else {
    wgmma_64x256_bf16<a_m_contiguous, b_n_contiguous>(d, a, b);
  }
}

}  // namespace gemm::device
