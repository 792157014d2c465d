// The counter-based generator: element i of a matrix is a pure function of (seed, matrix, i).
//
// Integer arithmetic up to one exact conversion and exact scalings, so a host and a GPU draw the
// same bits and the order of filling does not matter. The mixing function is SplitMix64's (Steele,
// Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#pragma once

#include <cstdint>

#include "correctness/format.hpp"
#include "correctness/host_device.hpp"
#include "correctness/regime.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

enum class Matrix : std::uint64_t { a = 1, b = 2, c = 3 };

GEMM_HOST_DEVICE inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Where an element lies in the product: its matrix of the batch, its row of A or C or column of B,
/// and its place along k (of C: along n).
struct Place {
  std::int64_t batch, outer, inner;
};

/// How the elements of a batch are counted: as stored, without padding, one matrix behind the
/// other.
struct Order {
  std::int64_t outer, inner;  ///< extents
  bool inner_contiguous;

  GEMM_HOST_DEVICE Place place(std::uint64_t index) const {
    const auto i = static_cast<std::int64_t>(index);
    const std::int64_t columns = inner_contiguous ? inner : outer;
    const std::int64_t rows = inner_contiguous ? outer : inner;
    const std::int64_t row = i / columns % rows, column = i % columns;
    return {i / columns / rows, inner_contiguous ? row : column, inner_contiguous ? column : row};
  }

  GEMM_HOST_DEVICE std::uint64_t index(const Place& at) const {
    return static_cast<std::uint64_t>(
        at.batch * outer * inner +
        (inner_contiguous ? at.outer * inner + at.inner : at.inner * outer + at.outer));
  }
};

/// The value of each element of one matrix, before rounding to its storage type.
struct Draw {
  Regime regime;
  Matrix matrix;
  std::uint64_t key;
  Order order;
  std::int64_t limit;  ///< largest integer drawn
  std::int64_t step;   ///< of a permutation: without a common divisor with k
  double scale;        ///< a power of two

  GEMM_HOST_DEVICE double operator()(std::uint64_t index) const {
    switch (regime) {
      case Regime::symmetric:
        return symmetric(index);
      case Regime::positive:
        return static_cast<double>(random(index) >> 40) * 0x1p-24;
      case Regime::wide_integer:
        return integer(index);
      case Regime::one_hot:
        return matrix == Matrix::a ? one_hot(order.place(index)) : symmetric(index);
      case Regime::permutation:
        return matrix == Matrix::b ? permutation(order.place(index)) : symmetric(index);
      case Regime::cancellation:
        return matrix == Matrix::c ? symmetric(index) : cancelling(order.place(index));
      case Regime::wide_range:
        return scale * symmetric(index) * power_of_two(exponent(index));
      case Regime::subnormal:
        return takes_turn(order.place(index)) ? scale * symmetric(index) : symmetric(index);
      case Regime::near_overflow:
        return scale * symmetric(index);
      case Regime::signed_zero:
        return zero_or_one(index);
      case Regime::non_finite:
        return is_special(order.place(index)) ? special_value() : symmetric(index);
      case Regime::sparse_integer:
        return matrix == Matrix::a ? sparse(order.place(index)) : integer(index);
    }
    return 0;  // not reached
  }

 private:
  static constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15u;
  static constexpr std::int64_t stripes = 16;  // non-zero elements in a sparse row

  GEMM_HOST_DEVICE std::uint64_t random(std::uint64_t index) const {
    return mix(key + index * golden_ratio);
  }
  /// One of 0 .. count - 1, for something that is chosen once a row, column or matrix.
  GEMM_HOST_DEVICE std::int64_t choice(std::int64_t which, std::int64_t count) const {
    constexpr std::uint64_t apart_from_elements = std::uint64_t{1} << 63;
    const std::uint64_t bits = random(apart_from_elements + static_cast<std::uint64_t>(which));
    return static_cast<std::int64_t>((bits >> 1) % static_cast<std::uint64_t>(count));
  }

  GEMM_HOST_DEVICE double symmetric(std::uint64_t index) const {
    return static_cast<double>(random(index) >> 40) * 0x1p-23 - 1;
  }
  GEMM_HOST_DEVICE double integer(std::uint64_t index) const {
    const auto numerator = static_cast<std::int64_t>(random(index) >> 40);  // 24 bits
    return static_cast<double>((numerator * (2 * limit + 1) >> 24) - limit);
  }
  GEMM_HOST_DEVICE double zero_or_one(std::uint64_t index) const {
    const std::uint64_t bits = random(index) >> 62;
    const double magnitude = static_cast<double>(bits >> 1);
    return bits & 1 ? -magnitude : magnitude;
  }

  GEMM_HOST_DEVICE double one_hot(const Place& at) const {
    return at.inner == choice(at.batch * order.outer + at.outer, order.inner) ? 1 : 0;
  }
  GEMM_HOST_DEVICE double permutation(const Place& at) const {
    const std::int64_t shift = choice(at.batch, order.inner);
    return at.inner == (at.outer % order.inner * step + shift) % order.inner ? 1 : 0;
  }
  GEMM_HOST_DEVICE double cancelling(const Place& at) const {
    const std::int64_t half = order.inner / 2;
    const bool takes_back = at.inner >= half && at.inner < 2 * half;
    const double x =
        symmetric(order.index({at.batch, at.outer, takes_back ? at.inner - half : at.inner}));
    return takes_back && matrix == Matrix::b ? -x : x;
  }
  GEMM_HOST_DEVICE double sparse(const Place& at) const {
    const std::int64_t width = (order.inner + stripes - 1) / stripes;
    const std::int64_t stripe = at.inner / width;
    const std::int64_t rest = order.inner - stripe * width;
    const std::int64_t row = at.batch * order.outer + at.outer;
    const std::int64_t chosen = choice(row * stripes + stripe, rest < width ? rest : width);
    if (at.inner - stripe * width != chosen) return 0;
    return random(order.index(at)) >> 63 ? -1 : 1;
  }

  /// -8 .. 8, from bits that symmetric() does not use.
  GEMM_HOST_DEVICE int exponent(std::uint64_t index) const {
    return static_cast<int>((random(index) & 0xffff) * 17 >> 16) - 8;
  }
  GEMM_HOST_DEVICE static double power_of_two(int exponent) {
    return same_bits<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
  }

  GEMM_HOST_DEVICE bool takes_turn(const Place& at) const {
    return matrix == Matrix::c || at.inner % 2 == (matrix == Matrix::a ? 0 : 1);
  }

  GEMM_HOST_DEVICE bool is_special(const Place& at) const {
    return at.outer == choice(2 * at.batch, order.outer) &&
           at.inner == choice(2 * at.batch + 1, order.inner);
  }
  GEMM_HOST_DEVICE double special_value() const {
    constexpr std::uint64_t infinity = std::uint64_t{0x7ff} << 52, sign = std::uint64_t{1} << 63;
    if (matrix == Matrix::a) return same_bits<double>(infinity | infinity >> 1);  // NaN
    return same_bits<double>(matrix == Matrix::b ? infinity : sign | infinity);
  }
};

Draw make_draw(const Problem& problem, Regime regime, std::uint64_t seed, Matrix matrix);

/// L of Regime::wide_integer for this problem: the largest that keeps every partial sum exact in
/// FP32, every input exact in the problem's storage type and, for FP16, results finite (six
/// standard deviations of a sum), since infinities hide errors; at least 1.
int integer_limit(const Problem&);

}  // namespace gemm
