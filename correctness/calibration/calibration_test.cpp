// Holds the table of tolerances to the records of what sound kernels do.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "correctness/expected.hpp"
#include "kernels/gemm.hpp"

namespace gemm {
namespace {

using Json = nlohmann::json;

// As README.md promises.
constexpr double least_margin = 1.5, largest_margin = 12;

const std::filesystem::path folder = GEMMWATCH_CALIBRATION_RECORDS;

Json read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

std::vector<Json> records() {
  std::vector<Json> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json" && entry.path().filename() != "bounds.json")
      all.push_back(read(entry.path()));
  return all;
}

double f(const Json& series, std::int64_t k) {
  const Problem problem = parse_problem(series["precision"].get<std::string>() + "/nn/1x1x1");
  const Regime regime = parse_regime(series["regime"].get<std::string>());
  return bound_coefficient(problem.precision, regime, k) / 0x1p-24;
}

/// Calls visit(series, k, error) for every measured point of every record.
template <class Visit>
void for_each_point(Visit visit) {
  for (const Json& record : records())
    for (const Json& series : record["errors"])
      for (std::size_t i = 0; i < series["k"].size(); ++i)
        visit(series, series["k"][i].get<std::int64_t>(), series["error"][i].get<double>());
}

TEST(Calibration, TheBoundExceedsEveryErrorByTheMargin) {
  int points = 0;
  for_each_point([&](const Json& series, std::int64_t k, double error) {
    ++points;
    EXPECT_GE(f(series, k), least_margin * error)
        << series["kernel"] << ' ' << series["precision"] << ' ' << series["regime"] << " k=" << k;
  });
  EXPECT_GT(points, 500);
}

// 16-bit results hide most of an error; they share their row of the table with others that do not.
TEST(Calibration, TheBoundIsWithinReachOfSomeErrorInEveryRow) {
  std::map<std::pair<std::string, double>, double> largest_share;
  for_each_point([&](const Json& series, std::int64_t k, double error) {
    double& share = largest_share[{series["regime"].get<std::string>(), f(series, 65536)}];
    share = std::max(share, error / f(series, k));
  });
  for (const auto& [row, share] : largest_share)
    EXPECT_GE(share * largest_margin, 1) << row.first << " inputs, f(65536) = " << row.second;
}

TEST(Calibration, NoSoundKernelRaisedAnAlarm) {
  for (const Json& record : records()) {
    const auto& seeds = record["alarms"]["seeds"];
    EXPECT_GE(seeds[1].get<int>() - seeds[0].get<int>() + 1, 2000);
    for (const Json& row : record["alarms"]["kernels"]) {
      EXPECT_EQ(row["alarms"], Json::array()) << row["kernel"];
      EXPECT_GT(row["examined"].get<int>(), 0) << row["kernel"];
    }
  }
}

// The figures show the bound from this file.
TEST(Calibration, TheFiguresShowTheBoundAsItIs) {
  for (const Json& series : read(folder / "bounds.json"))
    for (std::size_t i = 0; i < series["k"].size(); ++i)
      EXPECT_DOUBLE_EQ(series["f"][i].get<double>(), f(series, series["k"][i].get<std::int64_t>()))
          << "scripts/calibrate draws anew";
}

}  // namespace
}  // namespace gemm
