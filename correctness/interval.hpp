// The gate for one element.
#pragma once

#include "correctness/format.hpp"
#include "correctness/host_device.hpp"

namespace gemm {

/// Values of C that are accepted, both ends included. NaN ends: C must be NaN.
struct Interval {
  double low, high;
};

/// RN_out(exact -+ allowed): the output's own rounding gets no slack.
template <class F>
GEMM_HOST_DEVICE inline Interval interval(double exact, double allowed) {
  const bool finite = exact - exact == 0;
  if (!finite) allowed = 0;  // inf - inf would be NaN
  return {value_of<F>(rounded_bits<F>(exact - allowed)),
          value_of<F>(rounded_bits<F>(exact + allowed))};
}

/// Written so that a NaN fails wherever none is expected.
GEMM_HOST_DEVICE inline bool accepts(const Interval& interval, double value) {
  if (interval.low != interval.low) return value != value;
  return interval.low <= value && value <= interval.high;
}

/// How far `stored` is from the exact value beyond its own rounding, as a share of what is allowed.
/// 0 where no share exists: infinities, NaN, and results that must be equal.
template <class F>
GEMM_HOST_DEVICE inline float share_of_bound(typename F::Bits stored, double exact,
                                             double allowed) {
  constexpr auto sign =
      static_cast<typename F::Bits>(typename F::Bits{1} << (8 * sizeof(stored) - 1));
  const auto magnitude = static_cast<typename F::Bits>(stored & ~sign);
  const auto next = static_cast<typename F::Bits>(magnitude + 1);
  const double half_ulp = (value_of<F>(next) - value_of<F>(magnitude)) / 2;
  const double difference = value_of<F>(stored) - exact;
  const double beyond = (difference < 0 ? -difference : difference) - half_ulp;
  const bool meaningful = allowed > 0 && beyond > 0 && beyond - beyond == 0;
  return meaningful ? static_cast<float>(beyond / allowed) : 0.0f;
}

}  // namespace gemm
