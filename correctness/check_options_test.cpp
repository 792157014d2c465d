#include "correctness/check_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <stdexcept>
#include <vector>

namespace gemm {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

CheckOptions parse(std::initializer_list<const char*> flags) {
  std::vector<const char*> argv{"gemmwatch-check"};
  argv.insert(argv.end(), flags);
  return parse_check_options(static_cast<int>(argv.size()), argv.data());
}

TEST(CheckOptions, Defaults) {
  const CheckOptions options = parse({});
  EXPECT_TRUE(options.want_gpu);
  EXPECT_FALSE(options.need_gpu);
  EXPECT_EQ(options.seed, 1u);
  EXPECT_EQ(options.kernel, nullptr);
  EXPECT_FALSE(options.problem || options.selection || options.help);
  EXPECT_FALSE(options.regime || options.huge || options.under_sanitizer);
  EXPECT_EQ(options.launches, 2);
  EXPECT_EQ(options.fuzz, 0);
  EXPECT_EQ(options.mask_dir, "");
}

TEST(CheckOptions, ReadsEveryFlag) {
  const CheckOptions options =
      parse({"--kernel=cpu_naive", "--problem=bf16/nt/8x9x10/beta=neg2", "--seed=77", "--help"});
  EXPECT_EQ(options.kernel, &find_kernel("cpu_naive"));
  EXPECT_EQ(options.problem->id(), "bf16/nt/8x9x10/beta=neg2");
  EXPECT_EQ(options.seed, 77u);
  EXPECT_TRUE(options.help);
  EXPECT_EQ(parse({"--selection=pr"}).selection, Selection::pr);
  EXPECT_FALSE(parse({"--device=host"}).want_gpu);
  EXPECT_TRUE(parse({"--device=gpu"}).need_gpu);
  EXPECT_EQ(parse({"--regime=near_overflow"}).regime, Regime::near_overflow);
  EXPECT_EQ(parse({"--launches=50"}).launches, 50);
  EXPECT_EQ(parse({"--fuzz=1000"}).fuzz, 1000);
  EXPECT_EQ(parse({"--mask-dir=masks"}).mask_dir, "masks");
  EXPECT_TRUE(parse({"--huge"}).huge);
  EXPECT_TRUE(parse({"--under-sanitizer"}).under_sanitizer);
  EXPECT_TRUE(parse({"--under-emulation"}).under_emulation);
}

TEST(CheckOptions, AHostKernelIsCheckedOnTheHost) {
  EXPECT_FALSE(parse({"--kernel=cpu_naive"}).want_gpu);
}

TEST(CheckOptions, NamesTheFlagThatItCannotRead) {
  const auto expect = [](std::initializer_list<const char*> flags, const char* part) {
    EXPECT_THAT([&] { parse(flags); }, ThrowsMessage<std::invalid_argument>(HasSubstr(part)));
  };
  expect({"--nonsense"}, "--nonsense");
  expect({"--kernel"}, "--kernel");
  expect({"cpu_naive"}, "cpu_naive");
  expect({"--kernel=warp_drive"}, "warp_drive");
  expect({"--problem=bf16/nt"}, "bf16/nt");
  expect({"--selection=some"}, "some");
  expect({"--device=tpu"}, "--device=tpu");
  expect({"--seed=1e3"}, "--seed=1e3");
  expect({"--seed="}, "--seed=");
  expect({"--problem=fp32/nn/1x1x1", "--selection=pr"}, "--selection");
  expect({"--kernel=cpu_naive", "--device=gpu"}, "cpu_naive");
  expect({"--regime=sparse"}, "sparse");
  expect({"--launches=0"}, "--launches=0");
  expect({"--fuzz=-1"}, "--fuzz=-1");
  expect({"--fuzz=10", "--huge"}, "--fuzz");
  expect({"--under-sanitizer", "--selection=pr"}, "--under-sanitizer");
  expect({"--under-emulation", "--fuzz=10"}, "--under-emulation");
}

}  // namespace
}  // namespace gemm
