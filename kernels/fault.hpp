// Planted faults: what the checks must kill.
//
// A build with -DGEMMWATCH_FAULT=<name> carries exactly one of the faults below; any other build
// carries none, and the code of a fault vanishes from it. A fault is one line here and one
//     if constexpr (gemm::fault("name")) { ... }
// in the rung that it spoils. A name that is not in the table does not compile, on either side.
#pragma once

#include <string_view>

namespace gemm {

struct Fault {
  std::string_view name;
  std::string_view kernel;  ///< whose result it spoils
  std::string_view effect;
};

inline constexpr Fault faults[] = {
    {"cpu_last_k_dropped", "cpu_tiled", "the last of the k products is left out"},
    {"cpu_edge_off_by_one", "cpu_packed", "the last column of an incomplete tile is not stored"},
    {"cpu_beta_ignored", "cpu_packed", "C is overwritten whatever beta is"},
    {"tiled_last_k_dropped", "tiled", "the last of the k products is left out"},
    {"tiled_missing_barrier", "tiled", "a warp may multiply before the tile is whole"},
};

namespace detail {
consteval bool listed(std::string_view name) {
  for (const Fault& fault : faults) {
    if (fault.name == name) return true;
  }
  return false;
}
}  // namespace detail

#ifdef GEMMWATCH_FAULT
inline constexpr std::string_view planted_fault = GEMMWATCH_FAULT;
static_assert(detail::listed(planted_fault), "GEMMWATCH_FAULT is not in the table of fault.hpp");
#else
inline constexpr std::string_view planted_fault;
#endif

/// Is this fault planted in this build?
consteval bool fault(std::string_view name) {
  if (!detail::listed(name)) throw "this fault is not in the table of fault.hpp";
  return name == planted_fault;
}

}  // namespace gemm
