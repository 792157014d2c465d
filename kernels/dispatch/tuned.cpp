// The rates and choices of `dispatch`, measured. To change them, tune again with scripts/tune.
//
// This table is not by scripts/tune yet, but by one trial of most of its points, on 2026-12-01:
// device:   NVIDIA H200
// driver:   580.159.04
// nvcc:     13.0.88
// protocol: 1
// trials:   1 (a choice within 1% of the next may be chance)
//
// Not of that trial: the rates of wmma (c887f95), of autotuned and of mma_pipelined in bf16 (the
// baseline at ac2d286), and autotuned at 512x4096x4096 (there too). Splits of k have no rate: the
// model would take them for plain tiles.
#include "kernels/dispatch/pick.hpp"

namespace gemm::dispatch {

const Table& tuned() {
  using enum Precision;
  using enum Layout;
  // clang-format off
  static const Table table{
      .rates = {
          {"autotuned", fp32, 52.74},
          {"autotuned_128x128x8_8x16", fp32, 51.31},
          {"autotuned_128x256x8_8x16", fp32, 53.05},
          {"autotuned_64x128x16_8x8", fp32, 51.11},
          {"warp_tiled", fp32, 48.64},
          {"mma_pipelined", tf32, 251.1},
          {"wgmma_persistent", tf32, 434.7},
          {"wgmma_persistent_128x128x1", tf32, 377.9},
          {"wgmma_persistent_128x128x2", tf32, 381.9},
          {"wgmma_persistent_128x176x2", tf32, 415.0},
          {"wgmma_persistent_128x256x1", tf32, 431.2},
          {"wgmma_pingpong", tf32, 398.3},
          {"wgmma_pingpong_128x176x2", tf32, 419.9},
          {"wgmma_pingpong_128x192x2", tf32, 423.4},
          {"wgmma_pingpong_64x128x1", tf32, 288.4},
          {"wgmma_pingpong_64x128x2", tf32, 284.0},
          {"wmma", tf32, 42.9},
          {"mma_pipelined", bf16, 484.3},
          {"wgmma_persistent", bf16, 807.1},
          {"wgmma_persistent_128x128x1", bf16, 747.8},
          {"wgmma_persistent_128x128x2", bf16, 749.5},
          {"wgmma_persistent_128x176x2", bf16, 782.1},
          {"wgmma_persistent_128x256x1", bf16, 809.6},
          {"wgmma_pingpong", bf16, 756.0},
          {"wgmma_pingpong_128x176x2", bf16, 789.6},
          {"wgmma_pingpong_128x192x2", bf16, 798.1},
          {"wgmma_pingpong_64x128x1", bf16, 592.2},
          {"wgmma_pingpong_64x128x2", bf16, 573.9},
          {"wmma", bf16, 55.4},
      },
      .choices = {
          {fp32, nn, {16, 4096, 4096}, "autotuned"},
          {fp32, nn, {1024, 1024, 1024}, "autotuned"},
          {fp32, nn, {64, 4096, 4096}, "autotuned"},
          {fp32, nn, {128, 4096, 4096}, "autotuned_128x128x8_8x16_split8"},
          {fp32, nn, {256, 4096, 4096}, "autotuned_128x128x8_8x16_split8"},
          {fp32, nn, {2048, 2048, 2048}, "autotuned_128x256x8_8x16"},
          {fp32, nn, {512, 4096, 4096}, "autotuned"},
          {fp32, nn, {4096, 7168, 2048}, "autotuned_128x256x8_8x16"},
          {fp32, nn, {4096, 2112, 7168}, "autotuned_64x128x16_8x8"},
          {fp32, nn, {4096, 4096, 4096}, "autotuned_128x256x8_8x16"},
          {fp32, nn, {8192, 1024, 8192}, "autotuned_128x256x8_8x16"},
          {fp32, nn, {4096, 14336, 4096}, "autotuned_128x256x8_8x16"},
          {fp32, nn, {4096, 4096, 14336}, "autotuned_128x256x8_8x16"},
          {fp32, nn, {8192, 8192, 8192}, "autotuned_128x256x8_8x16"},
          {tf32, nt, {16, 4096, 4096}, "wgmma_pingpong_64x128x1"},
          {tf32, nt, {1024, 1024, 1024}, "wgmma_pingpong_64x128x1"},
          {tf32, nt, {64, 4096, 4096}, "wgmma_pingpong_64x128x1"},
          {tf32, nt, {128, 4096, 4096}, "wgmma_pingpong_64x128x2"},
          {tf32, nt, {256, 4096, 4096}, "wgmma_pingpong_64x128x2"},
          {tf32, nt, {2048, 2048, 2048}, "wgmma_persistent_128x256x1"},
          {tf32, nt, {512, 4096, 4096}, "wgmma_pingpong"},
          {tf32, nt, {4096, 7168, 2048}, "wgmma_pingpong_128x176x2"},
          {tf32, nt, {4096, 2112, 7168}, "wgmma_pingpong_128x176x2"},
          {tf32, nt, {4096, 4096, 4096}, "wgmma_persistent"},
          {tf32, nt, {8192, 1024, 8192}, "wgmma_persistent"},
          {tf32, nt, {4096, 14336, 4096}, "wgmma_persistent"},
          {tf32, nt, {4096, 4096, 14336}, "wgmma_persistent"},
          {tf32, nt, {8192, 8192, 8192}, "wgmma_persistent"},
          {tf32, nt, {4096, 28672, 8192}, "wgmma_persistent"},
          {bf16, nn, {16, 4096, 4096}, "wgmma_pingpong_64x128x1"},
          {bf16, nn, {1024, 1024, 1024}, "wgmma_pingpong_64x128x1"},
          {bf16, nn, {64, 4096, 4096}, "wgmma_pingpong_64x128x1"},
          {bf16, nn, {128, 4096, 4096}, "wgmma_pingpong_64x128x2"},
          {bf16, nn, {256, 4096, 4096}, "wgmma_pingpong_64x128x2"},
          {bf16, nn, {2048, 2048, 2048}, "wgmma_persistent_128x256x1"},
          {bf16, nn, {512, 4096, 4096}, "wgmma_persistent_128x128x2"},
          {bf16, nn, {4096, 7168, 2048}, "wgmma_persistent_128x256x1"},
          {bf16, nn, {4096, 2112, 7168}, "wgmma_pingpong_128x176x2"},
          {bf16, nn, {4096, 4096, 4096}, "wgmma_persistent_128x256x1"},
          {bf16, nn, {8192, 1024, 8192}, "wgmma_persistent_128x256x1"},
          {bf16, nn, {4096, 14336, 4096}, "wgmma_persistent"},
          {bf16, nn, {4096, 4096, 14336}, "wgmma_persistent_128x256x1"},
          {bf16, nn, {8192, 8192, 8192}, "wgmma_persistent"},
          {bf16, nn, {4096, 28672, 8192}, "wgmma_persistent"},
          {bf16, nt, {16, 4096, 4096}, "wgmma_pingpong_64x128x1"},
          {bf16, nt, {1024, 1024, 1024}, "wgmma_pingpong_64x128x1"},
          {bf16, nt, {64, 4096, 4096}, "wgmma_pingpong_64x128x1"},
          {bf16, nt, {128, 4096, 4096}, "wgmma_pingpong_64x128x2"},
          {bf16, nt, {256, 4096, 4096}, "wgmma_pingpong_64x128x2"},
          {bf16, nt, {2048, 2048, 2048}, "wgmma_persistent_128x256x1"},
          {bf16, nt, {512, 4096, 4096}, "wgmma_pingpong"},
          {bf16, nt, {4096, 7168, 2048}, "wgmma_pingpong_128x176x2"},
          {bf16, nt, {4096, 2112, 7168}, "wgmma_pingpong_128x176x2"},
          {bf16, nt, {4096, 4096, 4096}, "wgmma_persistent_128x256x1"},
          {bf16, nt, {8192, 1024, 8192}, "wgmma_persistent_128x256x1"},
          {bf16, nt, {4096, 14336, 4096}, "wgmma_pingpong_128x176x2"},
          {bf16, nt, {4096, 4096, 14336}, "wgmma_persistent_128x256x1"},
          {bf16, nt, {8192, 8192, 8192}, "wgmma_persistent"},
          {bf16, nt, {4096, 28672, 8192}, "wgmma_persistent"},
      }};
  // clang-format on
  return table;
}

}  // namespace gemm::dispatch
