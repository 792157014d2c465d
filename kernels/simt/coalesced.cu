// Rung: coalesced. Neighbouring threads take neighbouring addresses.
//
// Idea: exchange the two thread indices of the naive rung. The 32 threads of a warp now take 32
// neighbouring columns of one row: they read one element of A together, 32 neighbours of B, and
// write 32 neighbours of C. The loads of A and the stores of C had been 32 transactions each.
//
// Bytes: unchanged, 8 for 2 flops in FP32; but a transaction now carries 32 useful elements in
// place of one, so the load unit is asked a sixteenth as often. It is still asked twice a
// multiply-add, which bounds the rung. A transposed B undoes the gain: its columns are not
// neighbours.
#include "kernels/fault.hpp"
#include "kernels/launch.cuh"

namespace gemm::simt::coalesced {

constexpr int tile = 32;  // a block computes 32 x 32 outputs

template <class Storage>
static __global__ void __launch_bounds__(tile* tile)
    gemm_coalesced(gemm::device::Product<Storage> p) {
  const auto [batch, row0, column0] = gemm::device::tile_origin<tile, tile>(p);
  const long long row = row0 + threadIdx.y, column = column0 + threadIdx.x;
  if (row >= p.m || column >= p.n) return;

  float sum = 0;
  for (long long k = 0; k < p.k; ++k) {
    float a = gemm::device::widen(*p.a.at(batch, row, k));
    if constexpr (gemm::fault("coalesced_tf32_in_place_of_fp32"))
      a = __uint_as_float(__float_as_uint(a) & 0xffffe000u);
    sum = fmaf(a, gemm::device::widen(*p.b.at(batch, k, column)), sum);
  }
  if constexpr (gemm::fault("coalesced_epilogue_rounds_twice"))
    sum = gemm::device::widen(gemm::device::round_to<Storage>(sum));
  if constexpr (gemm::fault("coalesced_c_read_at_beta_zero"))
    sum += 0 * gemm::device::widen(*p.c.at(batch, row, column));
  if constexpr (gemm::fault("coalesced_int32_index"))
    p.c.data += (row * p.c.row_stride & 0x7fffffff) - row * p.c.row_stride;
  gemm::device::store_linear(p.c.at(batch, row, column), sum, p.alpha, p.beta);
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::cuda::launch_for_storage(problem, operands, tile, tile,
                                 [](const auto& product, cudaStream_t stream, unsigned grid) {
                                   gemm_coalesced<<<grid, dim3(tile, tile), 0, stream>>>(product);
                                 });
}

const gemm::Register registered{{.name = "coalesced",
                                 .stage = gemm::Stage::coalesced,
                                 .idea = "neighbouring threads, neighbouring addresses",
                                 .arch = gemm::Arch::any,
                                 .refuses = gemm::cuda::refuses_tf32,
                                 .launch = launch}};

}  // namespace gemm::simt::coalesced
