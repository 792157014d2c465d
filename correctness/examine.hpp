// Everything that one kernel must show on one problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "correctness/expected.hpp"
#include "correctness/regime.hpp"
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
inline constexpr std::string_view memory = "memory";    ///< bytes around an operand changed
inline constexpr std::string_view repeat = "repeat";    ///< two launches differ in a bit
inline constexpr std::string_view stale = "stale";      ///< not the result of the present inputs
inline constexpr std::string_view inputs = "inputs";    ///< A or B changed
inline constexpr std::string_view launch = "launch";    ///< the launch, or waiting for it, failed
inline constexpr std::string_view all[] = {result, padding, memory, repeat, stale, inputs, launch};
}  // namespace checks

/// What the checks of one kernel on one problem found.
struct Examination {
  std::vector<Failure> failures;
  double worst_share_of_bound = 0;  ///< of all launches, see Findings
  std::optional<Mask> mask;         ///< of the first wrong result
  bool passed() const { return failures.empty(); }
};

struct ExamineOptions {
  int launches = 2;  ///< of each variant; at least 1
  /// For a tool that watches the device: no guard bands; nothing is written that the contract
  /// leaves unspecified (the workspace, and C where beta is 0 and C has no padding); and the oracle
  /// works on the host, so that no library's kernels run.
  bool watched = false;
};

/// Launches each variant of the kernel several times and compares. In the first launch, guard bands
/// around A, B, C and the workspace are NaN, in the second zero, and so on; likewise the NaN that C
/// holds where beta is 0. From the second on the device is busy (see load.hpp). All results must be
/// equal bit for bit, or correct one by one if the kernel is not deterministic. At last, other
/// inputs in the same memory must give another result. Where alpha or k is
/// 0, A and B hold NaN, since they must not be read. A launch that throws ends the examination.
Examination examine(const Kernel& kernel, const Problem& problem, Regime regime, std::uint64_t seed,
                    const ExamineOptions& options = {});

}  // namespace gemm
