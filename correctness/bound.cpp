// The project's one table of tolerances. README.md says where the constants come from.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "correctness/expected.hpp"

namespace gemm {
namespace {

constexpr double unit_roundoff = 0x1p-24;  // of the FP32 accumulator

/// How the rounding errors of a sum add up.
enum class Errors {
  none,         ///< every partial sum is exact
  either_sign,  ///< like a random walk
  one_sign,     ///< a tensor core truncates: where partial sums stay large, errors grow like k
};

Errors errors(Regime regime) {
  switch (regime) {
    case Regime::wide_integer:
    case Regime::sparse_integer:
    case Regime::signed_zero:
    case Regime::one_hot:
    case Regime::permutation:
      return Errors::none;
    case Regime::symmetric:
    case Regime::cancellation:
    case Regime::subnormal:
    case Regime::near_overflow:
    case Regime::non_finite:
      return Errors::either_sign;
    case Regime::positive:
    case Regime::wide_range:  // a few large terms keep the sum away from zero
      return Errors::one_sign;
  }
  throw std::logic_error("a regime without a bound");
}

bool power_of_two_or_zero(double x) {
  int exponent = 0;
  return x == 0 || std::abs(std::frexp(x, &exponent)) == 0.5;
}

bool integers(Regime regime) {
  return regime == Regime::wide_integer || regime == Regime::sparse_integer ||
         regime == Regime::signed_zero;
}

bool scales_exactly(const Problem& problem) {
  return power_of_two_or_zero(problem.alpha) && power_of_two_or_zero(problem.beta);
}

}  // namespace

double bound_coefficient(Precision precision, Regime regime, std::int64_t k) {
  const auto terms = static_cast<double>(k);
  const double random_walk = 8 + std::sqrt(terms);
  switch (errors(regime)) {
    case Errors::none:
      return 0;
    case Errors::either_sign:
      return unit_roundoff * random_walk;
    case Errors::one_sign:
      break;
  }
  switch (precision) {
    case Precision::fp32:  // rounded, but partial sums are large: the walk's steps grow
      return unit_roundoff * (8 + 1.75 * std::sqrt(terms));
    case Precision::tf32:
      return unit_roundoff * (8 + 0.82 * terms);
    case Precision::fp16:
    case Precision::bf16:
      return unit_roundoff * (8 + 0.66 * terms);
  }
  throw std::logic_error("a precision without a bound");
}

double bound_coefficient(const Problem& problem, Regime regime) {
  // A kernel may start from beta C0 and add alpha times partial sums, as OpenBLAS does: sums of
  // integers are exact only if these are multiples of one power of two.
  const bool like_any_other = integers(regime) && !scales_exactly(problem);
  return bound_coefficient(problem.precision, like_any_other ? Regime::symmetric : regime,
                           problem.shape.k);
}

double epilogue_coefficient(const Problem& problem, Regime regime) {
  constexpr double roundings = 4;
  // Where AB is exact but no integer, it is one product, and C0 any number.
  const bool exact = errors(regime) == Errors::none && scales_exactly(problem) &&
                     (integers(regime) || problem.beta == 0);
  return exact ? 0 : roundings * unit_roundoff;
}

double underflow_allowance(const Problem& problem, Regime regime) {
  // FP16's smallest products are still normal numbers in FP32.
  if (regime != Regime::subnormal || problem.precision == Precision::fp16) return 0;
  constexpr double smallest = 0x1p-149, roundings_of_epilogue = 4;
  const auto sums = static_cast<double>(problem.shape.k);
  return smallest * (std::abs(problem.alpha) * sums + roundings_of_epilogue);
}

}  // namespace gemm
