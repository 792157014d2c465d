#include <cuda.h>
#include <cudaTypedefs.h>

#include <algorithm>
#include <vector>

#include "bench/graph_functions.hpp"
#include "correctness/cuda_check.hpp"

namespace gemm {
namespace {

/// A function of the driver, found at run time so that nothing links it; null in an older driver.
template <class Function>
Function driver_function(const char* symbol, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result{};
  GEMM_CUDA(
      cudaGetDriverEntryPointByVersion(symbol, &function, version, cudaEnableDefault, &result));
  return result == cudaDriverEntryPointSuccess ? reinterpret_cast<Function>(function) : nullptr;
}

/// The runtime cannot name functions of a library that loads its own modules; the driver can.
std::string function_name(CUgraphNode node) {
  static const auto get_parameters =
      driver_function<PFN_cuGraphKernelNodeGetParams_v12000>("cuGraphKernelNodeGetParams", 12000);
  static const auto name_of_function =
      driver_function<PFN_cuFuncGetName_v12030>("cuFuncGetName", 12030);
  static const auto name_of_kernel =
      driver_function<PFN_cuKernelGetName_v12030>("cuKernelGetName", 12030);
  CUDA_KERNEL_NODE_PARAMS parameters{};
  if (!get_parameters || !name_of_function || !name_of_kernel ||
      get_parameters(node, &parameters) != CUDA_SUCCESS)
    return {};
  const char* name = nullptr;
  const CUresult found = parameters.func ? name_of_function(&name, parameters.func)
                                         : name_of_kernel(&name, parameters.kern);
  return found == CUDA_SUCCESS && name ? name : std::string{};
}

}  // namespace

std::string graph_functions(cudaGraph_t graph) {
  std::size_t count = 0;
  GEMM_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  GEMM_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  std::vector<std::string> names;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    GEMM_CUDA(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    std::string name = function_name(node);
    if (name.empty()) return {};
    names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : " ") + name;
  return joined;
}

}  // namespace gemm
