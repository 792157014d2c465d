// The counter-based generator: element i of a matrix is a pure function of (seed, matrix, i).
//
// Integer arithmetic up to one exact conversion, so a host and a GPU draw the same bits and the
// order of filling does not matter. The mixing function is SplitMix64's (Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", 2014).
#pragma once

#include <cstdint>

#include "correctness/host_device.hpp"
#include "correctness/inputs.hpp"

namespace gemm {

enum class Matrix : std::uint64_t { a = 1, b = 2, c = 3 };

GEMM_HOST_DEVICE inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The value of each element of one matrix, before rounding to its storage type.
struct Draw {
  Regime regime;
  std::uint64_t key;
  std::int64_t limit;  ///< integer_limit() of the problem

  GEMM_HOST_DEVICE double operator()(std::uint64_t index) const {
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15u;
    const auto random =
        static_cast<std::int64_t>(mix(key + index * golden_ratio) >> 40);  // 24 bits
    if (regime == Regime::symmetric) return static_cast<double>(random) * 0x1p-23 - 1;
    if (regime == Regime::positive) return static_cast<double>(random) * 0x1p-24;
    return static_cast<double>((random * (2 * limit + 1) >> 24) - limit);
  }
};

inline Draw make_draw(const Problem& problem, Regime regime, std::uint64_t seed, Matrix matrix) {
  return {regime, mix(mix(seed) + static_cast<std::uint64_t>(matrix)), integer_limit(problem)};
}

}  // namespace gemm
