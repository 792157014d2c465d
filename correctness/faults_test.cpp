// Wrong kernels that the gate must catch, and sound ones that it must not.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <tuple>

#include "correctness/expected.hpp"
#include "correctness/test_kernel.hpp"

namespace gemm {
namespace {

using test::all_precisions;
using test::compute;

/// Swaps two elements of C.
void swap_elements(const Problem& problem, const Buffer& c, std::int64_t row, std::int64_t column,
                   std::int64_t other_row, std::int64_t other_column) {
  with_storage(problem.precision, [&]<class F>(F) {
    auto* stored = static_cast<typename F::Bits*>(c.data());
    std::swap(stored[row * problem.ldc() + column],
              stored[other_row * problem.ldc() + other_column]);
  });
}

float to_bf16(float x) { return static_cast<float>(value_of<Bf16>(rounded_bits<Bf16>(x))); }

struct Fault {
  const char* name;
  Problem problem;
  Buffer (*kernel)(const Problem&, const Inputs&);
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

constexpr Problem updating{.shape = {33, 40, 67}, .alpha = 2, .beta = -0.5, .pad = {1, 2, 3}};
constexpr Problem overwriting{.shape = {33, 40, 67}, .pad = {1, 2, 3}};

const Fault faults[] = {
    {"LastKDropped", updating,
     [](const Problem& problem, const Inputs& inputs) {
       return compute(problem, inputs, {.dropped_k = 1});
     }},
    {"Bf16Accumulator", updating,
     [](const Problem& problem, const Inputs& inputs) {
       return compute(problem, inputs, {.round_sum = to_bf16});
     }},
    {"BetaIgnored", updating,
     [](const Problem& problem, const Inputs& inputs) {
       return compute(problem, inputs,
                      {.epilogue = [&](float sum, float) { return problem.alpha * sum; }});
     }},
    {"BetaSquared", updating,
     [](const Problem& problem, const Inputs& inputs) {
       return compute(problem, inputs, {.epilogue = [&](float sum, float c0) {
                        return problem.alpha * sum + problem.beta * problem.beta * c0;
                      }});
     }},
    {"CReadAtBetaZero", overwriting,
     [](const Problem& problem, const Inputs& inputs) {
       return compute(problem, inputs,
                      {.epilogue = [](float sum, float) { return sum + 0 * std::nanf(""); }});
     }},
    {"NaNElement", updating,
     [](const Problem& problem, const Inputs& inputs) {
       Buffer c = compute(problem, inputs);
       test::store(problem, c, 0, 32, 39, std::nan(""));
       return c;
     }},
    {"ElementNotWritten", updating,
     [](const Problem& problem, const Inputs& inputs) {
       Buffer c = compute(problem, inputs);
       test::store(problem, c, 0, 17, 23, test::Values(problem, inputs).c(0, 17, 23));
       return c;
     }},
    {"RowZeroed", updating,
     [](const Problem& problem, const Inputs& inputs) {
       Buffer c = compute(problem, inputs);
       for (std::int64_t column = 0; column < problem.shape.n; ++column)
         test::store(problem, c, 0, 11, column, 0);
       return c;
     }},
    {"PatchTransposed", updating,
     [](const Problem& problem, const Inputs& inputs) {
       Buffer c = compute(problem, inputs);
       for (std::int64_t row = 0; row < 8; ++row)
         for (std::int64_t column = 0; column < row; ++column)
           swap_elements(problem, c, 16 + row, 24 + column, 16 + column, 24 + row);
       return c;
     }},
    {"LeadingDimensionIgnored", updating,
     [](const Problem& problem, const Inputs& inputs) {
       Problem packed = problem;
       packed.pad.a = 0;
       return compute(packed, inputs);
     }},
    {"PaddingWritten", updating,
     [](const Problem& problem, const Inputs& inputs) {
       Buffer c = compute(problem, inputs);
       test::store(problem, c, 0, 5, problem.shape.n, 0);
       return c;
     }},
    {"PaddingWrittenBackAsAnotherNaN", updating,
     [](const Problem& problem, const Inputs& inputs) {
       Buffer c = compute(problem, inputs);
       test::store(problem, c, 0, 5, problem.shape.n, std::nan(""));
       return c;
     }},
};

class Faults : public testing::TestWithParam<std::tuple<Fault, Precision>> {};

TEST_P(Faults, AreCaughtInEveryBaseRegime) {
  auto [fault, precision] = GetParam();
  fault.problem.precision = precision;
  for (const Regime regime : base_regimes()) {
    const Inputs inputs(fault.problem, regime, 1, Space::host);
    const Expected expected(fault.problem, inputs);
    ASSERT_TRUE(expected.compare(compute(fault.problem, inputs)).passed()) << "the sound kernel";
    EXPECT_FALSE(expected.compare(fault.kernel(fault.problem, inputs)).passed()) << name(regime);
  }
}

INSTANTIATE_TEST_SUITE_P(Gate, Faults,
                         testing::Combine(testing::ValuesIn(faults),
                                          testing::ValuesIn(all_precisions)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::string(name(std::get<1>(info.param)));
                         });

TEST(Faults, PaddingIsCountedApartFromElements) {
  const Problem& problem = updating;
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  const Buffer c = compute(problem, inputs);
  for (std::int64_t row = 0; row < 4; ++row) test::store(problem, c, 0, row, 41, 1);
  const Findings findings = Expected(problem, inputs).compare(c);
  EXPECT_EQ(findings.wrong, 0);
  EXPECT_EQ(findings.padding_touched, 4);
}

// TF32 arithmetic in place of FP32: the products of an FP32 problem lose 13 bits.
TEST(Faults, Tf32InPlaceOfFp32IsCaught) {
  const Problem problem{.shape = {16, 16, 128}};
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  const Expected expected(problem, inputs);
  for (const Buffer* matrix : {&inputs.a, &inputs.b})
    for (std::size_t i = 0; i < matrix->bytes() / 4; ++i) {
      auto& stored = static_cast<std::uint32_t*>(matrix->data())[i];
      stored = rounded_bits<Tf32>(value_of<Fp32>(stored));
    }
  EXPECT_FALSE(expected.compare(compute(problem, inputs)).passed());
}

// An epilogue that truncates to 16 bits in place of rounding is off by less than one unit.
TEST(Faults, TruncatingEpilogueIsCaught) {
  const Problem problem{.shape = {16, 16, 128}, .precision = Precision::bf16};
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  const Buffer c = compute(problem, inputs, {.epilogue = [](float sum, float) {
                             return same_bits<float>(same_bits<std::uint32_t>(sum) & 0xffff0000u);
                           }});
  EXPECT_FALSE(Expected(problem, inputs).compare(c).passed());
}

TEST(SoundKernel, PassesTwoHundredSeedsInEveryPrecisionAndRegime) {
  for (const Precision precision : all_precisions) {
    const Problem problem{
        .shape = {16, 16, 129}, .precision = precision, .alpha = 0.7, .beta = 0.3};
    for (const Regime regime : all_regimes()) {
      for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const Inputs inputs(problem, regime, seed, Space::host);
        const Findings findings = Expected(problem, inputs).compare(compute(problem, inputs));
        ASSERT_TRUE(findings.passed()) << problem.id() << ' ' << name(regime) << " seed " << seed
                                       << ": " << findings.message();
        ASSERT_LE(findings.worst_share_of_bound, 1.0f);
      }
    }
  }
}

}  // namespace
}  // namespace gemm
