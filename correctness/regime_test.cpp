// That each class of inputs is what regime.hpp says it is.
#include "correctness/regime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>

#include "correctness/expected.hpp"
#include "correctness/test_kernel.hpp"

namespace gemm {
namespace {

using test::all_precisions;
using test::compute;
using test::Values;

/// Inputs of one class, their values, and what the product of one element sums up to.
struct Subject {
  Subject(const Problem& of, Regime regime)
      : problem(of), inputs(problem, regime, 3, Space::host), values(problem, inputs) {}

  double product(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    double sum = 0;
    for (std::int64_t p = 0; p < problem.shape.k; ++p)
      sum += double{values.a(batch, row, p)} * values.b(batch, p, column);
    return sum;
  }
  double absolute_product(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    double sum = 0;
    for (std::int64_t p = 0; p < problem.shape.k; ++p)
      sum += std::abs(double{values.a(batch, row, p)} * values.b(batch, p, column));
    return sum;
  }

  Problem problem;
  Inputs inputs;
  Values values;
};

constexpr Layout layouts[] = {Layout::nn, Layout::nt, Layout::tn, Layout::tt};

Problem batched(Precision precision, Layout layout) {
  return {.shape = {17, 23, 23},
          .precision = precision,
          .layout = layout,
          .batch = 2,
          .beta = 1,
          .pad = {1, 2, 3}};
}

TEST(Regime, NamesAreReadBack) {
  std::set<std::string_view> names;
  for (const Regime regime : all_regimes()) {
    EXPECT_EQ(parse_regime(name(regime)), regime);
    names.insert(name(regime));
  }
  EXPECT_EQ(names.size(), base_regimes().size() + special_regimes().size());
  EXPECT_THAT([] { parse_regime("symetric"); },
              testing::ThrowsMessage<std::invalid_argument>(testing::AllOf(
                  testing::HasSubstr("symetric"), testing::HasSubstr("near_overflow"))));
}

TEST(Regime, OneHotRowsSelectRowsOfB) {
  for (const Layout layout : layouts) {
    const Subject subject(batched(Precision::bf16, layout), Regime::one_hot);
    std::set<std::int64_t> selected;
    for (std::int64_t batch = 0; batch < 2; ++batch)
      for (std::int64_t row = 0; row < 17; ++row) {
        int ones = 0;
        for (std::int64_t p = 0; p < 23; ++p) {
          const float a = subject.values.a(batch, row, p);
          EXPECT_TRUE(a == 0 || a == 1);
          if (a == 1) selected.insert(p), ++ones;
        }
        EXPECT_EQ(ones, 1);
      }
    EXPECT_GT(selected.size(), 10u) << "34 rows of 23 possible places";
  }
}

TEST(Regime, PermutationHasOneInEveryRowAndColumn) {
  for (const Layout layout : layouts) {
    const Subject subject(batched(Precision::fp16, layout), Regime::permutation);
    for (std::int64_t batch = 0; batch < 2; ++batch) {
      std::set<std::int64_t> places;
      for (std::int64_t column = 0; column < 23; ++column)
        for (std::int64_t p = 0; p < 23; ++p)
          if (const float b = subject.values.b(batch, p, column); b != 0) {
            EXPECT_EQ(b, 1);
            EXPECT_TRUE(places.insert(p).second) << "two ones in row " << p;
          }
      EXPECT_EQ(places.size(), 23u);
    }
  }
}

TEST(Regime, CancellationLeavesTheOddLastTermOnly) {
  for (const Layout layout : layouts) {
    const Subject subject(batched(Precision::fp32, layout), Regime::cancellation);
    test::for_each_element(subject.problem, [&](auto batch, auto row, auto column) {
      const double last =
          double{subject.values.a(batch, row, 22)} * subject.values.b(batch, 22, column);
      EXPECT_NEAR(subject.product(batch, row, column), last, 1e-12);
      EXPECT_GT(subject.absolute_product(batch, row, column), 1) << "of 22 terms";
    });
  }
}

TEST(Regime, WideRangeSpansSixteenBinades) {
  for (const Precision precision : all_precisions) {
    const Subject subject({.shape = {64, 64, 64}, .precision = precision}, Regime::wide_range);
    double largest = 0, product = 0;
    std::set<int> exponents;
    for (std::int64_t row = 0; row < 64; ++row)
      for (std::int64_t p = 0; p < 64; ++p) {
        largest = std::max(largest, std::abs(double{subject.values.a(0, row, p)}));
        exponents.insert(std::ilogb(subject.values.a(0, row, p)));
      }
    test::for_each_element(subject.problem, [&](auto batch, auto row, auto column) {
      product = std::max(product, std::abs(subject.product(batch, row, column)));
    });
    EXPECT_GT(largest, 128);
    EXPECT_LE(largest, 256);
    EXPECT_GT(exponents.size(), 16u);
    if (precision == Precision::fp16) {
      EXPECT_LT(product, 65504) << "infinities hide errors";
    }
  }
}

TEST(Regime, SubnormalPutsOneSubnormalFactorIntoEveryProduct) {
  for (const Precision precision : all_precisions) {
    const double smallest_normal = precision == Precision::fp16 ? 0x1p-14 : 0x1p-126;
    for (const Layout layout : layouts) {
      const Subject subject(batched(precision, layout), Regime::subnormal);
      const auto is_small = [&](float x) { return std::abs(double{x}) <= smallest_normal; };
      int small_a = 0, not_zero = 0;
      test::for_each_element(subject.problem, [&](auto batch, auto row, auto column) {
        EXPECT_TRUE(is_small(subject.values.c(batch, row, column)));
        for (std::int64_t p = 0; p < 23; ++p) {
          const float a = subject.values.a(batch, row, p), b = subject.values.b(batch, p, column);
          EXPECT_TRUE(is_small(a) || is_small(b));
          small_a += is_small(a);
          not_zero += a != 0 && b != 0;
        }
      });
      const int products = 2 * 17 * 23 * 23;
      EXPECT_GT(small_a, products / 3);
      EXPECT_LT(small_a, products * 2 / 3);
      EXPECT_GT(not_zero, products * 9 / 10);
    }
  }
}

TEST(Regime, NearOverflowOverflowsInFp16Only) {
  for (const Precision precision : all_precisions) {
    for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, {2.0, -0.5}, {0.5, 2.0}}) {
      const Problem problem{
          .shape = {32, 32, 100}, .precision = precision, .alpha = alpha, .beta = beta};
      const Subject subject(problem, Regime::near_overflow);
      int infinite = 0;
      double largest = 0;
      test::for_each_element(problem, [&](auto batch, auto row, auto column) {
        const double product = alpha * subject.product(batch, row, column);
        const double carried = beta == 0 ? 0 : beta * subject.values.c(batch, row, column);
        const double sum = std::max(alpha, 1.0) * subject.absolute_product(batch, row, column);
        EXPECT_LT(sum + std::abs(carried), std::numeric_limits<float>::max())
            << "a partial sum might overflow";
        infinite += std::abs(product + carried) > 65519;
        largest = std::max(largest, std::abs(product + carried));
      });
      if (precision == Precision::fp16) {
        EXPECT_GT(infinite, 10);
        EXPECT_LT(infinite, 32 * 32 / 2);
      } else {
        EXPECT_GT(largest, 0x1p120);
      }
    }
  }
}

TEST(Regime, SignedZeroHasBothZeros) {
  const Subject subject(batched(Precision::fp16, Layout::nn), Regime::signed_zero);
  std::multiset<std::pair<float, bool>> values;
  for (std::int64_t row = 0; row < 17; ++row)
    for (std::int64_t p = 0; p < 23; ++p) {
      const float a = subject.values.a(0, row, p);
      values.insert({a, std::signbit(a)});
    }
  for (const float value : {-1.0f, -0.0f, 0.0f, 1.0f})
    EXPECT_GT(values.count({value, std::signbit(value)}), 50u) << value;
}

TEST(Regime, NonFinitePutsOneSpecialValueIntoEachMatrix) {
  for (const Layout layout : layouts) {
    const Subject subject(batched(Precision::tf32, layout), Regime::non_finite);
    for (std::int64_t batch = 0; batch < 2; ++batch) {
      int nan = 0, inf = 0, minus_inf = 0, others = 0;
      for (std::int64_t p = 0; p < 23; ++p) {
        for (std::int64_t row = 0; row < 17; ++row) {
          const float a = subject.values.a(batch, row, p);
          std::isnan(a) ? ++nan : others += !std::isfinite(a);
        }
        for (std::int64_t column = 0; column < 23; ++column) {
          const float b = subject.values.b(batch, p, column);
          b == std::numeric_limits<float>::infinity() ? ++inf : others += !std::isfinite(b);
        }
      }
      for (std::int64_t row = 0; row < 17; ++row)
        for (std::int64_t column = 0; column < 23; ++column) {
          const float c = subject.values.c(batch, row, column);
          c == -std::numeric_limits<float>::infinity() ? ++minus_inf : others += !std::isfinite(c);
        }
      EXPECT_EQ(nan, 1);
      EXPECT_EQ(inf, 1);
      EXPECT_EQ(minus_inf, 1);
      EXPECT_EQ(others, 0);
    }
  }
}

// What follows from it: a row of NaN, a column of infinities, and nothing else.
TEST(Regime, NonFiniteReachesARowAndAColumn) {
  Problem problem = batched(Precision::fp16, Layout::nn);
  problem.batch = 1;
  problem.beta = 0;
  const Inputs inputs(problem, Regime::non_finite, 3, Space::host);
  const Buffer c = compute(problem, inputs);
  EXPECT_TRUE(Expected(problem, inputs).compare(c).passed());
  int nan = 0, infinite = 0;
  for (std::int64_t row = 0; row < 17; ++row)
    for (std::int64_t column = 0; column < 23; ++column) {
      const double x =
          value_of<Fp16>(static_cast<std::uint16_t*>(c.data())[row * problem.ldc() + column]);
      nan += std::isnan(x);
      infinite += std::isinf(x);
    }
  EXPECT_EQ(nan, 23);
  EXPECT_EQ(infinite, 16);
}

TEST(Regime, SparseIntegersHaveResultsThatEveryTypeHolds) {
  for (const std::int64_t k : {5, 16, 100, 1000}) {
    const Problem problem{
        .shape = {9, 11, k}, .precision = Precision::bf16, .layout = Layout::tn, .beta = -1};
    const Subject subject(problem, Regime::sparse_integer);
    for (std::int64_t row = 0; row < 9; ++row) {
      std::int64_t filled = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        const float a = subject.values.a(0, row, p);
        EXPECT_TRUE(a == -1 || a == 0 || a == 1);
        filled += a != 0;
      }
      const std::int64_t width = (k + 15) / 16;
      EXPECT_EQ(filled, (k + width - 1) / width);
    }
    test::for_each_element(problem, [&](auto batch, auto row, auto column) {
      const double result =
          subject.product(batch, row, column) - subject.values.c(batch, row, column);
      EXPECT_EQ(value_of<Bf16>(rounded_bits<Bf16>(result)), result);
      EXPECT_EQ(value_of<Fp16>(rounded_bits<Fp16>(result)), result);
    });
  }
}

TEST(Regime, TheSoundKernelPassesAndIsExactWhereTheClassIs) {
  for (const Precision precision : all_precisions)
    for (const Layout layout : layouts)
      for (const Regime regime : all_regimes()) {
        Problem problem = batched(precision, layout);
        problem.beta = 0;
        const Inputs inputs(problem, regime, 5, Space::host);
        const Findings findings = Expected(problem, inputs).compare(compute(problem, inputs));
        EXPECT_TRUE(findings.passed())
            << problem.id() << ' ' << name(regime) << ": " << findings.message();
        const bool exact = bound_coefficient(precision, regime, problem.shape.k) == 0;
        EXPECT_EQ(epilogue_coefficient(problem, regime) == 0, exact);
      }
}

}  // namespace
}  // namespace gemm
