// Launches of kernels, as translate.py writes them, and the shared memory that kernels declare.
#pragma once

#include <cuda_runtime.h>

#include <tuple>
#include <utility>

namespace gemm::emulation {

/// What stands between <<< and >>>.
struct Configuration {
  dim3 grid, block;
  std::size_t dynamic_bytes;
  cudaStream_t stream;  ///< of no meaning: a launch is complete on return
  dim3 cluster{1, 1, 1};
  bool may_overlap = false;  ///< programmatic stream serialization: may start under the grid before

  Configuration(dim3 grid, dim3 block, std::size_t dynamic_bytes, cudaStream_t stream)
      : grid(grid), block(block), dynamic_bytes(dynamic_bytes), stream(stream) {}
};

/// Runs body(argument) as each thread of the grid. What the CUDA runtime would refuse becomes its
/// last error. `kernel` is its function, or null if no attribute of it matters. Throws Violation.
void run_grid(const char* name, const Configuration&, const void* kernel, void (*body)(void*),
              void* argument);

template <class Call>
void run_grid(const char* name, const Configuration& configuration, const void* kernel, Call call) {
  run_grid(
      name, configuration, kernel, [](void* argument) { (*static_cast<Call*>(argument))(); },
      &call);
}

/// kernel<<<configuration>>>: to be called with the kernel's arguments.
template <class... Parameters>
auto launch(const char* name, const Configuration& configuration, void (*kernel)(Parameters...)) {
  return [=](auto&&... arguments) {
    const std::tuple<std::remove_cv_t<Parameters>...> given(
        std::forward<decltype(arguments)>(arguments)...);
    run_grid(name, configuration, reinterpret_cast<const void*>(kernel),
             [&] { std::apply(kernel, given); });
  };
}
template <class Call>
auto launch(const char* name, const Configuration& configuration, Call call) {
  return [=] { run_grid(name, configuration, nullptr, call); };
}

/// __cluster_dims__, as the first statement of a kernel.
void declare_cluster(unsigned x, unsigned y = 1, unsigned z = 1);

std::byte* static_shared(const char* name, unsigned bytes, unsigned alignment);
std::byte* dynamic_shared(unsigned alignment);

/// A variable of type T in the shared memory of the running thread's block. alignment = 0: T's.
template <class T>
T& static_shared(const char* name, unsigned alignment) {
  return reinterpret_cast<T&>(
      *static_shared(name, sizeof(T), alignment == 0 ? unsigned{alignof(T)} : alignment));
}
template <class T>
T* dynamic_shared(unsigned alignment) {
  return reinterpret_cast<T*>(dynamic_shared(alignment == 0 ? unsigned{alignof(T)} : alignment));
}

}  // namespace gemm::emulation
