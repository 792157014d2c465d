// Everything that one kernel must show on one problem.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "correctness/inputs.hpp"
#include "correctness/memory.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// Launches each variant of the kernel twice and returns what was wrong, a sentence a fault:
///   - an element outside its interval, or padding of C that changed;
///   - memory behind C that changed;
///   - two launches whose results differ in a bit, C having held a different NaN before each;
///   - A or B changed. Where alpha or k is 0 they hold NaN, since they must not be read.
/// `workspace` has workspace_bytes in the kernel's space. Throws what the launch throws.
std::vector<std::string> examine(const Kernel& kernel, const Problem& problem, Regime regime,
                                 std::uint64_t seed, const Buffer& workspace);

}  // namespace gemm
