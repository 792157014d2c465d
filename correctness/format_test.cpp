// One rounding, to the right neighbour. Eigen's types and the language's own conversions are the
// other source.
#include "correctness/format.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/scalar.hpp"

namespace gemm {
namespace {

template <class Scalar>
Scalar from_bits(std::uint16_t bits) {
  return Eigen::numext::bit_cast<Scalar>(bits);
}

template <class F, class Scalar>
void expect_same_values() {
  for (unsigned pattern = 0; pattern < 0x10000; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const double ours = value_of<F>(bits);
    const auto theirs = static_cast<double>(static_cast<float>(from_bits<Scalar>(bits)));
    if (std::isnan(theirs)) {
      ASSERT_TRUE(std::isnan(ours)) << pattern;
      continue;
    }
    ASSERT_EQ(ours, theirs) << pattern;
    ASSERT_EQ(std::signbit(ours), std::signbit(theirs)) << pattern;
    ASSERT_EQ(rounded_bits<F>(ours), bits) << "a value of the type must round to itself";
  }
}

TEST(Format, EveryHalfHasEigensValueAndRoundsToItself) { expect_same_values<Fp16, Eigen::half>(); }
TEST(Format, EveryBfloatHasEigensValueAndRoundsToItself) {
  expect_same_values<Bf16, Eigen::bfloat16>();
}

// Around the midpoint of each two neighbours: a hair below it, on it, a hair above it. By way of
// float, where the hair vanishes, all three would round alike.
template <class F>
void expect_single_rounding() {
  const unsigned infinity = ((1u << F::exponent_bits) - 1) << F::mantissa_bits;
  for (unsigned lower = 0; lower + 1 < infinity; ++lower) {
    const double below = value_of<F>(static_cast<std::uint16_t>(lower));
    const double above = value_of<F>(static_cast<std::uint16_t>(lower + 1));
    const double middle = (below + above) / 2;  // exact: one more bit than the format has
    const unsigned even = lower % 2 == 0 ? lower : lower + 1;
    ASSERT_EQ(rounded_bits<F>(middle), even);
    ASSERT_EQ(rounded_bits<F>(std::nextafter(middle, 0)), lower);
    ASSERT_EQ(rounded_bits<F>(std::nextafter(middle, 1e300)), lower + 1);
    ASSERT_EQ(rounded_bits<F>(-middle), even | 0x8000u);
  }
}

TEST(Format, HalfRoundsOnceAtEveryMidpoint) { expect_single_rounding<Fp16>(); }
TEST(Format, BfloatRoundsOnceAtEveryMidpoint) { expect_single_rounding<Bf16>(); }

TEST(Format, SixteenBitEdges) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(value_of<Fp16>(rounded_bits<Fp16>(65519.999)), 65504);
  EXPECT_EQ(value_of<Fp16>(rounded_bits<Fp16>(65520.0)), infinity);
  EXPECT_EQ(value_of<Fp16>(rounded_bits<Fp16>(-1e300)), -infinity);
  EXPECT_EQ(value_of<Bf16>(rounded_bits<Bf16>(infinity)), infinity);
  EXPECT_EQ(rounded_bits<Fp16>(0x1p-25), 0) << "half the smallest subnormal ties to zero";
  EXPECT_EQ(rounded_bits<Fp16>(std::nextafter(0x1p-25, 1)), 1);
  EXPECT_EQ(rounded_bits<Fp16>(1e-300), 0);
  EXPECT_EQ(rounded_bits<Fp16>(-0.0), 0x8000);
  EXPECT_TRUE(std::isnan(value_of<Fp16>(rounded_bits<Fp16>(std::nan("")))));
}

TEST(Format, Fp32IsTheLanguagesConversion) {
  std::uint64_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    // Exponents from far below the smallest FP32 subnormal to far above the largest value.
    const int exponent = static_cast<int>(state >> 40) % 320 - 170;
    const double value =
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(state)), exponent - 63);
    ASSERT_EQ(rounded_bits<Fp32>(value), same_bits<std::uint32_t>(static_cast<float>(value)));
    const float single = same_bits<float>(static_cast<std::uint32_t>(state >> 32));
    if (std::isnan(single)) continue;
    ASSERT_EQ(value_of<Fp32>(same_bits<std::uint32_t>(single)), static_cast<double>(single));
  }
}

TEST(Format, Tf32KeepsTenBits) {
  EXPECT_EQ(value_of<Fp32>(rounded_bits<Tf32>(1 + 0x1p-10)), 1 + 0x1p-10);
  EXPECT_EQ(value_of<Fp32>(rounded_bits<Tf32>(1 + 0x1p-11)), 1) << "a tie, to even";
  EXPECT_EQ(value_of<Fp32>(rounded_bits<Tf32>(1 + 0x1.8p-10)), 1 + 0x1p-9) << "a tie, to even";
  EXPECT_EQ(value_of<Fp32>(rounded_bits<Tf32>(-1 - 0x1.0001p-11)), -1 - 0x1p-10);
}

}  // namespace
}  // namespace gemm
