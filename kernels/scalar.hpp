// The element types that a host uses for each Precision, and the roundings into them.
//
// Eigen supplies the 16-bit types. Its own conversion from double goes through float and so rounds
// twice; round_to is the one way from a wider value into storage.
#pragma once

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "kernels/gemm.hpp"

namespace gemm {

/// Calls callable(std::type_identity<T>{}) with T the host's storage type of the precision:
///   visit(precision, [&]<typename T>(std::type_identity<T>) { ... });
template <typename Callable>
decltype(auto) visit(Precision precision, Callable&& callable) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:  // FP32 storage; that its values fit TF32 is up to who makes them
      return std::forward<Callable>(callable)(std::type_identity<float>{});
    case Precision::fp16:
      return std::forward<Callable>(callable)(std::type_identity<Eigen::half>{});
    case Precision::bf16:
      return std::forward<Callable>(callable)(std::type_identity<Eigen::bfloat16>{});
  }
  throw std::logic_error("visit: no host type for precision " +
                         std::to_string(static_cast<int>(precision)));
}

/// Exact: every storage type is a subset of FP32.
template <typename T>
float to_float(T value) {
  return static_cast<float>(value);
}

/// Rounds to nearest, ties to even; beyond the largest finite value to infinity; NaN stays NaN.
template <typename T>
T round_to(float value) {
  return static_cast<T>(value);
}

/// Double to float, rounded to odd: an inexact result gets the neighbour whose last bit is 1. A
/// second rounding to a type at least two bits shorter then equals one rounding of the original,
/// for no tie can appear that was not there (Boldo and Melquiond, 2008).
inline float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;  // back towards zero
  return std::bit_cast<float>(bits | 1u);
}

/// The same from double, and still with a single rounding.
template <typename T>
T round_to(double value) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(value);
  } else {
    return round_to<T>(round_to_odd(value));
  }
}

}  // namespace gemm
