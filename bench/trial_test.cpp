// A trial on the host, with kernels that are right, wrong, or fail to launch.
#include "bench/trial.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/protocol.hpp"

namespace gemm {
namespace {

using testing::StartsWith;

void forget_everything(const Problem&, const Operands&) {}
void give_up(const Problem&, const Operands&) { throw std::runtime_error("no such instruction"); }
Refusal accepts(const Problem&) { return std::nullopt; }

Kernel kernel_that(void (*launch)(const Problem&, const Operands&), std::string_view name) {
  return {.name = name,
          .stage = Stage::cpu_tiled,
          .idea = "",
          .arch = Arch::host,
          .refuses = accepts,
          .launch = launch};
}
const Kernel silent = kernel_that(forget_everything, "silent");
const Kernel failing = kernel_that(give_up, "failing");

TEST(Rests, OnlyAGpuBeforeLargeProblemsOfATrial) {
  const Problem large = parse_problem("bf16/nn/4096x2112x7168");
  EXPECT_TRUE(rests(Load::trial, Space::gpu, large));
  EXPECT_FALSE(rests(Load::trial, Space::host, large));
  EXPECT_FALSE(rests(Load::sustained, Space::gpu, large));
  EXPECT_FALSE(rests(Load::trial, Space::gpu, parse_problem("bf16/nn/512x4096x4096")));
}

class HostTrial : public testing::Test {
 protected:
  /// The row of Google Benchmark's JSON for one point. (The reporter's own types changed between
  /// the library's releases, its JSON did not.)
  nlohmann::json measure(const Point& point) {
    benchmark::ClearRegisteredBenchmarks();
    benchmark::RegisterBenchmark(point.id().c_str(),
                                 [&](benchmark::State& state) { trial().measure(state, point); })
        ->UseManualTime()
        ->Iterations(2 * planned_rounds(point, options.load));
    std::ostringstream text;
    benchmark::JSONReporter reporter;
    reporter.SetOutputStream(&text);
    reporter.SetErrorStream(&text);
    benchmark::RunSpecifiedBenchmarks(&reporter);
    return nlohmann::json::parse(text.str()).at("benchmarks").at(0);
  }
  Trial& trial() {
    if (!trial_) trial_ = std::make_unique<Trial>(machine, options);
    return *trial_;
  }

  const Problem problem = parse_problem("fp32/nn/16x16x16");
  Machine machine = describe_machine(false);
  Options options;

 private:
  std::unique_ptr<Trial> trial_;
};

TEST_F(HostTrial, ASoundKernelHasATimeAndItsRounds) {
  const auto row = measure({&find_kernel("cpu_naive"), problem});
  EXPECT_FALSE(row.contains("error_message")) << row;
  EXPECT_GT(row.at("real_time"), 0);
  for (const char* counter : {"kernel_us", "control_us", "log_ratio", "tflops"})
    EXPECT_TRUE(row.contains(counter)) << counter;
  for (int round = 0; round < protocol::rounds; ++round)
    EXPECT_TRUE(row.contains("round" + std::to_string(round) + "_kernel_us")) << round;
  EXPECT_LE(row.at("bound_share"), 1.0);
  EXPECT_GT(row.at("relative_error"), 0);
  EXPECT_LT(row.at("relative_error"), 1e-5);
  EXPECT_FALSE(trial().anything_incorrect());
}

TEST_F(HostTrial, UnderSustainedLoadBlocksAreLongAndRoundsMany) {
  const double usual = measure({&find_kernel("cpu_naive"), problem}).at("launches");
  options.load = Load::sustained;
  const auto row = measure({&find_kernel("cpu_naive"), problem});
  EXPECT_FALSE(row.contains("error_message")) << row;
  EXPECT_TRUE(
      row.contains("round" + std::to_string(protocol::sustained_rounds - 1) + "_kernel_us"));
  EXPECT_GT(row.at("launches"), 3 * usual);
}

TEST_F(HostTrial, EqualResultsHaveEqualDigests) {
  const auto naive = measure({&find_kernel("cpu_naive"), problem}).at("digest");
  const auto again = measure({&find_kernel("cpu_naive"), problem}).at("digest");
  const auto other = measure({&find_kernel("cpu_naive"), parse_problem("fp32/nn/16x16x24")});
  EXPECT_EQ(naive, again);
  EXPECT_NE(naive, other.at("digest"));
}

TEST_F(HostTrial, AWrongKernelHasNoTime) {
  const auto row = measure({&silent, problem});
  EXPECT_THAT(row.at("error_message"), StartsWith("incorrect: "));
  EXPECT_FALSE(row.contains("kernel_us"));
  EXPECT_FALSE(row.contains("tflops"));
  EXPECT_TRUE(trial().anything_incorrect());
}

TEST_F(HostTrial, AFailedLaunchIsToldInItsOwnWordsAndTheTrialGoesOn) {
  const auto failed = measure({&failing, problem});
  EXPECT_THAT(failed.at("error_message"), StartsWith("failed: no such instruction"));
  EXPECT_FALSE(trial().anything_incorrect());
  EXPECT_TRUE(measure({&find_kernel("cpu_naive"), problem}).contains("kernel_us"));
}

TEST_F(HostTrial, TheJournalNamesAPointBeforeItRuns) {
  const std::string journal = testing::TempDir() + "journal.txt";
  std::filesystem::remove(journal);
  options.journal_file = journal;
  measure({&failing, problem});
  std::ostringstream text;
  text << std::ifstream(journal).rdbuf();
  EXPECT_EQ(text.str(), "begin failing/fp32/nn/16x16x16\n");
  std::filesystem::remove(journal);
}

TEST(PlannedRounds, AreFewerForWhatMayTakeLong) {
  const Kernel& naive = find_kernel("cpu_naive");
  const auto rounds = [&](const char* problem, Load load) {
    return planned_rounds({&naive, parse_problem(problem)}, load);
  };
  EXPECT_EQ(rounds("fp32/nn/16x16x16", Load::trial), protocol::rounds);
  EXPECT_EQ(rounds("fp32/nn/1024x1024x1024", Load::trial), protocol::slow_rounds);
  EXPECT_EQ(rounds("fp32/nn/16x16x16", Load::sustained), protocol::sustained_rounds);
  EXPECT_EQ(rounds("fp32/nn/16x16x16", Load::burst), protocol::burst_rounds);
}

}  // namespace
}  // namespace gemm
