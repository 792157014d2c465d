#include "correctness/check_problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace gemm {
namespace {

using Property = std::function<std::string(const Problem&)>;

const Property layout = [](const Problem& p) { return std::string(name(p.layout)); };
const Property scalars = [](const Problem& p) {
  return std::to_string(p.alpha) + "," + std::to_string(p.beta);
};
const Property padding = [](const Problem& p) { return p.pad.c == 0 ? "packed" : "padded"; };
const Property batched = [](const Problem& p) { return p.batch > 1 ? "batched" : "single"; };
const Property m = [](const Problem& p) { return std::to_string(p.shape.m); };
const Property n = [](const Problem& p) { return std::to_string(p.shape.n); };
const Property k = [](const Problem& p) { return std::to_string(p.shape.k); };

std::set<std::string> values(const std::vector<Problem>& problems, const Property& property) {
  std::set<std::string> found;
  for (const Problem& problem : problems) found.insert(property(problem));
  return found;
}

std::size_t pairs(const std::vector<Problem>& problems, const Property& x, const Property& y) {
  std::set<std::pair<std::string, std::string>> found;
  for (const Problem& problem : problems) found.insert({x(problem), y(problem)});
  return found.size();
}

class CheckProblems : public testing::TestWithParam<std::tuple<Space, Precision>> {
 protected:
  std::vector<Problem> problems() const {
    std::vector<Problem> all = check_problems(std::get<0>(GetParam()));
    std::erase_if(all, [](const Problem& p) { return p.precision != std::get<1>(GetParam()); });
    return all;
  }
};

TEST_P(CheckProblems, CoverEveryPairOfProperties) {
  const std::vector<Problem> all = problems();
  const auto expect_all_pairs = [&](const Property& x, const Property& y) {
    EXPECT_EQ(pairs(all, x, y), values(all, x).size() * values(all, y).size());
  };
  for (const Property* property : {&layout, &scalars, &padding})
    for (const Property* size : {&m, &n, &k}) expect_all_pairs(*property, *size);
  expect_all_pairs(layout, scalars);
  expect_all_pairs(layout, padding);
  expect_all_pairs(layout, batched);
  expect_all_pairs(scalars, padding);
  expect_all_pairs(scalars, batched);
  expect_all_pairs(padding, batched);
}

TEST_P(CheckProblems, HaveTheValuesThatBreakKernels) {
  const std::vector<Problem> all = problems();
  EXPECT_EQ(values(all, layout).size(), 4u);
  for (const char* edge :
       {"0", "1", "15", "16", "17", "31", "33", "63", "64", "65", "127", "129"}) {
    EXPECT_TRUE(values(all, m).contains(edge) || values(all, n).contains(edge)) << edge;
  }
  for (const char* depth : {"0", "1", "2"}) EXPECT_TRUE(values(all, k).contains(depth)) << depth;
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](auto& p) { return p.shape.k > 1000; }));
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](auto& p) { return p.batch == 3; }));
  for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, {1.0, 1.0}, {2.0, -0.5}, {0.0, 1.0}})
    EXPECT_TRUE(values(all, scalars).contains(std::to_string(alpha) + "," + std::to_string(beta)));
}

TEST_P(CheckProblems, HaveAlignedRowsInEveryLayout) {
  std::vector<Problem> aligned = problems();
  std::erase_if(aligned, [](const Problem& p) {
    return p.lda() % 8 != 0 || p.ldb() % 8 != 0 || p.ldc() % 8 != 0 || p.flops() == 0;
  });
  EXPECT_EQ(values(aligned, layout).size(), 4u);
  EXPECT_GE(values(aligned, n).size(), 8u);
  EXPECT_GE(values(aligned, k).size(), 8u);
}

TEST_P(CheckProblems, AreDistinctAndReadable) {
  std::set<std::string> ids;
  for (const Problem& problem : problems()) {
    EXPECT_TRUE(ids.insert(problem.id()).second) << problem.id();
    EXPECT_EQ(parse_problem(problem.id()).id(), problem.id());
  }
}

TEST_P(CheckProblems, MeetEveryRegime) {
  const std::vector<Problem> all = check_problems(std::get<0>(GetParam()));
  std::map<Regime, std::vector<Problem>> met;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].precision == std::get<1>(GetParam()) && all[i].flops() > 0)
      for (const Regime regime : check_regimes(i)) met[regime].push_back(all[i]);
  for (const Regime regime : all_regimes())
    for (const Property* property : {&layout, &scalars, &padding, &batched})
      EXPECT_EQ(values(met[regime], *property).size(), values(all, *property).size())
          << name(regime);
}

TEST(WaveProblems, GiveEveryBlockThatStaysAThirdTile) {
  constexpr std::int64_t blocks = 132, largest_tile = 128 * 256;
  for (const Problem& problem : wave_problems()) {
    const std::int64_t outputs = problem.shape.m * problem.shape.n * problem.batch;
    EXPECT_GT(outputs, 3 * blocks * largest_tile) << problem.id();
  }
}

TEST(EmulationProblems, AreSmallAndMeetEveryLayoutAndPrecision) {
  std::set<std::pair<Precision, Layout>> met, met_with_aligned_rows;
  for (const Problem& problem : emulation_problems()) {
    const auto& [m, n, k] = problem.shape;
    EXPECT_LE(problem.batch * m * n * (k + 1), 5 << 20) << problem.id();
    met.emplace(problem.precision, problem.layout);
    if (problem.lda() % 8 == 0 && problem.ldb() % 8 == 0 && k > 0)
      met_with_aligned_rows.emplace(problem.precision, problem.layout);
  }
  EXPECT_EQ(met.size(), 16u);
  EXPECT_EQ(met_with_aligned_rows.size(), 16u);
}

INSTANTIATE_TEST_SUITE_P(Lists, CheckProblems,
                         testing::Combine(testing::Values(Space::host, Space::gpu),
                                          testing::Values(Precision::fp32, Precision::tf32,
                                                          Precision::fp16, Precision::bf16)));

}  // namespace
}  // namespace gemm
