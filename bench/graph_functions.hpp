// Which device functions a captured graph launches: what a library chose.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace gemm {

/// The symbols of the graph's kernels, each once, sorted, a space between two. Empty where the
/// driver does not tell all of them.
std::string graph_functions(cudaGraph_t graph);

}  // namespace gemm
