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

/// Brings a tensor map to where the copy engine reads it, ahead of the first copy.
__device__ inline void prefetch_tensormap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// A policy for copies: when L2 needs room, what they brought goes last.
__device__ inline std::uint64_t l2_evict_last() {
  std::uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

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

/// The same, by a policy for L2.
__device__ inline void cp_async_bulk_tensor_3d(unsigned to, const CUtensorMap* map, int along,
                                               int line, int batch, unsigned barrier,
                                               std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
      "l"(map), "r"(along), "r"(line), "r"(batch), "r"(barrier), "l"(policy)
      : "memory");
}

/// The same, brought once for several blocks of a cluster: to the same place in each block whose
/// bit is set, and counted on the barrier at the same place there.
__device__ inline void cp_async_bulk_tensor_3d_multicast(unsigned to, const CUtensorMap* map,
                                                         int along, int line, int batch,
                                                         unsigned barrier, std::uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
      "l"(map), "r"(along), "r"(line), "r"(batch), "r"(barrier), "h"(blocks)
      : "memory");
}

// -- Clusters: blocks on neighbouring SMs that see one another's shared memory

/// Which block of its cluster this is.
__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// A barrier of all threads of the cluster; what each wrote before it, all see after it.
__device__ inline void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}
/// Where the same variable lies in block `rank` of the cluster.
__device__ inline unsigned in_cluster(unsigned shared, unsigned rank) {
  unsigned address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
  return address;
}
/// mbarrier_arrive for an address of in_cluster.
__device__ inline void mbarrier_arrive_cluster(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// -- Programmatic dependent launch: grids of one stream that overlap

/// What the stream holds next may start where this grid leaves room.
__device__ inline void griddepcontrol_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
/// Waits until the grids before this one are complete and what they wrote is visible.
__device__ inline void griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// -- Matrix store

/// stmatrix .x4: four 8 x 8 matrices of 16-bit elements, as ldmatrix_x4 reads them: lane i gives
/// the address of row i % 8 of matrix i / 8, and two elements of row i / 4 of each.
__device__ inline void stmatrix_x4(unsigned address, const unsigned (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
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
/// Adding 1 to a descriptor moves it by wgmma_descriptor_unit bytes. The address has 18 bits there:
/// above them a block of a cluster finds its rank, also in the addresses of its own memory.
constexpr int wgmma_descriptor_unit = 16;
__device__ inline std::uint64_t wgmma_descriptor(unsigned address, int leading_bytes) {
  constexpr std::uint64_t swizzle_128 = 1ull << 62, atom_stride = 1024;
  return (address & 0x3ffff) >> 4 | static_cast<std::uint64_t>(leading_bytes >> 4) << 16 |
         (atom_stride >> 4) << 32 | swizzle_128;
}

/// d += a b for 64 x n of C and 32 bytes of k. The operands' contiguous direction is k, unless the
/// flag says m (for a) or n (for b), which 16-bit types only can have. Thread t of the warpgroup
/// holds rows t / 32 * 16 + t % 32 / 4 and 8 below; of each 8 columns, 2 (t % 4) and the next.
/// Asynchronous: see the fences.
template <class Storage, int n, bool a_m_contiguous, bool b_n_contiguous>
__device__ void wgmma_64xn(float (&d)[n / 2], std::uint64_t a, std::uint64_t b);

// An asm statement names each of its registers, so each width is a text of its own.
#define GEMM_SUMS_8(I)                                                                        \
  "+f"(d[I]), "+f"(d[I + 1]), "+f"(d[I + 2]), "+f"(d[I + 3]), "+f"(d[I + 4]), "+f"(d[I + 5]), \
      "+f"(d[I + 6]), "+f"(d[I + 7])
#define GEMM_SUMS_32(I) GEMM_SUMS_8(I), GEMM_SUMS_8(I + 8), GEMM_SUMS_8(I + 16), GEMM_SUMS_8(I + 24)
#define GEMM_SUMS_64 GEMM_SUMS_32(0), GEMM_SUMS_32(32)
#define GEMM_SUMS_88 GEMM_SUMS_64, GEMM_SUMS_8(64), GEMM_SUMS_8(72), GEMM_SUMS_8(80)
#define GEMM_SUMS_96 GEMM_SUMS_64, GEMM_SUMS_32(64)
#define GEMM_SUMS_128 GEMM_SUMS_96, GEMM_SUMS_32(96)
#define GEMM_NAMES_64                                                                \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"             \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31" \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
  ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define GEMM_NAMES_88                                                                \
  GEMM_NAMES_64                                                                      \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87"
#define GEMM_NAMES_96                                                                \
  GEMM_NAMES_64                                                                      \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
  ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define GEMM_NAMES_128                                                                       \
  GEMM_NAMES_96                                                                              \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, " \
  "%111"                                                                                     \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, "   \
  "%126, %127"

#define GEMM_WGMMA_16(STORAGE, TYPE, N, SUMS, A, B, A_FLAG, B_FLAG)                             \
  template <bool a_m_contiguous, bool b_n_contiguous>                                           \
  __device__ inline void wgmma_64x##N(float(&d)[SUMS], std::uint64_t a, std::uint64_t b,        \
                                      STORAGE) {                                                \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE                \
                 " {" GEMM_NAMES_##SUMS "}, %" #A ", %" #B ", 1, 1, 1, %" #A_FLAG ", %" #B_FLAG \
                                        ";"                                                     \
                 : GEMM_SUMS_##SUMS                                                             \
                 : "l"(a), "l"(b), "n"(a_m_contiguous), "n"(b_n_contiguous));                   \
  }
#define GEMM_WGMMA(N, SUMS, A, B, A_FLAG, B_FLAG)                                                 \
  GEMM_WGMMA_16(__half, "f16", N, SUMS, A, B, A_FLAG, B_FLAG)                                     \
  GEMM_WGMMA_16(__nv_bfloat16, "bf16", N, SUMS, A, B, A_FLAG, B_FLAG)                             \
  template <bool a_m_contiguous, bool b_n_contiguous>                                             \
  __device__ inline void wgmma_64x##N(float(&d)[SUMS], std::uint64_t a, std::uint64_t b, float) { \
    static_assert(!a_m_contiguous && !b_n_contiguous, "tf32 is contiguous along k");              \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" #N                                           \
                 "k8.f32.tf32.tf32"                                                               \
                 " {" GEMM_NAMES_##SUMS "}, %" #A ", %" #B ", 1, 1, 1;"                           \
                 : GEMM_SUMS_##SUMS                                                               \
                 : "l"(a), "l"(b));                                                               \
  }
GEMM_WGMMA(128, 64, 64, 65, 66, 67)
GEMM_WGMMA(176, 88, 88, 89, 90, 91)
GEMM_WGMMA(192, 96, 96, 97, 98, 99)
GEMM_WGMMA(256, 128, 128, 129, 130, 131)
#undef GEMM_WGMMA
#undef GEMM_WGMMA_16
#undef GEMM_NAMES_128
#undef GEMM_NAMES_96
#undef GEMM_NAMES_88
#undef GEMM_NAMES_64
#undef GEMM_SUMS_128
#undef GEMM_SUMS_96
#undef GEMM_SUMS_88
#undef GEMM_SUMS_64
#undef GEMM_SUMS_32
#undef GEMM_SUMS_8

template <class Storage, int n, bool a_m_contiguous, bool b_n_contiguous>
__device__ void wgmma_64xn(float (&d)[n / 2], std::uint64_t a, std::uint64_t b) {
  if constexpr (n == 256) {
    wgmma_64x256<a_m_contiguous, b_n_contiguous>(d, a, b, Storage{});
  } else if constexpr (n == 192) {
    wgmma_64x192<a_m_contiguous, b_n_contiguous>(d, a, b, Storage{});
  } else if constexpr (n == 176) {
    wgmma_64x176<a_m_contiguous, b_n_contiguous>(d, a, b, Storage{});
  } else {
    static_assert(n == 128, "wgmma takes every multiple of 8 up to 256: add yours above");
    wgmma_64x128<a_m_contiguous, b_n_contiguous>(d, a, b, Storage{});
  }
}

}  // namespace gemm::device
