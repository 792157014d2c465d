#include "bench/choices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace gemm {
namespace {

const Problem problem = parse_problem("fp32/nn/8x8x8");
Kernel tuned(int (*variants)(const Problem&)) {
  Kernel kernel{.name = "tuned",
                .stage = Stage::vendor,
                .idea = "offers variants",
                .arch = Arch::host,
                .refuses = nullptr,
                .launch = nullptr};
  kernel.variants = variants;
  return kernel;
}
const Kernel of_three = tuned([](const Problem&) { return 3; });

class ChoicesFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path); }
  std::string path = testing::TempDir() + "choices_" +
                     testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
};

TEST_F(ChoicesFile, IsTunedOnceAndRemembered) {
  int tunings = 0;
  const auto tune = [&](int count) {
    ++tunings;
    return count - 1;
  };
  {
    Choices choices(path);
    EXPECT_EQ(choices.variant(of_three, problem, tune), 2);
    EXPECT_EQ(choices.variant(of_three, problem, tune), 2);
  }
  Choices later_trial(path);
  EXPECT_EQ(later_trial.variant(of_three, problem, tune), 2);
  EXPECT_EQ(tunings, 1);
}

TEST_F(ChoicesFile, KernelWithoutVariantsIsNotTuned) {
  Choices choices("");
  const auto never = [](int) -> int { throw std::logic_error("tuned"); };
  EXPECT_EQ(choices.variant(tuned(nullptr), problem, never), 0);
  EXPECT_EQ(choices.variant(tuned([](const Problem&) { return 1; }), problem, never), 0);
}

TEST_F(ChoicesFile, NothingOnOfferIsAnError) {
  Choices choices("");
  EXPECT_THROW(
      choices.variant(tuned([](const Problem&) { return 0; }), problem, [](int) { return 0; }),
      std::runtime_error);
}

TEST_F(ChoicesFile, DamagedFileIsNamed) {
  std::ofstream(path) << "{\"tuned/fp32";
  EXPECT_THAT([&] { Choices choices(path); },
              testing::ThrowsMessage<std::invalid_argument>(testing::HasSubstr(path)));
}

}  // namespace
}  // namespace gemm
