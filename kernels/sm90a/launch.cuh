// Where the vocabulary meets the wgmma rungs: tensor maps for both operands, and the launch itself.
#pragma once

#include <algorithm>

#include "kernels/launch.cuh"
#include "kernels/sm90a/tensor_map.hpp"

namespace gemm::sm90a {

struct Maps {
  CUtensorMap a{}, b{};
};

/// Maps whose boxes are what wgmma_tile.cuh copies at once: `a_lines` and `b_lines` k-contiguous
/// lines, else 128 bytes of m or n for each k of a panel. Empty where nothing will be read.
inline Maps maps_for(const Problem& problem, const Operands& operands, unsigned a_lines,
                     unsigned b_lines) {
  if (problem.shape.k == 0 || problem.alpha == 0) return {};
  const unsigned per_line = 128 / element_bytes(problem.precision);
  return {tensor_map(problem.precision, stored_a(problem, operands),
                     problem.a_transposed() ? per_line : a_lines),
          tensor_map(problem.precision, stored_b(problem, operands),
                     problem.b_transposed() ? b_lines : per_line)};
}

/// As cuda::launch_for_layout, for the combinations that wgmma has: `launch` is called as
/// launch(a_k_contiguous, b_k_contiguous, product, maps, stream, stacks), where a stack is the
/// `cluster` tiles, one above the other, of blocks that share the lines of B.
template <class Launch>
void launch_for_layout(const Problem& problem, const Operands& operands, unsigned tile_m,
                       unsigned tile_n, unsigned cluster, Launch launch) {
  cuda::launch_for_layout(
      problem, operands, cluster * tile_m, tile_n,
      [&](auto a_k, auto b_k, const auto& product, cudaStream_t stream, unsigned stacks) {
        if constexpr (sizeof(cuda::StorageOf<decltype(product)>) == 2 || (a_k() && b_k()))
          launch(a_k, b_k, product, maps_for(problem, operands, tile_m, tile_n / cluster), stream,
                 stacks);
      });
}

template <class Kernel>
void ask_for_shared_memory(Kernel kernel, int bytes) {
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
      cudaSuccess)
    throw std::runtime_error("the device does not grant " + std::to_string(bytes) +
                             " bytes of shared memory a block");
}

/// kernel<<<blocks, threads, memory_bytes, stream>>>(product, map of A, map of B).
template <class Kernel, class Product>
void launch(Kernel kernel, unsigned blocks, int threads, int memory_bytes, cudaStream_t stream,
            const Product& product, const Maps& maps) {
  ask_for_shared_memory(kernel, memory_bytes);
  kernel<<<blocks, threads, memory_bytes, stream>>>(product, maps.a, maps.b);
}

/// For blocks that stay on their SM: a cluster for every so many SMs, but no more than there are
/// stacks. (Pairs fill an H200; of clusters of four it holds 30, not 33.) A block may start while
/// the stream's last grid still runs, and says when it needs that to be over (griddepcontrol_wait):
/// the barriers are made and the parameters read under the tail of the grid before.
template <class... Parameters, class Product>
void launch_to_stay(void (*kernel)(Parameters...), unsigned stacks, unsigned cluster, int threads,
                    int memory_bytes, cudaStream_t stream, const Product& product, const Maps& maps,
                    std::int64_t batches) {
  ask_for_shared_memory(kernel, memory_bytes);
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  const dim3 blocks(std::min(stacks, cuda::multiprocessors() / cluster) * cluster);
  const cudaLaunchConfig_t config{blocks, dim3(threads), static_cast<std::size_t>(memory_bytes),
                                  stream, &overlap,      1};
  cudaLaunchKernelEx(&config, kernel, product, maps.a, maps.b, static_cast<unsigned>(batches));
}

}  // namespace gemm::sm90a
