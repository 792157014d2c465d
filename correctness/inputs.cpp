#include "correctness/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "correctness/draw.hpp"
#include "correctness/engine.hpp"

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

Extent stored(std::int64_t batch, std::int64_t rows, std::int64_t ld, std::int64_t padding) {
  return {batch * rows, ld - padding, ld};
}

Buffer drawn(const Problem& problem, const Extent& extent, const Draw& draw, Space space) {
  Buffer matrix(
      space, static_cast<std::size_t>(extent.rows * extent.ld) * element_bytes(problem.precision));
  engine(space).fill(problem.precision, extent, draw, matrix.data());
  return matrix;
}

}  // namespace

std::string_view name(Regime regime) {
  switch (regime) {
    case Regime::symmetric:
      return "symmetric";
    case Regime::positive:
      return "positive";
    case Regime::wide_integer:
      return "wide_integer";
  }
  throw std::logic_error("a regime without a name");
}

const std::vector<Regime>& all_regimes() {
  static const std::vector<Regime> all{Regime::symmetric, Regime::positive, Regime::wide_integer};
  return all;
}

int integer_limit(const Problem& problem) {
  int limit = exact_integers(problem.precision);
  while (limit > 1 && !(sums_are_exact(problem, limit) && results_are_finite(problem, limit)))
    --limit;
  return limit;
}

Inputs::Inputs(const Problem& problem, Regime regime, std::uint64_t seed, Space space)
    : regime(regime),
      seed(seed),
      a(drawn(problem, stored(problem.batch, problem.a_rows(), problem.lda(), problem.pad.a),
              make_draw(problem, regime, seed, Matrix::a), space)),
      b(drawn(problem, stored(problem.batch, problem.b_rows(), problem.ldb(), problem.pad.b),
              make_draw(problem, regime, seed, Matrix::b), space)),
      c(drawn(problem, stored(problem.batch, problem.shape.m, problem.ldc(), problem.pad.c),
              make_draw(problem, regime, seed, Matrix::c), space)) {
  synchronize(space);
}

void poison(const Problem& problem, const Buffer& c, std::uint16_t payload) {
  const Extent extent = stored(problem.batch, problem.shape.m, problem.ldc(), problem.pad.c);
  engine(c.space()).poison(problem.precision, extent, payload, c.data());
}

}  // namespace gemm
