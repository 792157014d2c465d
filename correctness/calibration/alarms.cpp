#include "correctness/calibration/alarms.hpp"

#include <algorithm>

#include "correctness/examine.hpp"
#include "correctness/fuzz.hpp"

namespace gemm {

AlarmRow count_alarms(const Kernel& kernel, SeedRange seeds) {
  AlarmRow row{.kernel = kernel.name, .vendor = kernel.vendor()};
  for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    const auto [problem, regime, inputs_seed] = random_subject(seed, 0, space(kernel.arch));
    if (kernel.refuses(problem)) {
      ++row.refused;
      continue;
    }
    const Examination found = examine(kernel, problem, regime, inputs_seed);
    ++row.examined;
    row.worst_share_of_bound = std::max(row.worst_share_of_bound, found.worst_share_of_bound);
    if (found.passed()) continue;
    const auto& [check, message] = found.failures.front();
    row.alarms.push_back(problem.id() + ", " + std::string(name(regime)) + " inputs, seed " +
                         std::to_string(inputs_seed) + ": " + std::string(check) + ": " + message);
  }
  return row;
}

}  // namespace gemm
