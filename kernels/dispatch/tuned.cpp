// The rates and choices of `dispatch`, measured on NVIDIA H200 at c887f95
// (ci/baselines/nvidia-h200).
#include "kernels/dispatch/pick.hpp"

namespace gemm::dispatch {

const Table& tuned() {
  static const Table table{.rates =
                               {
                                   {"wgmma_persistent", Precision::bf16, 730.5},
                                   {"wgmma_persistent", Precision::tf32, 413.6},
                                   {"mma_pipelined", Precision::bf16, 256.8},
                                   {"mma_pipelined", Precision::tf32, 116.9},
                                   {"wmma", Precision::bf16, 55.4},
                                   {"wmma", Precision::tf32, 42.9},
                                   {"warp_tiled", Precision::fp32, 45.3},
                               },
                           .choices = {}};
  return table;
}

}  // namespace gemm::dispatch
