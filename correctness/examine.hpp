// Everything that one kernel must show on one problem.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "correctness/inputs.hpp"
#include "correctness/memory.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// One thing that was wrong: which check saw it, and a sentence for a person.
struct Failure {
  std::string_view check;
  std::string message;
};

/// The checks by name, as they appear in Failure.
namespace checks {
inline constexpr std::string_view result = "result";    ///< an element outside its interval
inline constexpr std::string_view padding = "padding";  ///< only what lies beyond column n changed
inline constexpr std::string_view memory = "memory";    ///< bytes behind the end of C changed
inline constexpr std::string_view repeat = "repeat";    ///< two launches differ in a bit
inline constexpr std::string_view inputs = "inputs";    ///< A or B changed
inline constexpr std::string_view launch = "launch";    ///< the launch, or waiting for it, failed
}  // namespace checks

/// What the checks of one kernel on one problem found.
struct Examination {
  std::vector<Failure> failures;
  double worst_share_of_bound = 0;  ///< of all launches, see Findings
  bool passed() const { return failures.empty(); }
};

/// Launches each variant of the kernel twice, C having held a different NaN before each, and
/// compares. Where alpha or k is 0, A and B hold NaN, since they must not be read. A launch that
/// throws ends the examination. `workspace` has workspace_bytes in the kernel's space.
Examination examine(const Kernel& kernel, const Problem& problem, Regime regime, std::uint64_t seed,
                    const Buffer& workspace);

}  // namespace gemm
