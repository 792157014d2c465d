// How far sound kernels are from the exact result: what the table of tolerances is held to.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "correctness/regime.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// The largest error of one kernel on square C, over all elements and seeds, in units of
/// u |A||B| with u = 2^-24, and beyond half a unit in the last place of the output: what
/// bound_coefficient() / u must exceed.
struct ErrorRow {
  std::string_view kernel;
  Precision precision;
  Regime regime;
  std::int64_t m, n, k;
  int seeds;
  double error;
};

/// Zero-mean data, also where the parts of a sum are much larger than it; and data of one sign,
/// also where a few terms are most of the sum. What holds there holds in the other regimes.
const std::vector<Regime>& calibrated_regimes();

/// Measures every kernel of the device that accepts the problem and is quick enough for it, in
/// every precision, in the calibrated regimes, for k = 16, 32 .. 65536. `progress` is
/// told each precision, regime and k.
std::vector<ErrorRow> measure_errors(
    const Device& device, const std::function<void(Precision, Regime, std::int64_t)>& progress);

}  // namespace gemm
