#include "correctness/regime.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace gemm {
namespace {

// In the order of enum Regime.
constexpr std::array<std::string_view, 12> names{
    "symmetric",  "positive",  "wide_integer",  "one_hot",     "permutation", "cancellation",
    "wide_range", "subnormal", "near_overflow", "signed_zero", "non_finite",  "sparse_integer"};
static_assert(names.size() == static_cast<std::size_t>(Regime::sparse_integer) + 1);
constexpr std::size_t base_count = 3;

std::vector<Regime> range(std::size_t begin, std::size_t end) {
  std::vector<Regime> regimes;
  for (std::size_t i = begin; i < end; ++i) regimes.push_back(static_cast<Regime>(i));
  return regimes;
}

}  // namespace

std::string_view name(Regime regime) { return names.at(static_cast<std::size_t>(regime)); }

Regime parse_regime(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Regime>(found - names.begin());
  std::string known;
  for (const std::string_view each : names) known += " " + std::string(each);
  throw std::invalid_argument("no regime is named \"" + std::string(name) + "\"; there are" +
                              known);
}

const std::vector<Regime>& all_regimes() {
  static const std::vector<Regime> all = range(0, names.size());
  return all;
}

const std::vector<Regime>& base_regimes() {
  static const std::vector<Regime> base = range(0, base_count);
  return base;
}

const std::vector<Regime>& special_regimes() {
  static const std::vector<Regime> special = range(base_count, names.size());
  return special;
}

}  // namespace gemm
