// The rates and choices of `dispatch`, measured. Written by `gemmwatch tune`: to change them, tune
// again with scripts/tune.
//
// device:   NVIDIA H200
// driver:   580.159.04
// nvcc:     13.0.88
// protocol: 2
// commit:   df712d12d84cb20169a5542918629fbe9cc8f811-dirty
// trials:   3
#include "kernels/dispatch/pick.hpp"

namespace gemm::dispatch {

const Table& tuned() {
  using enum Precision;
  using enum Layout;
  // clang-format off
  static const Table table{
      .rates = {
          {"warp_tiled", fp32, 48.73},
          {"autotuned", fp32, 53.12},
          {"autotuned_128x128x8_8x16", fp32, 51.57},
          {"autotuned_128x128x8_8x16_split2", fp32, 50.04},
          {"autotuned_128x128x8_8x16_split8", fp32, 45.62},
          {"autotuned_128x256x8_8x16", fp32, 53.12},
          {"autotuned_64x128x16_8x8", fp32, 51.12},
          {"wmma", tf32, 43.72},
          {"mma_pipelined", tf32, 252.0},
          {"wgmma_pingpong", tf32, 389.3},
          {"wgmma_pingpong_128x176x2", tf32, 432.2},
          {"wgmma_pingpong_128x192x2", tf32, 431.4},
          {"wgmma_pingpong_64x128x1", tf32, 286.3},
          {"wgmma_pingpong_64x128x2", tf32, 282.5},
          {"wgmma_persistent", tf32, 434.3},
          {"wgmma_persistent_128x128x1", tf32, 376.0},
          {"wgmma_persistent_128x128x2", tf32, 392.5},
          {"wgmma_persistent_128x176x2", tf32, 424.8},
          {"wgmma_persistent_128x256x1", tf32, 435.2},
          {"warp_tiled", bf16, 48.19},
          {"wmma", bf16, 61.76},
          {"mma_pipelined", bf16, 479.0},
          {"wgmma_pingpong", bf16, 774.5},
          {"wgmma_pingpong_128x176x2", bf16, 802.2},
          {"wgmma_pingpong_128x192x2", bf16, 813.6},
          {"wgmma_pingpong_64x128x1", bf16, 593.4},
          {"wgmma_pingpong_64x128x2", bf16, 573.4},
          {"wgmma_persistent", bf16, 813.2},
          {"wgmma_persistent_128x128x1", bf16, 766.2},
          {"wgmma_persistent_128x128x2", bf16, 767.5},
          {"wgmma_persistent_128x176x2", bf16, 787.9},
          {"wgmma_persistent_128x256x1", bf16, 816.4},
      },
      .choices = {
          {fp32, nn, {1024, 1024, 1024}, "autotuned"},
          {fp32, nn, {2048, 2048, 2048}, "autotuned"},
          {fp32, nn, {4096, 4096, 4096}, "autotuned"},
          {fp32, nn, {8192, 8192, 8192}, "autotuned"},
          {fp32, nn, {512, 4096, 4096}, "autotuned"},
          {fp32, nn, {256, 4096, 4096}, "autotuned"},
          {fp32, nn, {128, 4096, 4096}, "autotuned"},
          {fp32, nn, {64, 4096, 4096}, "autotuned"},
          {fp32, nn, {16, 4096, 4096}, "autotuned"},
          {fp32, nn, {4096, 14336, 4096}, "autotuned"},
          {fp32, nn, {4096, 4096, 14336}, "autotuned"},
          {fp32, nn, {4096, 28672, 8192}, "autotuned_128x256x8_8x16"},
          {fp32, nn, {8192, 1024, 8192}, "autotuned"},
          {fp32, nn, {4096, 7168, 2048}, "autotuned"},
          {fp32, nn, {4096, 2112, 7168}, "autotuned"},
          {tf32, nt, {1024, 1024, 1024}, "wgmma_pingpong_64x128x1"},
          {tf32, nt, {2048, 2048, 2048}, "wgmma_persistent_128x256x1"},
          {tf32, nt, {4096, 4096, 4096}, "wgmma_persistent_128x256x1"},
          {tf32, nt, {8192, 8192, 8192}, "wgmma_pingpong_128x192x2"},
          {tf32, nt, {16384, 16384, 16384}, "wgmma_persistent_128x256x1"},
          {tf32, nt, {512, 4096, 4096}, "wgmma_pingpong"},
          {tf32, nt, {256, 4096, 4096}, "wgmma_pingpong_64x128x2"},
          {tf32, nt, {128, 4096, 4096}, "wgmma_pingpong_64x128x2"},
          {tf32, nt, {64, 4096, 4096}, "wgmma_pingpong_64x128x1"},
          {tf32, nt, {16, 4096, 4096}, "wgmma_pingpong_64x128x1"},
          {tf32, nt, {4096, 14336, 4096}, "wgmma_pingpong_128x176x2"},
          {tf32, nt, {4096, 4096, 14336}, "wgmma_persistent_128x256x1"},
          {tf32, nt, {4096, 28672, 8192}, "wgmma_pingpong_128x176x2"},
          {tf32, nt, {8192, 1024, 8192}, "wgmma_persistent_128x256x1"},
          {tf32, nt, {4096, 7168, 2048}, "wgmma_pingpong_128x176x2"},
          {tf32, nt, {4096, 2112, 7168}, "wgmma_pingpong_128x176x2"},
          {bf16, nn, {1024, 1024, 1024}, "wgmma_pingpong_64x128x1"},
          {bf16, nn, {2048, 2048, 2048}, "wgmma_persistent_128x256x1"},
          {bf16, nn, {4096, 4096, 4096}, "wgmma_persistent_128x256x1"},
          {bf16, nn, {8192, 8192, 8192}, "wgmma_pingpong_128x192x2"},
          {bf16, nn, {16384, 16384, 16384}, "wgmma_persistent_128x256x1"},
          {bf16, nn, {512, 4096, 4096}, "wgmma_pingpong"},
          {bf16, nn, {256, 4096, 4096}, "wgmma_pingpong_64x128x2"},
          {bf16, nn, {128, 4096, 4096}, "wgmma_pingpong_64x128x2"},
          {bf16, nn, {64, 4096, 4096}, "wgmma_pingpong_64x128x1"},
          {bf16, nn, {16, 4096, 4096}, "wgmma_pingpong_64x128x1"},
          {bf16, nn, {4096, 14336, 4096}, "wgmma_pingpong_128x176x2"},
          {bf16, nn, {4096, 4096, 14336}, "wgmma_persistent_128x256x1"},
          {bf16, nn, {4096, 28672, 8192}, "wgmma_pingpong_128x192x2"},
          {bf16, nn, {8192, 1024, 8192}, "wgmma_persistent_128x256x1"},
          {bf16, nn, {4096, 7168, 2048}, "wgmma_pingpong_128x176x2"},
          {bf16, nn, {4096, 2112, 7168}, "wgmma_pingpong_128x176x2"},
          {bf16, nt, {1024, 1024, 1024}, "wgmma_pingpong_64x128x1"},
          {bf16, nt, {2048, 2048, 2048}, "wgmma_persistent_128x256x1"},
          {bf16, nt, {4096, 4096, 4096}, "wgmma_persistent_128x256x1"},
          {bf16, nt, {8192, 8192, 8192}, "wgmma_pingpong_128x192x2"},
          {bf16, nt, {16384, 16384, 16384}, "wgmma_persistent_128x256x1"},
          {bf16, nt, {512, 4096, 4096}, "wgmma_pingpong"},
          {bf16, nt, {256, 4096, 4096}, "wgmma_pingpong_64x128x2"},
          {bf16, nt, {128, 4096, 4096}, "wgmma_pingpong_64x128x2"},
          {bf16, nt, {64, 4096, 4096}, "wgmma_pingpong_64x128x1"},
          {bf16, nt, {16, 4096, 4096}, "wgmma_pingpong_64x128x1"},
          {bf16, nt, {4096, 14336, 4096}, "wgmma_pingpong_128x176x2"},
          {bf16, nt, {4096, 4096, 14336}, "wgmma_persistent_128x256x1"},
          {bf16, nt, {4096, 28672, 8192}, "wgmma_pingpong_128x192x2"},
          {bf16, nt, {8192, 1024, 8192}, "wgmma_persistent_128x256x1"},
          {bf16, nt, {4096, 7168, 2048}, "wgmma_pingpong_128x176x2"},
          {bf16, nt, {4096, 2112, 7168}, "wgmma_pingpong_128x176x2"},
      }};
  // clang-format on
  return table;
}

}  // namespace gemm::dispatch
