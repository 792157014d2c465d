// The rates and choices of `dispatch`, measured on NVIDIA H200 at c887f95
// (ci/baselines/nvidia-h200).
#include "kernels/dispatch/pick.hpp"

namespace gemm::dispatch {

const Table& tuned() {
  static const Table table{.rates =
                               {
                                   {"wgmma_persistent", Precision::bf16, 730.5},
                                   {"wgmma_persistent", Precision::tf32, 413.6},
                               },
                           .choices = {}};
  return table;
}

}  // namespace gemm::dispatch
