// Rung: dispatch. The kernel that a user would call: picks rung and tile for each problem.
//
// Idea: no tile suits every shape. A large one reads each operand less often, a small one leaves
// fewer SMs without work in the last wave, and where the copy engine cannot read the operands a
// rung below can. scripts/tune measures all of them on a set of problems and keeps the winners in
// tuned.cpp; for any other shape a model chooses (pick.hpp).
#include "kernels/dispatch/pick.hpp"
#include "kernels/launch.cuh"

namespace gemm::dispatch {

// Any GPU that has all of them, so that what is refused depends on the problem alone.
constexpr Device hopper{Space::gpu, 90};
constexpr int hopper_multiprocessors = 132;

static Refusal refuses(const Problem& problem) {
  if (pick(kernels(), problem, tuned(), hopper, hopper_multiprocessors)) return std::nullopt;
  return "no rung that dispatch knows takes it";
}

static Device this_device() {
  static const int capability = [] {
    int device = 0, major = 0, minor = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess)
      throw std::runtime_error("cannot ask the device for its compute capability");
    return major * 10 + minor;
  }();
  return {Space::gpu, capability};
}

static void launch(const Problem& problem, const Operands& operands) {
  const Kernel* kernel =
      pick(kernels(), problem, tuned(), this_device(), static_cast<int>(cuda::multiprocessors()));
  if (!kernel) throw std::runtime_error("no rung that runs on this device takes " + problem.id());
  kernel->launch(problem, operands);
}

const Register registered{{.name = "dispatch",
                           .stage = Stage::dispatch,
                           .idea = "rung and tile by measured choice, or by a model of waves",
                           .arch = Arch::any,
                           .refuses = refuses,
                           .launch = launch}};

}  // namespace gemm::dispatch
