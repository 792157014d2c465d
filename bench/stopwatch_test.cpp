#include "bench/stopwatch.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gemm {
namespace {

const Problem problem = parse_problem("fp32/nn/4x4x4");

// A kernel that notes where it was asked to write.
std::vector<const void*> written;
std::vector<int> variants_seen;
void note(const Problem&, const Operands& operands) {
  written.push_back(operands.c);
  variants_seen.push_back(operands.variant);
}
const Kernel noting{.name = "noting",
                    .stage = Stage::cpu_naive,
                    .idea = "",
                    .arch = Arch::host,
                    .refuses = nullptr,
                    .launch = note};

class HostStopwatch : public testing::Test {
 protected:
  void SetUp() override {
    written.clear();
    variants_seen.clear();
  }
  Inputs inputs{problem, Regime::symmetric, 1, Space::host};
  Rotation rotation{inputs, 0};  // two sets
  std::unique_ptr<Stopwatch> stopwatch = make_host_stopwatch(problem, rotation);
};

TEST_F(HostStopwatch, LaunchesAsOftenAsAskedAndRotates) {
  const auto block = stopwatch->prepare({.kernel = &noting, .variant = 3, .launches = 5});
  const std::vector<double> seconds = stopwatch->time({block.get(), block.get()}, [] {});
  EXPECT_EQ(seconds.size(), 2u);
  ASSERT_EQ(written.size(), 10u);
  for (std::size_t i = 1; i < written.size(); ++i)
    EXPECT_NE(written[i], written[i - 1]) << "launch " << i << " writes where the last one did";
  for (const int variant : variants_seen) EXPECT_EQ(variant, 3);
}

TEST_F(HostStopwatch, AnInjectedDelayIsInTheTime) {
  const double delay_s = 0.02;  // far above anything that five empty launches take
  const auto block = stopwatch->prepare({.kernel = &noting, .launches = 5, .delay_s = delay_s});
  EXPECT_GE(stopwatch->time({block.get()}, [] {}).front(), delay_s);
}

TEST_F(HostStopwatch, TelemetryIsAskedOutsideTheTimedRegion) {
  const auto block = stopwatch->prepare({.kernel = &noting, .launches = 1});
  std::size_t launches_before_call = 0;
  stopwatch->time({block.get()}, [&] { launches_before_call = written.size(); });
  EXPECT_EQ(launches_before_call, 1u);
}

}  // namespace
}  // namespace gemm
