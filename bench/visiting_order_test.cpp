#include "bench/visiting_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gemm {
namespace {

std::vector<std::string> order(std::vector<Point> points, std::uint64_t seed) {
  put_in_visiting_order(points, seed);
  std::vector<std::string> ids;
  for (const Point& point : points) ids.push_back(point.id());
  return ids;
}

std::vector<Point> some_points() { return select(Selection::smoke, Device{}).points; }

TEST(VisitingOrder, HoldsEveryPointOnceWhateverTheSeed) {
  const std::vector<Point> points = some_points();
  const auto one = order(points, 1), other = order(points, 2);
  EXPECT_NE(one, other);
  EXPECT_THAT(one, testing::UnorderedElementsAreArray(other));
  EXPECT_EQ(one.size(), points.size());
  EXPECT_EQ(one, order(points, 1));
}

TEST(VisitingOrder, KeepsThePointsOfAProblemTogether) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    std::set<std::string> left;
    std::string problem;
    for (const std::string& id : order(some_points(), seed)) {
      const std::string its = id.substr(id.find('/') + 1);
      if (its == problem) continue;
      EXPECT_TRUE(left.insert(its).second) << its << " is visited again, seed " << seed;
      problem = its;
    }
  }
}

TEST(VisitingOrder, OfSomePointsDoesNotDependOnTheOthers) {
  const std::vector<Point> all = some_points();
  std::vector<Point> without = all;
  std::erase_if(without, [](const Point& point) { return point.kernel->name == "cpu_tiled"; });
  std::vector<std::string> expected = order(all, 7);
  std::erase_if(expected, [](const std::string& id) { return id.starts_with("cpu_tiled/"); });
  EXPECT_EQ(order(without, 7), expected);
}

TEST(VisitingOrder, PutsEachKernelFirstNowAndThen) {
  std::set<std::string> first;
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    const std::string id = order(some_points(), seed).front();
    first.insert(id.substr(0, id.find('/')));
  }
  EXPECT_GE(first.size(), 4u);
}

}  // namespace
}  // namespace gemm
