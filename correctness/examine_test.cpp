// What examine() sees beyond the values of C, shown on a sound rung that is spoiled in one way.
#include "correctness/examine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
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

/// "<check>: <message>" of each failure.
std::vector<std::string> failures(const Kernel& subject, const Problem& on = problem) {
  static const Buffer workspace(Space::host, workspace_bytes);
  std::vector<std::string> lines;
  for (const auto& [check, message] :
       examine(subject, on, Regime::symmetric, 1, workspace).failures)
    lines.push_back(std::string(check) + ": " + message);
  return lines;
}

TEST(Examine, FindsNothingInASoundKernel) { EXPECT_THAT(failures(kernel(sound)), IsEmpty()); }

TEST(Examine, SeesAWrongResult) {
  const auto spoiled = [](const Problem& subject, const Operands& operands) {
    sound(subject, operands);
    static_cast<float*>(operands.c)[7] += 1;
  };
  EXPECT_THAT(failures(kernel(spoiled)), Each(StartsWith("result: 1 of 90 elements wrong")));
  EXPECT_THAT(failures(kernel(spoiled)), SizeIs(2)) << "both launches";
}

TEST(Examine, SeesAWriteBetweenTheRows) {
  Problem padded = problem;
  padded.pad.c = 3;
  EXPECT_THAT(failures(kernel(sound), padded), IsEmpty());
  EXPECT_THAT(failures(kernel([](const Problem& subject, const Operands& operands) {
                         sound(subject, operands);
                         static_cast<float*>(operands.c)[subject.shape.n] = 0;
                       }),
                       padded),
              Each(StartsWith("padding: 0 of 90 elements wrong; 1 elements beyond column n")));
}

TEST(Examine, SeesALaunchThatFails) {
  EXPECT_THAT(failures(kernel([](const Problem&, const Operands&) {
                throw std::runtime_error("no such function");
              })),
              ElementsAre("launch: no such function"));
}

TEST(Examine, TellsHowMuchOfTheBoundWasUsed) {
  static const Buffer workspace(Space::host, workspace_bytes);
  const auto worst = [](void (*launch)(const Problem&, const Operands&)) {
    return examine(kernel(launch), problem, Regime::symmetric, 1, workspace).worst_share_of_bound;
  };
  EXPECT_GT(worst(sound), 0);
  EXPECT_LT(worst(sound), 1);
  EXPECT_GT(worst([](const Problem& subject, const Operands& operands) {
              sound(subject, operands);
              static_cast<float*>(operands.c)[7] += 1;
            }),
            1);
}

TEST(Examine, SeesAChangedInput) {
  EXPECT_THAT(failures(kernel([](const Problem& subject, const Operands& operands) {
                sound(subject, operands);
                *static_cast<float*>(const_cast<void*>(operands.b)) += 1;
              })),
              Contains("inputs: B changed"));
  EXPECT_THAT(failures(kernel([](const Problem& subject, const Operands& operands) {
                sound(subject, operands);
                *static_cast<float*>(const_cast<void*>(operands.a)) += 1;
              })),
              Contains("inputs: A changed"));
}

TEST(Examine, SeesAWriteBehindC) {
  EXPECT_THAT(failures(kernel([](const Problem& subject, const Operands& operands) {
                sound(subject, operands);
                static_cast<float*>(operands.c)[90] = 0;
              })),
              ElementsAre(StartsWith("memory:"), StartsWith("memory:")));
}

// Correct both times, as any rounding within the bound is, but not the same.
TEST(Examine, SeesLaunchesThatDiffer) {
  EXPECT_THAT(failures(kernel([](const Problem& subject, const Operands& operands) {
                static int launches = 0;
                sound(subject, operands);
                auto* bits = static_cast<std::uint32_t*>(operands.c);
                bits[5] += static_cast<std::uint32_t>(launches++ % 2);
              })),
              ElementsAre(StartsWith("repeat:")));
}

TEST(Examine, SeesCReadWhereBetaIsZero) {
  EXPECT_THAT(failures(kernel([](const Problem& subject, const Operands& operands) {
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
  EXPECT_THAT(failures(kernel(sound), scaled), IsEmpty());
  EXPECT_THAT(failures(kernel([](const Problem& subject, const Operands& operands) {
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
  EXPECT_THAT(failures(tuned), Each(StartsWith("result: variant 2:")));
  EXPECT_THAT(failures(tuned), SizeIs(2));
}

}  // namespace
}  // namespace gemm
