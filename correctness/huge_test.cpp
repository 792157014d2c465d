// The checks of results that are too large for an FP64 product, on results that are not.
#include "correctness/huge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "correctness/freivalds.hpp"
#include "correctness/test_kernel.hpp"

namespace gemm {
namespace {

using test::compute;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<Problem> freivalds_problems() {
  std::vector<Problem> problems;
  for (const Precision precision : test::all_precisions)
    for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt})
      for (const double beta : {0.0, -1.0})
        problems.push_back({.shape = {33, 21, 200},
                            .precision = precision,
                            .layout = layout,
                            .batch = 2,
                            .alpha = -1,
                            .beta = beta,
                            .pad = {1, 2, 3}});
  return problems;
}

TEST(Freivalds, PassesASoundResult) {
  for (const Problem& problem : freivalds_problems()) {
    const Inputs inputs(problem, Regime::sparse_integer, 3, Space::host);
    const Freivalds check(problem, inputs, 1);
    EXPECT_FALSE(check.first_wrong_row(compute(problem, inputs).data())) << problem.id();
  }
}

TEST(Freivalds, NamesTheFirstWrongRow) {
  for (const Problem& problem : freivalds_problems()) {
    const Inputs inputs(problem, Regime::sparse_integer, 3, Space::host);
    const Freivalds check(problem, inputs, 1);
    // No result passes 256.
    for (const double wrong : {300.0, std::nan("")}) {
      const Buffer c = compute(problem, inputs);
      test::store(problem, c, 1, 32, 20, wrong);
      test::store(problem, c, 1, 17, 4, wrong);
      const auto found = check.first_wrong_row(c.data());
      ASSERT_TRUE(found) << problem.id();
      EXPECT_EQ(found->batch, 1);
      EXPECT_EQ(found->row, 17);
    }
  }
}

TEST(Freivalds, SeesTwoElementsOfARowChangePlaces) {
  const Problem problem{.shape = {8, 8, 100}};
  const Inputs inputs(problem, Regime::sparse_integer, 3, Space::host);
  const Buffer c = compute(problem, inputs);
  auto* values = static_cast<float*>(c.data());
  ASSERT_NE(values[3 * 8 + 1], values[3 * 8 + 6]);
  std::swap(values[3 * 8 + 1], values[3 * 8 + 6]);
  const auto found = Freivalds(problem, inputs, 1).first_wrong_row(c.data());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->row, 3);
}

Kernel kernel(void (*launch)(const Problem&, const Operands&)) {
  return {.name = "in_test",
          .stage = Stage::cpu_naive,
          .idea = "",
          .arch = Arch::host,
          .refuses = [](const Problem&) { return Refusal(); },
          .launch = launch};
}

void sound(const Problem& problem, const Operands& operands) {
  find_kernel("cpu_tiled").launch(problem, operands);
}

std::vector<std::string> failures(void (*launch)(const Problem&, const Operands&), Regime regime) {
  const Problem tall{.shape = {4000, 7, 50}, .layout = Layout::nt, .pad = {0, 0, 2}};
  std::vector<std::string> lines;
  for (const auto& [check, message] : examine_by_sample(kernel(launch), tall, regime, 1).failures)
    lines.push_back(std::string(check) + ": " + message);
  return lines;
}

TEST(ExamineBySample, FindsNothingInASoundKernel) {
  EXPECT_THAT(failures(sound, Regime::sparse_integer), IsEmpty());
  EXPECT_THAT(failures(sound, Regime::symmetric), IsEmpty());
}

TEST(ExamineBySample, SeesAnyWrongRowOfIntegersAndTheLastRowOfAnyInputs) {
  const auto wrong_inside = [](const Problem& problem, const Operands& operands) {
    sound(problem, operands);
    static_cast<float*>(operands.c)[1234 * problem.ldc() + 3] += 1;
  };
  EXPECT_THAT(failures(wrong_inside, Regime::sparse_integer),
              ElementsAre("result: Freivalds' check fails first in batch 0, row 1234"));
  const auto wrong_at_the_end = [](const Problem& problem, const Operands& operands) {
    sound(problem, operands);
    static_cast<float*>(operands.c)[3999 * problem.ldc() + 6] += 1;
  };
  EXPECT_THAT(failures(wrong_at_the_end, Regime::symmetric),
              ElementsAre(StartsWith("result: sampled rows: 1 of 112 elements wrong; first at "
                                     "batch 0, row 3999, column 6")));
}

TEST(ExamineBySample, SeesWhatElseChanged) {
  EXPECT_THAT(failures(
                  [](const Problem& problem, const Operands& operands) {
                    sound(problem, operands);
                    static_cast<float*>(operands.c)[1234 * problem.ldc() + 7] = 0;
                  },
                  Regime::symmetric),
              ElementsAre(StartsWith("padding: 1 elements")));
  EXPECT_THAT(failures(
                  [](const Problem& problem, const Operands& operands) {
                    sound(problem, operands);
                    static_cast<float*>(operands.c)[4000 * problem.ldc()] = 0;
                  },
                  Regime::symmetric),
              ElementsAre("memory: bytes behind C changed"));
  EXPECT_THAT(failures(
                  [](const Problem& problem, const Operands& operands) {
                    sound(problem, operands);
                    static_cast<float*>(const_cast<void*>(operands.b))[9] = 0;
                  },
                  Regime::symmetric),
              Contains("inputs: B changed"));
}

TEST(HugeProblems, PassEveryLimit) {
  const auto any = [](auto property) {
    const std::vector<Problem> all = huge_problems();
    return std::any_of(all.begin(), all.end(), property);
  };
  constexpr std::int64_t limit = std::int64_t{1} << 31, tiles = 65535, largest_tile = 256;
  EXPECT_TRUE(any([](const Problem& p) { return p.a_stride() > limit; }));
  EXPECT_TRUE(any([](const Problem& p) { return p.b_stride() > limit; }));
  EXPECT_TRUE(any([](const Problem& p) { return p.c_stride() > limit; }));
  EXPECT_TRUE(any([](const Problem& p) { return p.shape.m > tiles * largest_tile; }));
  EXPECT_TRUE(any([](const Problem& p) { return p.shape.n > tiles * largest_tile; }));
  EXPECT_TRUE(any([](const Problem& p) { return p.batch > tiles; }));
  EXPECT_TRUE(any(needs_sample));
}

TEST(HugeProblems, AreRefusedOnAHostWithAReason) {
  const Kernel& naive = find_kernel("cpu_naive");
  for (const Problem& problem : huge_problems())
    EXPECT_THAT(refuses_huge(naive, problem, {}).value_or(""), testing::HasSubstr("for a GPU"));
}

}  // namespace
}  // namespace gemm
