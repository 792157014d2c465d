// Planted faults: what the checks must kill.
//
// A fault is one line of the table below and one statement in the rung that it spoils, either of
//     if constexpr (gemm::fault("name")) ...
//     if constexpr (!gemm::fault("name")) ...
// in the rung's own file, where nothing is shared with the sound rung once both are linked. A name
// that is not in the table does not compile. A normal build plants none, and the statements vanish
// from it. CMake reads the table: gemmwatch-faults links each source once more for each of its
// faults, and -DGEMMWATCH_FAULT=<name> plants one in a whole build.
#pragma once

#include <string_view>

namespace gemm {

struct Fault {
  std::string_view name;
  std::string_view source;  ///< the rung that it spoils, a file of this folder
  std::string_view meant;   ///< the check that must kill it, as gemmwatch-faults names checks
  std::string_view effect;
  std::string_view problem{};  ///< the only one that shows it, if the check problems do not
};

// The first three strings of a fault stay on its first line: CMake reads them there.
inline constexpr Fault faults[] = {
    // The sum
    {"cpu_last_k_dropped", "cpu/tiled.cpp", "wide_integer",
     "the last of the k products is missing"},
    {"cpu_last_k_tile_dropped", "cpu/packed.cpp", "wide_integer", "the last block of k is missing"},
    {"cpu_k_tail_unmasked", "cpu/tiled.cpp", "wide_integer", "k is rounded up to 4 products"},
    {"cpu_k_tail_wrong_in_one_block", "cpu/tiled.cpp", "wide_integer",
     "one tile of C lacks the products of the incomplete k tile"},
    {"cpu_sums_not_cleared", "cpu/packed.cpp", "wide_integer",
     "sums start from what the workspace held"},
    {"cpu_bf16_accumulator", "cpu/naive.cpp", "wide_integer",
     "each partial sum is rounded to BF16"},
    {"tiled_last_k_dropped", "simt/tiled.cu", "wide_integer",
     "the last of the k products is missing"},
    {"warp_tiled_last_k_tile_dropped", "simt/warp_tiled.cu", "wide_integer",
     "the last slice of k is missing"},
    {"autotuned_k_tail_unmasked", "simt/autotuned.cu", "wide_integer",
     "the last slice of k takes rows beyond k"},
    {"autotuned_first_part_dropped", "simt/autotuned.cu", "wide_integer",
     "the first part of a split k is not added", "fp32/nn/32x36x4096"},
    {"register_1d_k_tail_unmasked", "simt/register_tiled_1d.cu", "wide_integer",
     "k is rounded up to whole tiles"},
    {"double_buffered_tail_wrong_in_one_block", "simt/double_buffered.cu", "wide_integer",
     "block 1 lacks the products of the incomplete k tile"},
    {"register_1d_sums_not_cleared", "simt/register_tiled_1d.cu", "wide_integer",
     "a sum starts from what shared memory held"},
    {"naive_bf16_accumulator", "simt/naive.cu", "wide_integer",
     "each partial sum is rounded to BF16"},
    {"coalesced_tf32_in_place_of_fp32", "simt/coalesced.cu", "symmetric",
     "A is cut to the 10 mantissa bits of TF32"},

    // Who waits for whom, and where a panel lies
    {"tiled_missing_barrier", "simt/tiled.cu", "wide_integer",
     "a warp may multiply before the tile is whole"},
    {"double_buffered_stale_stage", "simt/double_buffered.cu", "wide_integer",
     "in block 1 one step multiplies the panels of two steps before"},
    {"mma_pipelined_missing_wait", "sm80/mma_pipelined.cu", "wide_integer",
     "a panel is multiplied without waiting for its copies"},
    {"mma_pipelined_swapped_ldmatrix_lanes", "sm80/mma_pipelined.cu", "wide_integer",
     "two of the four matrices that make 16 rows of A change places"},
    {"wgmma_tma_wrong_parity", "sm90a/wgmma_tma.cu", "wide_integer",
     "the parity that is waited for never changes"},
    {"wgmma_specialized_missing_full_wait", "sm90a/wgmma_specialized.cu", "wide_integer",
     "consumers do not wait for a stage to be full"},
    {"wgmma_pingpong_sums_not_cleared", "sm90a/wgmma_pingpong.cu", "wide_integer",
     "a group's second tile is added to its first"},
    {"vectorized_wrong_rows", "simt/vectorized.cu", "wide_integer",
     "one step of k reads the elements of A from 8 rows away"},

    // Where an element lies
    {"cpu_edge_off_by_one", "cpu/packed.cpp", "wide_integer",
     "the last column of an incomplete patch is not stored"},
    {"cpu_block_never_written", "cpu/tiled.cpp", "wide_integer", "one tile of C is skipped"},
    {"cpu_patch_transposed", "cpu/tiled.cpp", "wide_integer",
     "8 x 8 outputs of each tile are transposed"},
    {"cpu_last_share_short", "cpu/threaded.cpp", "wide_integer",
     "the last thread leaves the last panel of its columns out"},
    {"cpu_ld_ignored", "cpu/packed.cpp", "wide_integer", "rows of A are taken as packed"},
    {"cpu_store_into_ld_gap", "cpu/packed.cpp", "padding",
     "an incomplete patch is stored as far as the leading dimension goes"},
    {"cpu_result_cached_by_pointer", "cpu/packed.cpp", "wide_integer",
     "a C that lies where the last one lay is taken as done"},
    {"register_2d_edge_off_by_one", "simt/register_tiled_2d.cu", "wide_integer",
     "the last column of an incomplete tile is not stored"},
    {"pretransposed_square_skipped", "simt/pretransposed.cu", "wide_integer",
     "a square of 32 x 32 elements is not packed"},
    {"register_2d_block_never_written", "simt/register_tiled_2d.cu", "wide_integer",
     "block 1 returns at once"},
    {"tiled_ld_ignored", "simt/tiled.cu", "wide_integer", "rows of C are taken as packed"},
    {"wgmma_persistent_last_stack_left_out", "sm90a/wgmma_persistent.cu", "wide_integer",
     "the last tiles of the list are not computed"},
    {"naive_grid_limit", "simt/naive.cu", "wide_integer", "blocks beyond 65535 are not launched",
     "fp32/nn/2097184x1x1"},
    {"coalesced_int32_index", "simt/coalesced.cu", "wide_integer",
     "the offset of a row of C keeps 31 bits", "bf16/nn/65537x32768x1"},

    // The epilogue
    {"cpu_beta_ignored", "cpu/packed.cpp", "wide_integer", "C is overwritten whatever beta is"},
    {"cpu_beta_squared", "cpu/packed.cpp", "wide_integer", "C is scaled by beta twice"},
    {"cpu_c_read_at_beta_zero", "cpu/naive.cpp", "wide_integer", "0 x C is added"},
    {"cpu_epilogue_rounds_twice", "cpu/naive.cpp", "symmetric",
     "the sum is rounded to the storage type before alpha and beta"},
    {"cpu_epilogue_truncates", "cpu/tiled.cpp", "symmetric",
     "BF16 results are cut in place of rounded"},
    {"warp_tiled_beta_ignored", "simt/warp_tiled.cu", "wide_integer",
     "C is overwritten whatever beta is"},
    {"vectorized_beta_squared", "simt/vectorized.cu", "wide_integer", "C is scaled by beta twice"},
    {"coalesced_c_read_at_beta_zero", "simt/coalesced.cu", "wide_integer", "0 x C is added"},
    {"coalesced_epilogue_rounds_twice", "simt/coalesced.cu", "symmetric",
     "the sum is rounded to the storage type before alpha and beta"},
};

namespace detail {
consteval bool listed(std::string_view name) {
  for (const Fault& fault : faults) {
    if (fault.name == name) return true;
  }
  return false;
}
}  // namespace detail

// Not inline: in gemmwatch-faults each object has its own.
#ifdef GEMMWATCH_FAULT
constexpr std::string_view planted_fault = GEMMWATCH_FAULT;
static_assert(detail::listed(planted_fault), "GEMMWATCH_FAULT is not in the table of fault.hpp");
#else
constexpr std::string_view planted_fault;
#endif

/// Is this fault planted in this object?
static consteval bool fault(std::string_view name) {
  if (!detail::listed(name)) throw "this fault is not in the table of fault.hpp";
  return name == planted_fault;
}

}  // namespace gemm
