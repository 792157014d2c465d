#include "correctness/load.hpp"

#include <stdexcept>

namespace gemm {

#ifdef GEMMWATCH_WITH_CUDA
Load& gpu_load();  // load_gpu.cu
#endif

namespace {

struct HostLoad : Load {
  void* stream() const override { return nullptr; }
  void begin() override {}
};

}  // namespace

Load& load(Space space) {
  static HostLoad host;
  if (space == Space::host) return host;
#ifdef GEMMWATCH_WITH_CUDA
  return gpu_load();
#else
  throw std::runtime_error("this build has no CUDA: configure with -DGEMMWATCH_CUDA=ON");
#endif
}

}  // namespace gemm
