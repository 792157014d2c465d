// That the smallest failing problem is found, and that the random ones reach what breaks kernels.
#include "correctness/fuzz.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "correctness/examine.hpp"

namespace gemm {
namespace {

Subject large() {
  return {.problem = {.shape = {200, 131, 77},
                      .precision = Precision::bf16,
                      .layout = Layout::tt,
                      .batch = 3,
                      .alpha = -1.3,
                      .beta = 0.5,
                      .pad = {4, 5, 6}},
          .regime = Regime::wide_integer,
          .seed = 99};
}

/// Spoils one element of each C that has more than 16 columns, if its sums have more than 32 terms.
void spoiled(const Problem& problem, const Operands& operands) {
  find_kernel("cpu_naive").launch(problem, operands);
  if (problem.shape.n <= 16 || problem.shape.k <= 32 || problem.shape.m == 0) return;
  for (std::int64_t i = 0; i < problem.batch; ++i) {
    auto* c =
        static_cast<char*>(operands.c) +
        static_cast<std::size_t>(i * problem.c_stride() + 16) * element_bytes(problem.precision);
    c[element_bytes(problem.precision) - 1] ^= 0x40;  // of the exponent
  }
}

bool spoiled_fails(const Subject& subject) {
  const Kernel kernel{.name = "in_test",
                      .stage = Stage::cpu_naive,
                      .idea = "",
                      .arch = Arch::host,
                      .refuses = [](const Problem&) { return Refusal(); },
                      .launch = spoiled};
  return !examine(kernel, subject.problem, subject.regime, subject.seed).passed();
}

TEST(Shrink, FindsTheSmallestProblemThatAWrongKernelFails) {
  ASSERT_TRUE(spoiled_fails(large()));
  const Subject smallest = shrink(large(), spoiled_fails);
  EXPECT_EQ(smallest.problem.id(), "fp32/nn/1x17x33");
  EXPECT_EQ(smallest.regime, Regime::symmetric);
  EXPECT_EQ(smallest.seed, 1u);
}

TEST(Shrink, KeepsWhatTheFailureNeeds) {
  const auto smallest = [](const std::function<bool(const Subject&)>& fails) {
    return shrink(large(), fails);
  };
  EXPECT_EQ(smallest([](const Subject& s) { return s.problem.pad.b > 0; }).problem.id(),
            "fp32/nn/1x1x1/pad=0.5.0");
  EXPECT_EQ(smallest([](const Subject& s) { return s.problem.beta != 0; }).problem.id(),
            "fp32/nn/1x1x1/beta=0.5");
  EXPECT_EQ(smallest([](const Subject& s) {
              return s.problem.batch * s.problem.shape.m > 200;
            }).problem.id(),
            "fp32/nn/101x1x1/batch=2");
  EXPECT_EQ(smallest([](const Subject& s) { return s.regime == Regime::wide_integer; }).regime,
            Regime::wide_integer);
  EXPECT_EQ(smallest([](const Subject& s) { return s.problem.layout == Layout::tt; }).problem.id(),
            "fp32/tt/1x1x1");
}

TEST(RandomSubject, IsFixedByItsSeedAndNumber) {
  EXPECT_EQ(random_subject(1, 5, Space::host).problem.id(),
            random_subject(1, 5, Space::host).problem.id());
  std::set<std::string> ids;
  for (std::uint64_t i = 0; i < 200; ++i) {
    ids.insert(random_subject(1, i, Space::host).problem.id());
    ids.insert(random_subject(2, i, Space::host).problem.id());
  }
  EXPECT_GT(ids.size(), 390u);
}

TEST(RandomSubject, ReachesEveryKindOfProblem) {
  std::set<Regime> regimes;
  std::set<Precision> precisions;
  std::set<Layout> layouts;
  std::set<std::int64_t> sizes;
  int aligned = 0, padded = 0, batched = 0;
  constexpr int draws = 2000;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const auto [problem, regime, seed] = random_subject(1, i, Space::host);
    regimes.insert(regime);
    precisions.insert(problem.precision);
    layouts.insert(problem.layout);
    sizes.insert(problem.shape.n);
    aligned += problem.lda() % 8 == 0 && problem.ldb() % 8 == 0 && problem.ldc() % 8 == 0;
    padded += problem.pad.c > 0;
    batched += problem.batch > 1;
  }
  EXPECT_EQ(regimes.size(), all_regimes().size());
  EXPECT_EQ(precisions.size(), 4u);
  EXPECT_EQ(layouts.size(), 4u);
  for (const std::int64_t edge : {0, 1, 2, 7, 8, 9, 15, 17, 31, 33, 63, 64, 65, 95, 97})
    EXPECT_TRUE(sizes.contains(edge)) << edge;
  for (const int count : {aligned, padded, batched}) {
    EXPECT_GT(count, draws / 4);
    EXPECT_LT(count, draws * 3 / 4);
  }
}

}  // namespace
}  // namespace gemm
