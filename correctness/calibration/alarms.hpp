// How often the gate finds fault with a sound kernel: never, if it is to be believed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm.hpp"

namespace gemm {

/// Seeds first..last, both included.
struct SeedRange {
  std::uint64_t first, last;
};

/// What one kernel showed. Each seed is one problem in one regime, both drawn from the seed, and
/// inputs made from it.
struct AlarmRow {
  std::string_view kernel;
  bool vendor;
  std::int64_t examined = 0, refused = 0;
  std::vector<std::string> alarms{};  ///< what was found, with the problem, regime and seed
  double worst_share_of_bound = 0;
};

/// Puts the kernel before the gate once for each seed.
AlarmRow count_alarms(const Kernel& kernel, SeedRange seeds);

}  // namespace gemm
