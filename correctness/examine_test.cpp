// What examine() sees beyond the values of C, shown on a sound rung that is spoiled in one way.
#include "correctness/examine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gemm {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const Problem problem{.shape = {9, 10, 11}};

void sound(const Problem& subject, const Operands& operands) {
  find_kernel("cpu_naive").launch(subject, operands);
}

Kernel kernel(void (*launch)(const Problem&, const Operands&)) {
  return {.name = "in_test",
          .stage = Stage::cpu_naive,
          .idea = "",
          .arch = Arch::host,
          .refuses = [](const Problem&) { return Refusal(); },
          .launch = launch};
}

std::vector<std::string> faults(const Kernel& subject, const Problem& on = problem) {
  static const Buffer workspace(Space::host, workspace_bytes);
  return examine(subject, on, Regime::symmetric, 1, workspace);
}

TEST(Examine, FindsNothingInASoundKernel) { EXPECT_THAT(faults(kernel(sound)), IsEmpty()); }

TEST(Examine, SeesAWrongResult) {
  const auto spoiled = [](const Problem& subject, const Operands& operands) {
    sound(subject, operands);
    static_cast<float*>(operands.c)[7] += 1;
  };
  EXPECT_THAT(faults(kernel(spoiled)), Each(StartsWith("result: 1 of 90 elements wrong")));
  EXPECT_THAT(faults(kernel(spoiled)), SizeIs(2)) << "both launches";
}

TEST(Examine, SeesAChangedInput) {
  EXPECT_THAT(faults(kernel([](const Problem& subject, const Operands& operands) {
                sound(subject, operands);
                *static_cast<float*>(const_cast<void*>(operands.b)) += 1;
              })),
              Contains("inputs: B changed"));
  EXPECT_THAT(faults(kernel([](const Problem& subject, const Operands& operands) {
                sound(subject, operands);
                *static_cast<float*>(const_cast<void*>(operands.a)) += 1;
              })),
              Contains("inputs: A changed"));
}

TEST(Examine, SeesAWriteBehindC) {
  EXPECT_THAT(faults(kernel([](const Problem& subject, const Operands& operands) {
                sound(subject, operands);
                static_cast<float*>(operands.c)[90] = 0;
              })),
              ElementsAre(StartsWith("memory:"), StartsWith("memory:")));
}

// Correct both times, as any rounding within the bound is, but not the same.
TEST(Examine, SeesLaunchesThatDiffer) {
  EXPECT_THAT(faults(kernel([](const Problem& subject, const Operands& operands) {
                static int launches = 0;
                sound(subject, operands);
                auto* bits = static_cast<std::uint32_t*>(operands.c);
                bits[5] += static_cast<std::uint32_t>(launches++ % 2);
              })),
              ElementsAre(StartsWith("repeat:")));
}

TEST(Examine, SeesCReadWhereBetaIsZero) {
  EXPECT_THAT(faults(kernel([](const Problem& subject, const Operands& operands) {
                Problem reading = subject;
                reading.beta = 1e-30;
                sound(reading, operands);
              })),
              Contains(StartsWith("result: 90 of 90 elements wrong")));
}

TEST(Examine, SeesAReadWhereAlphaIsZero) {
  Problem scaled = problem;
  scaled.alpha = 0;
  scaled.beta = 1;
  EXPECT_THAT(faults(kernel(sound), scaled), IsEmpty());
  EXPECT_THAT(faults(kernel([](const Problem& subject, const Operands& operands) {
                       Problem reading = subject;
                       reading.alpha = 1e-30;
                       sound(reading, operands);
                     }),
                     scaled),
              Contains(StartsWith("result: 90 of 90 elements wrong")));
}

TEST(Examine, LaunchesEveryVariant) {
  Kernel tuned = kernel([](const Problem& subject, const Operands& operands) {
    sound(subject, operands);
    if (operands.variant == 2) static_cast<float*>(operands.c)[0] = 100;
  });
  tuned.variants = [](const Problem&) { return 3; };
  EXPECT_THAT(faults(tuned), Each(StartsWith("variant 2: result:")));
  EXPECT_THAT(faults(tuned), SizeIs(2));
}

}  // namespace
}  // namespace gemm
