#include "correctness/draw.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace gemm {
namespace {

/// The largest n such that every integer up to n is exact in the input type. FP32 needs no more
/// than 2^12, whose square is all of the accumulator.
int exact_integers(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return 4096;
    case Precision::tf32:
    case Precision::fp16:
      return 2048;
    case Precision::bf16:
      return 256;
  }
  throw std::logic_error("a precision without integers");
}

/// alpha AB + beta C0 in units of its last place stays within the accumulator's 24 bits.
bool sums_are_exact(const Problem& problem, double limit) {
  const double alpha = problem.shape.k == 0 ? 0 : std::abs(problem.alpha);
  const double beta = std::abs(problem.beta);
  const double product = static_cast<double>(problem.shape.k) * limit * limit;
  double unit = std::min(alpha, beta);
  if (unit == 0) unit = std::max(alpha, beta);
  return product <= 0x1p24 && alpha * product + beta * limit <= unit * 0x1p24;
}

/// Results stay finite, up to six standard deviations of a sum: infinities would hide errors. Only
/// FP16 is so narrow.
bool results_are_finite(const Problem& problem, double limit) {
  if (problem.precision != Precision::fp16) return true;
  constexpr double largest = 65504;
  const auto k = static_cast<double>(problem.shape.k);
  const double deviation = std::sqrt(k) * limit * (limit + 1) / 3;
  const double product = std::min(6 * deviation, k * limit * limit);
  return std::abs(problem.alpha) * product + std::abs(problem.beta) * limit <= largest;
}

std::int64_t largest_integer(const Problem& problem, Regime regime, Matrix matrix) {
  if (regime == Regime::wide_integer) return integer_limit(problem);
  return matrix == Matrix::c ? 128 : 8;  // sparse_integer
}

/// Far from 1 and from k, so that a permutation moves everything.
std::int64_t coprime_step(std::int64_t k) {
  std::int64_t step = std::max<std::int64_t>(1, k * 5 / 8);
  while (std::gcd(step, k) > 1) ++step;
  return step;
}

/// The exponent of Regime::near_overflow's scale. With FP32's range no order of summation may
/// overflow: |alpha| |A||B| and |beta C0| stay below 2^126 each. FP16 is summed in FP32, so that it
/// is the result that may: two standard deviations of alpha A B reach the largest value.
int near_overflow_exponent(const Problem& problem, Matrix matrix) {
  const auto log2_of = [](double x) { return x == 0 ? 0 : std::log2(std::abs(x)); };
  const auto growth = [&](double x) { return std::max(std::ceil(log2_of(x)), 0.0); };
  const bool narrow = problem.precision == Precision::fp16;
  if (matrix == Matrix::c) return static_cast<int>((narrow ? 14 : 126) - growth(problem.beta));

  const auto k = static_cast<double>(problem.shape.k);
  const int of_both = static_cast<int>(
      narrow ? std::min(15 + std::log2(3.0) - log2_of(k) / 2 - log2_of(problem.alpha), 30.0)
             : 126 - growth(k) - growth(problem.alpha));
  const int of_b = of_both / 2;
  return matrix == Matrix::b ? of_b : of_both - of_b;
}

double scale(const Problem& problem, Regime regime, Matrix matrix) {
  switch (regime) {
    case Regime::wide_range:
      return problem.precision == Precision::fp16 && matrix == Matrix::b ? 0x1p-8 : 1;
    case Regime::subnormal:  // to the smallest normal number
      return problem.precision == Precision::fp16 ? 0x1p-14 : 0x1p-126;
    case Regime::near_overflow:
      return std::ldexp(1.0, near_overflow_exponent(problem, matrix));
    default:
      return 1;
  }
}

Order order(const Problem& problem, Matrix matrix) {
  const auto [m, n, k] = problem.shape;
  switch (matrix) {
    case Matrix::a:
      return {m, k, !problem.a_transposed()};
    case Matrix::b:
      return {n, k, problem.b_transposed()};
    case Matrix::c:
      return {m, n, true};
  }
  throw std::logic_error("a matrix without an order");
}

}  // namespace

int integer_limit(const Problem& problem) {
  int limit = exact_integers(problem.precision);
  while (limit > 1 && !(sums_are_exact(problem, limit) && results_are_finite(problem, limit)))
    --limit;
  return limit;
}

Draw make_draw(const Problem& problem, Regime regime, std::uint64_t seed, Matrix matrix) {
  return {.regime = regime,
          .matrix = matrix,
          .key = mix(mix(seed) + static_cast<std::uint64_t>(matrix)),
          .order = order(problem, matrix),
          .limit = largest_integer(problem, regime, matrix),
          .step = coprime_step(problem.shape.k),
          .scale = scale(problem, regime, matrix)};
}

}  // namespace gemm
