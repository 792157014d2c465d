#include "correctness/inputs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "correctness/draw.hpp"
#include "correctness/expected.hpp"
#include "correctness/test_kernel.hpp"

namespace gemm {
namespace {

using test::all_precisions;
using test::Values;

// The published first outputs of SplitMix64 seeded with 1234567.
TEST(Draw, MixesAsSplitMix64Does) {
  constexpr std::uint64_t gamma = 0x9e3779b97f4a7c15u;
  EXPECT_EQ(mix(1234567 + gamma), 6457827717110365317u);
  EXPECT_EQ(mix(1234567 + 2 * gamma), 3203168211198807973u);
}

// Numerators over 2^24, from a separate implementation in Python's integers.
TEST(Draw, IsFixedForEverByItsCounters) {
  const auto expect = [](std::uint64_t seed, Matrix matrix, std::uint64_t index, double numerator) {
    const Draw draw = make_draw({.shape = {8, 8, 8}}, Regime::positive, seed, matrix);
    EXPECT_EQ(draw(index) * 0x1p24, numerator) << seed << ' ' << index;
  };
  expect(1, Matrix::a, 0, 13287708);
  expect(1, Matrix::a, 12345, 16766437);
  expect(1, Matrix::a, std::uint64_t{1} << 33, 8515970);
  expect(1, Matrix::b, 1, 6653004);
  expect(1, Matrix::c, 2, 14099877);
  expect((std::uint64_t{1} << 63) + 5, Matrix::c, 0, 10182164);
}

TEST(Draw, IsUniform) {
  constexpr int draws = 1 << 18, bins = 64;
  for (const Regime regime : {Regime::symmetric, Regime::positive}) {
    const Draw draw = make_draw({.shape = {8, 8, 8}}, regime, 3, Matrix::b);
    const double low = regime == Regime::symmetric ? -1 : 0, width = 1 - low;
    std::vector<double> counts(bins, 0);
    double sum = 0, squares = 0;
    for (int i = 0; i < draws; ++i) {
      const double x = draw(static_cast<std::uint64_t>(i));
      ASSERT_GE(x, low);
      ASSERT_LT(x, 1);
      ++counts[static_cast<std::size_t>((x - low) / width * bins)];
      sum += x;
      squares += x * x;
    }
    const double expected = static_cast<double>(draws) / bins;
    double chi_square = 0;
    for (const double count : counts)
      chi_square += (count - expected) * (count - expected) / expected;
    // 63 degrees of freedom: mean 63, deviation sqrt(126); six deviations either way.
    EXPECT_NEAR(chi_square, bins - 1, 6 * std::sqrt(2.0 * (bins - 1)));
    const double mean = (low + 1) / 2, variance = width * width / 12;
    EXPECT_NEAR(sum / draws, mean, 6 * std::sqrt(variance / draws));
    EXPECT_NEAR(squares / draws - mean * mean, variance, 0.01 * variance);
  }
}

TEST(Draw, SeedsAndMatricesAreUnrelated) {
  const Problem problem{.shape = {8, 8, 8}};
  const Draw base = make_draw(problem, Regime::symmetric, 1, Matrix::a);
  const Draw others[] = {make_draw(problem, Regime::symmetric, 2, Matrix::a),
                         make_draw(problem, Regime::symmetric, 1, Matrix::b)};
  constexpr int draws = 1 << 16;
  for (const Draw& other : others) {
    double correlation = 0;
    for (std::uint64_t i = 0; i < draws; ++i) correlation += base(i) * other(i) * 3 / draws;
    EXPECT_LT(std::abs(correlation), 6 / std::sqrt(double{draws}));
  }
}

TEST(Inputs, PaddingIsNaNAndDoesNotChangeTheElements) {
  for (const Precision precision : all_precisions) {
    const Problem packed{
        .shape = {5, 7, 9}, .precision = precision, .layout = Layout::tn, .batch = 2};
    Problem padded = packed;
    padded.pad = {2, 3, 4};
    const Inputs inputs(packed, Regime::symmetric, 1, Space::host);
    const Inputs wide(padded, Regime::symmetric, 1, Space::host);
    const Values want(packed, inputs), got(padded, wide);
    for (int batch = 0; batch < 2; ++batch) {
      for (int p = 0; p < 9; ++p) {
        for (int row = 0; row < 5; ++row) EXPECT_EQ(got.a(batch, row, p), want.a(batch, row, p));
        for (int column = 0; column < 7; ++column)
          EXPECT_EQ(got.b(batch, p, column), want.b(batch, p, column));
        for (int row = 5; row < 7; ++row) EXPECT_TRUE(std::isnan(got.a(batch, row, p)));
      }
      for (int row = 0; row < 5; ++row)
        for (int column = 7; column < 11; ++column)
          EXPECT_TRUE(std::isnan(got.c(batch, row, column)));
    }
  }
}

TEST(Inputs, ValuesAreThoseOfTheStorageType) {
  const Problem problem{.shape = {1, 4, 64}, .precision = Precision::tf32};
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  const auto* stored = static_cast<const std::uint32_t*>(inputs.a.data());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(stored[i] & 0x1fffu, 0u) << "more than TF32's ten bits";
}

TEST(Inputs, PoisonReplacesTheElementsOnly) {
  const Problem problem{.shape = {3, 4, 1}, .precision = Precision::fp16, .pad = {0, 0, 2}};
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  poison(problem, inputs.c.data(), Space::host, 0x2a);
  const auto* stored = static_cast<const std::uint16_t*>(inputs.c.data());
  for (int i = 0; i < 3 * 6; ++i) EXPECT_EQ(stored[i], i % 6 < 4 ? 0x7e2a : 0xffff) << i;
}

TEST(Inputs, NegatedTheyHaveTheNegatedResult) {
  for (const Precision precision : all_precisions)
    for (const Regime regime : all_regimes()) {
      const Problem problem{.shape = {5, 6, 40},
                            .precision = precision,
                            .layout = Layout::tn,
                            .batch = 2,
                            .alpha = 0.7,
                            .beta = 0.3,
                            .pad = {1, 2, 3}};
      const Inputs inputs(problem, regime, 1, Space::host);
      const Expected expected(problem, inputs);
      negate_a(problem, inputs.a.data(), Space::host);
      negate_c(problem, inputs.c.data(), Space::host);
      const Buffer c = test::compute(problem, inputs);
      negate_c(problem, c.data(), Space::host);
      const Findings findings = expected.compare(c);
      EXPECT_TRUE(findings.passed()) << name(regime) << ": " << findings.message();
    }
}

// -- Wide integers -------------------------------------------------------------------------------

const Problem integer_problems[] = {
    {.shape = {3, 3, 1}},
    {.shape = {3, 3, 1000}, .alpha = 2, .beta = -0.5},
    {.shape = {3, 3, 4096}, .precision = Precision::tf32, .beta = 1},
    {.shape = {3, 3, 700}, .precision = Precision::fp16, .alpha = 0.25, .beta = 4},
    {.shape = {3, 3, 100}, .precision = Precision::bf16},
    {.shape = {3, 3, 65536}, .precision = Precision::bf16, .beta = 1},
};

// The numerators of every partial sum, in units of the last place, as 64-bit integers.
TEST(WideInteger, NoSumNeedsMoreThan24Bits) {
  for (const Problem& problem : integer_problems) {
    const std::int64_t limit = integer_limit(problem), k = problem.shape.k;
    // These alphas and betas are multiples of 1/4.
    const auto alpha = static_cast<std::int64_t>(std::abs(problem.alpha) * 4);
    const auto beta = static_cast<std::int64_t>(std::abs(problem.beta) * 4);
    const std::int64_t unit = beta == 0 ? alpha : std::min(alpha, beta);
    EXPECT_LE((alpha * k * limit * limit + beta * limit) / unit, 1 << 24) << problem.id();
    EXPECT_GT(limit, 1) << problem.id() << ": {-1, 0, 1} is too weak a check";
  }
}

TEST(WideInteger, TheLimitIsTheLargest) {
  EXPECT_EQ(integer_limit({.shape = {1, 1, 4096}}), 64);  // 4096 64^2 = 2^24
  EXPECT_EQ(integer_limit({.shape = {1, 1, 4096}, .beta = 1}), 63);
  EXPECT_EQ(integer_limit({.shape = {1, 1, 1}}), 4096);
  EXPECT_EQ(integer_limit({.shape = {1, 1, 1}, .precision = Precision::bf16}), 256);
  EXPECT_EQ(integer_limit({.shape = {1, 1, 1}, .precision = Precision::tf32}), 2048);
  EXPECT_EQ(integer_limit({.shape = {1, 1, 1}, .precision = Precision::fp16}), 255)
      << "255^2 is finite in FP16 and 256^2 is not";
  EXPECT_EQ(integer_limit({.shape = {1, 1, 1 << 26}}), 1);
}

TEST(WideInteger, ElementsAreIntegersWithinTheLimitAndReachIt) {
  const Problem problem{.shape = {64, 64, 4096}, .precision = Precision::bf16};
  const int limit = integer_limit(problem);
  const Draw draw = make_draw(problem, Regime::wide_integer, 1, Matrix::a);
  double lowest = 0, highest = 0;
  for (std::uint64_t i = 0; i < 64 * 4096; ++i) {
    const double x = draw(i);
    ASSERT_EQ(x, std::round(x));
    ASSERT_EQ(value_of<Bf16>(rounded_bits<Bf16>(x)), x) << "not exact in BF16";
    lowest = std::min(lowest, x);
    highest = std::max(highest, x);
  }
  EXPECT_EQ(lowest, -limit);
  EXPECT_EQ(highest, limit);
}

// Forwards, backwards and in eight interleaved partial sums: FP32 agrees with 64-bit integers.
TEST(WideInteger, EveryOrderOfSummationIsExact) {
  for (const Problem& problem : integer_problems) {
    const Inputs inputs(problem, Regime::wide_integer, 5, Space::host);
    const Values values(problem, inputs);
    test::for_each_element(problem, [&](std::int64_t batch, std::int64_t row, std::int64_t column) {
      std::int64_t exact = 0;
      float forwards = 0, backwards = 0, partial[8] = {};
      for (std::int64_t p = 0; p < problem.shape.k; ++p) {
        const float product = values.a(batch, row, p) * values.b(batch, p, column);
        exact += static_cast<std::int64_t>(product);
        forwards += product;
        partial[p % 8] += product;
        const std::int64_t q = problem.shape.k - 1 - p;
        backwards += values.a(batch, row, q) * values.b(batch, q, column);
      }
      float interleaved = 0;
      for (const float sum : partial) interleaved += sum;
      EXPECT_EQ(static_cast<std::int64_t>(forwards), exact) << problem.id();
      EXPECT_EQ(static_cast<std::int64_t>(backwards), exact) << problem.id();
      EXPECT_EQ(static_cast<std::int64_t>(interleaved), exact) << problem.id();
      const auto alpha = static_cast<float>(problem.alpha), beta = static_cast<float>(problem.beta);
      const float c0 = values.c(batch, row, column);
      EXPECT_EQ(static_cast<double>(alpha * forwards + beta * c0),
                problem.alpha * static_cast<double>(exact) + problem.beta * double{c0})
          << problem.id() << ": the epilogue must be exact too";
    });
  }
}

}  // namespace
}  // namespace gemm
