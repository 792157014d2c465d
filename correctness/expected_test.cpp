// The oracle against a long double triple loop, and the interval's ends.
#include "correctness/expected.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "correctness/test_kernel.hpp"
#include "kernels/scalar.hpp"

namespace gemm {
namespace {

using test::all_precisions;
using test::compute;
using test::Values;

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr Regime exact_regimes[] = {Regime::wide_integer, Regime::one_hot, Regime::permutation,
                                    Regime::signed_zero, Regime::sparse_integer};

// -- The table -----------------------------------------------------------------------------------

TEST(Bound, IsTheDocumentedTable) {
  const double u = std::ldexp(1.0, -24);
  for (const std::int64_t k : {0, 1, 100, 4096, 65536}) {
    const double root = std::sqrt(static_cast<double>(k)), terms = static_cast<double>(k);
    for (const Precision precision : all_precisions) {
      for (const Regime regime : {Regime::symmetric, Regime::cancellation, Regime::subnormal,
                                  Regime::near_overflow, Regime::non_finite})
        EXPECT_DOUBLE_EQ(bound_coefficient(precision, regime, k), u * (8 + root));
      for (const Regime regime : exact_regimes)
        EXPECT_EQ(bound_coefficient(precision, regime, k), 0);
    }
    for (const Regime regime : {Regime::positive, Regime::wide_range}) {
      EXPECT_DOUBLE_EQ(bound_coefficient(Precision::fp32, regime, k), u * (8 + 1.75 * root));
      EXPECT_DOUBLE_EQ(bound_coefficient(Precision::tf32, regime, k), u * (8 + 0.82 * terms));
      EXPECT_DOUBLE_EQ(bound_coefficient(Precision::fp16, regime, k), u * (8 + 0.66 * terms));
      EXPECT_DOUBLE_EQ(bound_coefficient(Precision::bf16, regime, k), u * (8 + 0.66 * terms));
    }
  }
}

TEST(Bound, TheEpilogueIsExactWhereItsNumbersAre) {
  const double four_roundings = 4 * std::ldexp(1.0, -24);
  const Problem overwriting{.shape = {1, 1, 1}, .alpha = 2};
  const Problem updating{.shape = {1, 1, 1}, .alpha = 2, .beta = -0.5};
  const Problem scaled{.shape = {1, 1, 1}, .alpha = 0.7};
  for (const Regime regime : exact_regimes) {
    const bool integers = regime != Regime::one_hot && regime != Regime::permutation;
    EXPECT_EQ(epilogue_coefficient(overwriting, regime), 0);
    EXPECT_EQ(epilogue_coefficient(updating, regime), integers ? 0 : four_roundings);
    EXPECT_EQ(epilogue_coefficient(scaled, regime), four_roundings);
  }
  EXPECT_EQ(epilogue_coefficient(overwriting, Regime::symmetric), four_roundings);
}

// Partial sums that are scaled, or added to beta C0, by no power of two are integers no more.
TEST(Bound, IntegersAreExactOnlyWithPowersOfTwo) {
  const double as_any_other = bound_coefficient(Precision::fp32, Regime::symmetric, 100);
  Problem problem{.shape = {1, 1, 100}, .alpha = 0.25, .beta = -2};
  for (const Regime regime : exact_regimes) EXPECT_EQ(bound_coefficient(problem, regime), 0);
  for (const auto& [alpha, beta] : {std::pair{-1.3, 1.0}, {1.0, 0.3}}) {
    problem.alpha = alpha;
    problem.beta = beta;
    for (const Regime regime : {Regime::wide_integer, Regime::signed_zero, Regime::sparse_integer})
      EXPECT_EQ(bound_coefficient(problem, regime), as_any_other);
    for (const Regime regime : {Regime::one_hot, Regime::permutation})
      EXPECT_EQ(bound_coefficient(problem, regime), 0) << "a single product";
    EXPECT_EQ(bound_coefficient(problem, Regime::positive),
              bound_coefficient(Precision::fp32, Regime::positive, 100));
  }
}

// Where FP32 is subnormal, each of k sums and four roundings may lose a smallest number.
TEST(Bound, UnderflowIsAllowedForWhereItHappens) {
  const Problem problem{.shape = {1, 1, 100}, .alpha = -2};
  EXPECT_EQ(underflow_allowance(problem, Regime::subnormal), 204 * std::ldexp(1.0, -149));
  EXPECT_EQ(underflow_allowance(problem, Regime::symmetric), 0);
  Problem narrow = problem;
  narrow.precision = Precision::fp16;
  EXPECT_EQ(underflow_allowance(narrow, Regime::subnormal), 0);
}

// -- The oracle ----------------------------------------------------------------------------------

struct Element {
  double exact, low, high;
};

/// The interval of one element from first principles: long double sums, and the host types' own
/// rounding in place of this folder's.
Element reference(const Problem& problem, const Inputs& inputs, const Values& values,
                  std::int64_t batch, std::int64_t row, std::int64_t column) {
  long double product = 0, sum = 0;
  for (std::int64_t p = 0; problem.alpha != 0 && p < problem.shape.k; ++p) {
    const long double term =
        static_cast<long double>(values.a(batch, row, p)) * values.b(batch, p, column);
    product += term;
    sum += std::abs(term);
  }
  product *= problem.alpha;
  const long double carried =
      problem.beta == 0 ? 0 : problem.beta * static_cast<long double>(values.c(batch, row, column));
  const long double coefficient = bound_coefficient(problem, inputs.regime);
  long double allowed = std::abs(problem.alpha) * coefficient * 1.02L * sum;
  allowed += epilogue_coefficient(problem, inputs.regime) * (std::abs(product) + std::abs(carried));
  allowed += underflow_allowance(problem, inputs.regime);
  const auto exact = static_cast<double>(product + carried);
  // The deviation is stored in FP32.
  const auto stored = static_cast<double>(static_cast<float>(allowed));
  return visit(problem.precision, [&]<class T>(std::type_identity<T>) {
    return Element{exact, to_float(round_to<T>(exact - stored)),
                   to_float(round_to<T>(exact + stored))};
  });
}

/// The neighbour of a value of the storage type.
double next(Precision precision, double value, double towards) {
  return with_storage(precision, [&]<class F>(F) {
    if (value == 0) return std::copysign(value_of<F>(1), towards);
    const bool away_from_zero = (towards > value) == (value > 0);
    const auto bits = rounded_bits<F>(value);
    return value_of<F>(static_cast<typename F::Bits>(away_from_zero ? bits + 1 : bits - 1));
  });
}

std::vector<Problem> oracle_problems() {
  struct Scalars {
    double alpha, beta;
  };
  std::vector<Problem> problems;
  for (const Precision precision : all_precisions)
    for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt})
      for (const auto& [alpha, beta] : {Scalars{1, 0}, {2, -0.5}, {0, 1}})
        for (const Padding& pad : {Padding{0, 0, 0}, Padding{1, 2, 3}})
          for (const std::int64_t batch : {1, 3})
            problems.push_back({.shape = {5, 6, 29},
                                .precision = precision,
                                .layout = layout,
                                .batch = batch,
                                .alpha = alpha,
                                .beta = beta,
                                .pad = pad});
  problems.push_back({.shape = {3, 4, 0}, .beta = 1});
  problems.push_back({.shape = {3, 4, 0}});
  problems.push_back({.shape = {2100, 3, 5}, .layout = Layout::tn});  // more than one panel
  problems.push_back({.shape = {2100, 3, 5}, .beta = 1, .pad = {1, 1, 1}});
  return problems;
}

/// Both ends of every element's interval are accepted, and their outer neighbours are not: each is
/// put into C in turn, for all elements at once.
TEST(Expected, AcceptsTheReferencesIntervalAndNothingBeyond) {
  for (const Problem& problem : oracle_problems()) {
    for (const Regime regime : all_regimes()) {
      // Beyond infinity and NaN is nothing; they have tests of their own.
      if (regime == Regime::non_finite || regime == Regime::near_overflow) continue;
      const Inputs inputs(problem, regime, 7, Space::host);
      const Values values(problem, inputs);
      const Expected expected(problem, inputs);
      const Buffer c = test::initial_c(problem, inputs);
      const auto put = [&](auto choose) {
        test::for_each_element(problem, [&](auto batch, auto row, auto column) {
          const Element e = reference(problem, inputs, values, batch, row, column);
          test::store(problem, c, batch, row, column, choose(e));
        });
        return expected.compare(c);
      };
      const auto all = problem.batch * problem.shape.m * problem.shape.n;
      const std::string where = problem.id() + " " + std::string(name(regime));
      EXPECT_TRUE(put([](const Element& e) { return e.low; }).passed()) << where;
      EXPECT_TRUE(put([](const Element& e) { return e.high; }).passed()) << where;
      EXPECT_TRUE(put([](const Element& e) { return e.exact; }).passed()) << where;
      EXPECT_EQ(
          put([&](const Element& e) { return next(problem.precision, e.low, -infinity); }).wrong,
          all)
          << where;
      EXPECT_EQ(
          put([&](const Element& e) { return next(problem.precision, e.high, infinity); }).wrong,
          all)
          << where;
    }
  }
}

TEST(Expected, EmptyResultsAreCorrect) {
  for (const Shape& shape : {Shape{0, 4, 5}, Shape{4, 0, 5}}) {
    const Problem problem{.shape = shape};
    const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
    EXPECT_TRUE(Expected(problem, inputs).compare(inputs.c).passed());
  }
}

// What a kernel must not read, the oracle does not read either.
TEST(Expected, AlphaZeroReadsNeitherANorBAndBetaZeroDoesNotReadC) {
  const Problem scaling{.shape = {4, 5, 6}, .alpha = 0, .beta = 1};
  const Inputs unread_ab(scaling, Regime::symmetric, 1, Space::host);
  fill(unread_ab.a, 0xff);
  fill(unread_ab.b, 0xff);
  EXPECT_TRUE(Expected(scaling, unread_ab).compare(unread_ab.c).passed()) << "C is left as it was";

  const Problem overwriting{.shape = {4, 5, 6}};
  const Inputs unread_c(overwriting, Regime::symmetric, 1, Space::host);
  fill(unread_c.c, 0xff);
  EXPECT_TRUE(Expected(overwriting, unread_c).compare(compute(overwriting, unread_c)).passed());
}

TEST(Expected, WideIntegersKeepTheEpiloguesRoundingUnlessItIsExact) {
  const Problem problem{.shape = {8, 8, 9}, .alpha = 0.3, .beta = 0.7};
  const Inputs inputs(problem, Regime::wide_integer, 1, Space::host);
  EXPECT_TRUE(Expected(problem, inputs).compare(compute(problem, inputs)).passed());
}

// -- NaN and infinity ----------------------------------------------------------------------------

TEST(Expected, NaNInOneRowOfAPoisonsExactlyThatRow) {
  const Problem problem{.shape = {6, 5, 7}, .precision = Precision::fp16};
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  static_cast<std::uint16_t*>(inputs.a.data())[2 * 7 + 3] = 0x7e00;
  const Expected expected(problem, inputs);
  const Buffer c = compute(problem, inputs);
  EXPECT_TRUE(expected.compare(c).passed());

  test::store(problem, c, 0, 2, 4, 0.0);
  test::store(problem, c, 0, 3, 1, std::nan(""));
  const Findings findings = expected.compare(c);
  EXPECT_EQ(findings.wrong, 2) << "a number in the poisoned row, and NaN outside it";
  ASSERT_TRUE(findings.first);
  EXPECT_EQ(findings.first->row, 2);
  EXPECT_EQ(findings.first->column, 4);
}

TEST(Expected, InfinitiesMustBeWhereTheyMustBe) {
  const Problem problem{.shape = {1, 2, 1}, .precision = Precision::fp16};
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  static_cast<std::uint16_t*>(inputs.a.data())[0] = rounded_bits<Fp16>(300);
  static_cast<std::uint16_t*>(inputs.b.data())[0] = rounded_bits<Fp16>(300);  // overflows
  static_cast<std::uint16_t*>(inputs.b.data())[1] = rounded_bits<Fp16>(-infinity);
  const Expected expected(problem, inputs);
  const auto wrong = [&](double first, double second) {
    test::store(problem, inputs.c, 0, 0, 0, first);
    test::store(problem, inputs.c, 0, 0, 1, second);
    return expected.compare(inputs.c).wrong;
  };
  EXPECT_EQ(wrong(infinity, -infinity), 0);
  EXPECT_EQ(wrong(65504, -infinity), 1);
  EXPECT_EQ(wrong(infinity, infinity), 1);
  EXPECT_EQ(wrong(infinity, -65504), 1);
  EXPECT_EQ(wrong(std::nan(""), std::nan("")), 2);
}

// -- What is reported ----------------------------------------------------------------------------

TEST(Findings, NameTheFirstWrongElement) {
  const Problem problem{.shape = {4, 5, 3}, .batch = 2, .pad = {0, 0, 1}};
  const Inputs inputs(problem, Regime::wide_integer, 1, Space::host);
  const Expected expected(problem, inputs);
  const Buffer c = compute(problem, inputs);
  const double exact = value_of<Fp32>(static_cast<std::uint32_t*>(c.data())[24 + 2 * 6 + 3]);
  test::store(problem, c, 1, 3, 0, 0.5);
  test::store(problem, c, 1, 2, 3, 0.25);
  const Findings findings = expected.compare(c);
  ASSERT_TRUE(findings.first);
  EXPECT_EQ(findings.first->batch, 1);
  EXPECT_EQ(findings.first->row, 2);
  EXPECT_EQ(findings.first->column, 3);
  EXPECT_EQ(findings.first->got, 0.25);
  EXPECT_EQ(findings.first->exact, exact);
  EXPECT_EQ(findings.first->low, exact);
  EXPECT_EQ(findings.first->high, exact);
  const std::string end = std::to_string(static_cast<long>(exact)) + "]";
  EXPECT_THAT(findings.message(),
              testing::AllOf(testing::StartsWith("2 of 40 elements wrong; first at batch 1, row 2, "
                                                 "column 3: got 0.25, allowed ["),
                             testing::EndsWith(end)));
}

// A share is the deviation beyond the output's own rounding, so it is put at known distances.
TEST(Findings, WorstShareIsOfTheBound) {
  const Problem problem{.shape = {1, 1, 64}};
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  const Element e = reference(problem, inputs, Values(problem, inputs), 0, 0, 0);
  const Expected expected(problem, inputs);
  const double allowed = (e.high - e.low) / 2;
  for (const double share : {0.25, 0.5, 0.75}) {
    test::store(problem, inputs.c, 0, 0, 0, e.exact - share * allowed);
    EXPECT_NEAR(expected.compare(inputs.c).worst_share_of_bound, share, 0.1);
  }
}

TEST(Findings, RelativeErrorIsOfTheLargestElement) {
  const Problem problem{.shape = {1, 2, 64}};
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  const Values values(problem, inputs);
  const Expected expected(problem, inputs);
  const double first = reference(problem, inputs, values, 0, 0, 0).exact;
  const double second = reference(problem, inputs, values, 0, 0, 1).exact;
  const double largest = std::max(std::abs(first), std::abs(second));
  test::store(problem, inputs.c, 0, 0, 0, first);
  test::store(problem, inputs.c, 0, 0, 1, second + 0.125 * largest);
  EXPECT_NEAR(expected.compare(inputs.c).relative_error, 0.125, 1e-6);
  test::store(problem, inputs.c, 0, 0, 1, std::numeric_limits<double>::quiet_NaN());
  const Findings findings = expected.compare(inputs.c);
  EXPECT_EQ(findings.wrong, 1);
  EXPECT_LT(findings.relative_error, 1e-6) << "of the finite elements";
}

TEST(Expected, RefusesAResultOfAnotherSize) {
  const Problem problem{.shape = {4, 4, 4}};
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  const Expected expected(problem, inputs);
  EXPECT_THROW(expected.compare(Buffer(Space::host, 63)), std::invalid_argument);
}

}  // namespace
}  // namespace gemm
