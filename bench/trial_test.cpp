// That a wrong result never gets a time, whether it is wrong before the timing or after it.
#include "bench/trial.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace gemm {
namespace {

using testing::StartsWith;

constexpr Problem problem{.shape = {8, 9, 10}};

void sound(const Problem& subject, const Operands& operands) {
  find_kernel("cpu_naive").launch(subject, operands);
}

struct Outcome {
  nlohmann::json row;
  bool incorrect;
  std::string error() const { return row.value("error_message", ""); }
};

/// One point, measured as gemmwatch-bench does.
Outcome measure(void (*launch)(const Problem&, const Operands&)) {
  const Kernel kernel{.name = "in_test",
                      .stage = Stage::cpu_naive,
                      .idea = "",
                      .arch = Arch::host,
                      .refuses = [](const Problem&) { return Refusal(); },
                      .launch = launch};
  Machine machine;
  machine.cache_bytes = 1 << 16;
  const Options options;
  Trial trial(machine, options);
  const Point point{&kernel, problem};
  benchmark::RegisterBenchmark("point",
                               [&](benchmark::State& state) { trial.measure(state, point); })
      ->UseManualTime()
      ->Iterations(2 * planned_rounds(point));

  std::ostringstream output, errors;
  benchmark::JSONReporter reporter;
  reporter.SetOutputStream(&output);
  reporter.SetErrorStream(&errors);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::ClearRegisteredBenchmarks();
  return {nlohmann::json::parse(output.str()).at("benchmarks").at(0), trial.anything_incorrect()};
}

TEST(Trial, TimesASoundKernel) {
  const Outcome outcome = measure(sound);
  EXPECT_EQ(outcome.error(), "");
  EXPECT_FALSE(outcome.incorrect);
  EXPECT_GT(outcome.row.at("kernel_us"), 0);
}

TEST(Trial, AWrongResultHasNoTime) {
  const Outcome outcome = measure([](const Problem& subject, const Operands& operands) {
    sound(subject, operands);
    static_cast<float*>(operands.c)[7] += 1;
  });
  EXPECT_THAT(outcome.error(), StartsWith("incorrect: 1 of 72 elements wrong"));
  EXPECT_TRUE(outcome.incorrect);
  EXPECT_FALSE(outcome.row.contains("kernel_us"));
}

TEST(Trial, NeitherHasAResultThatTurnsWrongWhileItIsTimed) {
  const Outcome outcome = measure([](const Problem& subject, const Operands& operands) {
    static int launches = 0;
    sound(subject, operands);
    if (++launches > 3) static_cast<float*>(operands.c)[7] += 1;
  });
  EXPECT_THAT(outcome.error(), StartsWith("incorrect: after timing, on negated inputs: 1 of 72"));
  EXPECT_TRUE(outcome.incorrect);
  EXPECT_FALSE(outcome.row.contains("kernel_us"));
}

// The inputs after timing lie where those before it lay.
TEST(Trial, NeitherHasAResultThatIsRememberedByPointer) {
  const Outcome outcome = measure([](const Problem& subject, const Operands& operands) {
    static const void* first = nullptr;
    static std::vector<float> remembered;
    auto* c = static_cast<float*>(operands.c);
    if (!first || operands.a != first) sound(subject, operands);
    if (!first) {
      first = operands.a;
      remembered.assign(c, c + 72);
    }
    if (operands.a == first) std::copy(remembered.begin(), remembered.end(), c);
  });
  EXPECT_THAT(outcome.error(), StartsWith("incorrect: after timing, on negated inputs: 72 of 72"));
}

}  // namespace
}  // namespace gemm
