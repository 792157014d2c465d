// What dispatch picks, from tables and kernels made up here; and that the real table fits the
// registry.
#include <gmock/gmock.h>

#include <algorithm>

#include "kernels/dispatch/pick.hpp"

namespace gemm::dispatch {
namespace {

constexpr Device hopper{Space::gpu, 90};
constexpr int multiprocessors = 132;

Refusal accepts(const Problem&) { return std::nullopt; }
Refusal refuses_odd(const Problem& problem) {
  if (problem.lda() % 8 != 0) return "odd";
  return std::nullopt;
}

Kernel kernel(std::string_view name, Tile tile, Arch arch = Arch::sm90a) {
  return {.name = name,
          .stage = Stage::wgmma_persistent,
          .idea = "",
          .arch = arch,
          .refuses = accepts,
          .launch = nullptr,
          .tile = tile};
}

const std::vector<Kernel> two{kernel("large", {128, 256, 2}), kernel("small", {128, 128, 1})};
const Table rates{{{"large", Precision::bf16, 700}, {"small", Precision::bf16, 600}}, {}};

std::string_view picked(const std::vector<Kernel>& kernels, const char* problem, const Table& table,
                        Device device = hopper) {
  const Kernel* best = pick(kernels, parse_problem(problem), table, device, multiprocessors);
  return best ? best->name : "none";
}

TEST(Dispatch, ExpectsWholeWaves) {
  const Kernel large = kernel("large", {128, 256, 2});
  // 66 stacks of 256 x 256 at a time: 8 x 8 of them are one wave, 9 x 8 are two.
  const auto seconds = [&](const char* problem) {
    return expected(large, parse_problem(problem), 700, 132).seconds();
  };
  const double one = seconds("bf16/nn/2048x2048x4096");
  const double two_waves = seconds("bf16/nn/2304x2048x4096");
  EXPECT_DOUBLE_EQ(one, 2.0 * 128 * 256 * 4096 * 132 / 700e12);
  EXPECT_DOUBLE_EQ(two_waves, 2 * one);
}

TEST(Dispatch, ExpectsNothingFasterThanItsBytes) {
  const Problem decode = parse_problem("bf16/nn/1x4096x4096");
  EXPECT_DOUBLE_EQ(expected(kernel("small", {64, 128, 1}), decode, 1e6, 132).seconds(),
                   decode.bytes() / 4.3e12);
}

TEST(Dispatch, TakesTheFasterTileWhereWavesAreFullAndTheSmallerOneWhereTheyAreNot) {
  EXPECT_EQ(picked(two, "bf16/nn/8192x8192x8192", rates), "large");
  EXPECT_EQ(picked(two, "bf16/nn/512x4096x4096", rates), "small");
}

TEST(Dispatch, WhereBytesDecideTakesTheKernelThatLeavesThemTheMostTime) {
  const std::vector<Kernel> ladder{kernel("slow", {128, 256, 1}), kernel("large", {128, 256, 2})};
  const Table both{{{"slow", Precision::bf16, 250}, {"large", Precision::bf16, 700}}, {}};
  EXPECT_EQ(picked(ladder, "bf16/nn/8192x8192x32", both), "large");
}

TEST(Dispatch, Fp16TakesWhatBf16Would) {
  EXPECT_EQ(picked(two, "fp16/nn/512x4096x4096", rates), "small");
}

TEST(Dispatch, AMeasuredChoiceIsTakenWhateverTheModelSays) {
  Table table = rates;
  table.choices = {{Precision::bf16, Layout::nt, {8192, 8192, 8192}, "small"}};
  EXPECT_EQ(picked(two, "bf16/nt/8192x8192x8192", table), "small");
  EXPECT_EQ(picked(two, "fp16/nt/8192x8192x8192", table), "small");
  EXPECT_EQ(picked(two, "bf16/nn/8192x8192x8192", table), "large") << "another layout";
  EXPECT_EQ(picked(two, "bf16/nt/8192x8192x4096", table), "large") << "another shape";
  EXPECT_EQ(picked(two, "bf16/nt/8192x8192x8192/batch=2", table), "large") << "a batch";
}

TEST(Dispatch, AChoiceThatRefusesIsPassedOver) {
  std::vector<Kernel> kernels = two;
  kernels[1].refuses = refuses_odd;
  Table table = rates;
  table.choices = {{Precision::bf16, Layout::nn, {512, 4096, 4096}, "small"}};
  EXPECT_EQ(picked(kernels, "bf16/nn/512x4096x4096/pad=1.0.0", table), "large");
}

TEST(Dispatch, PicksOnlyWhatHasATileRunsHereAndIsKnown) {
  EXPECT_EQ(picked({kernel("large", {})}, "bf16/nn/512x512x512", rates), "none");
  EXPECT_EQ(picked(two, "bf16/nn/512x512x512", rates, {Space::gpu, 80}), "none");
  EXPECT_EQ(picked(two, "tf32/nt/512x512x512", rates), "none") << "no rate for tf32";
  const std::vector<Kernel> older{kernel("small", {128, 128, 1}, Arch::sm80)};
  EXPECT_EQ(picked(older, "bf16/nn/512x512x512", rates, {Space::gpu, 80}), "small");
}

TEST(Dispatch, TheTableNamesKernelsThatHaveATile) {
  // A build without CUDA has none of them.
  const bool with_cuda = std::any_of(kernels().begin(), kernels().end(), [](const Kernel& kernel) {
    return kernel.stage == Stage::dispatch;
  });
  const auto check = [&](std::string_view name) {
    if (with_cuda) {
      EXPECT_GT(find_kernel(name).tile.m, 0) << name;
    }
  };
  for (const Rate& rate : tuned().rates) {
    EXPECT_GT(rate.tflops, 0) << rate.kernel;
    check(rate.kernel);
  }
  for (const Choice& choice : tuned().choices) check(choice.kernel);
  EXPECT_FALSE(tuned().rates.empty());
}

}  // namespace
}  // namespace gemm::dispatch
