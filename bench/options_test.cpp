#include "bench/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "bench/protocol.hpp"

namespace gemm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

struct Parsed {
  Options options;
  std::vector<std::string> left;
};

Parsed parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "gemmwatch-bench");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  Parsed parsed{take_options(argc, argv.data()), {}};
  parsed.left.assign(argv.begin() + 1, argv.begin() + argc);
  return parsed;
}

TEST(Options, TakesItsOwnAndLeavesGoogleBenchmarks) {
  const Parsed parsed = parse({"--benchmark_filter=x", "--gemmwatch_selection=pr",
                               "--gemmwatch_seed=7", "--v=1", "--gemmwatch_device=host"});
  EXPECT_THAT(parsed.left, ElementsAre("--benchmark_filter=x", "--v=1"));
  EXPECT_EQ(parsed.options.selection, Selection::pr);
  EXPECT_EQ(parsed.options.seed, 7u);
  EXPECT_FALSE(parsed.options.want_gpu);
}

TEST(Options, DeviceGpuIsADemandAndAutoAWish) {
  EXPECT_TRUE(parse({"--gemmwatch_device=gpu"}).options.require_gpu);
  EXPECT_FALSE(parse({"--gemmwatch_device=auto"}).options.require_gpu);
  EXPECT_TRUE(parse({"--gemmwatch_device=auto"}).options.want_gpu);
}

TEST(Options, EachLoadIsAHarnessOfItsOwn) {
  EXPECT_EQ(parse({}).options.harness(), protocol::harness);
  EXPECT_EQ(parse({"--gemmwatch_load=trial"}).options.harness(), protocol::harness);
  EXPECT_THAT(parse({"--gemmwatch_load=sustained"}).options.harness(), HasSubstr("sustained"));
  EXPECT_THAT(parse({"--gemmwatch_load=burst"}).options.harness(), HasSubstr("burst"));
}

TEST(Options, BadOnesAreNamed) {
  const auto complains_of = [](const char* argument, const char* what) {
    EXPECT_THAT([argument] { parse({argument}); },
                ThrowsMessage<std::invalid_argument>(HasSubstr(what)))
        << argument;
  };
  complains_of("--gemmwatch_sed=1", "--gemmwatch_sed");
  complains_of("--gemmwatch_seed", "--gemmwatch_seed");
  complains_of("--gemmwatch_seed=one", "one");
  complains_of("--gemmwatch_seed=-1", "-1");
  complains_of("--gemmwatch_device=tpu", "tpu");
  complains_of("--gemmwatch_selection=tiny", "tiny");
  complains_of("--gemmwatch_load=heavy", "trial, sustained or burst");
  complains_of("--gemmwatch_slow=cpu_tiled", "<kernel>:<percent>%");
  complains_of("--gemmwatch_slow=nobody:5%", "nobody");
}

TEST(Options, AnInjectedSlowdownIsDeclared) {
  EXPECT_EQ(parse({}).options.injected(), "");
  const Options options = parse({"--gemmwatch_slow=cpu_tiled:2.5%"}).options;
  EXPECT_EQ(options.injected(), "slow:cpu_tiled:2.5%");
  EXPECT_DOUBLE_EQ(options.slow.fraction, 0.025);
}

}  // namespace
}  // namespace gemm
