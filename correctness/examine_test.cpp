// What examine() sees beyond the values of C, shown on a sound rung that is spoiled in one way.
#include "correctness/examine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "correctness/test_kernel.hpp"

namespace gemm {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
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
std::vector<std::string> failures(const Kernel& subject, const Problem& on = problem,
                                  const ExamineOptions& options = {}) {
  std::vector<std::string> lines;
  for (const auto& [check, message] : examine(subject, on, Regime::symmetric, 1, options).failures)
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
  const auto worst = [](void (*launch)(const Problem&, const Operands&)) {
    return examine(kernel(launch), problem, Regime::symmetric, 1).worst_share_of_bound;
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

char* bytes_at(const void* operand) { return static_cast<char*>(const_cast<void*>(operand)); }

// A sound kernel that then writes one byte, put where `where` says.
template <class Where>
void expect_seen(const char* message, Where) {
  EXPECT_THAT(failures(kernel([](const Problem& subject, const Operands& operands) {
                sound(subject, operands);
                *Where()(operands) = 0x55;
              })),
              ElementsAre(HasSubstr(message), HasSubstr(message)));
}

TEST(Examine, SeesAWriteAroundAnyOperand) {
  constexpr int of_a = 9 * 11 * 4, of_b = 11 * 10 * 4, of_c = 9 * 10 * 4;  // bytes
  using O = const Operands&;
  expect_seen("behind A", [](O o) { return bytes_at(o.a) + of_a; });
  expect_seen("before A", [](O o) { return bytes_at(o.a) - 1; });
  expect_seen("behind B", [](O o) { return bytes_at(o.b) + of_b + 4095; });
  expect_seen("before B", [](O o) { return bytes_at(o.b) - 4096; });
  expect_seen("behind C", [](O o) { return bytes_at(o.c) + of_c; });
  expect_seen("before C", [](O o) { return bytes_at(o.c) - 1; });
  expect_seen("behind the workspace", [](O o) { return bytes_at(o.workspace) + workspace_bytes; });
  expect_seen("before the workspace", [](O o) { return bytes_at(o.workspace) - 1; });
}

// An element behind A enters the sum with a weight that keeps the result within the bound: the
// guard band holds NaN at one launch and zero at the next.
TEST(Examine, SeesAReadAroundAnOperand) {
  EXPECT_THAT(failures(kernel([](const Problem& subject, const Operands& operands) {
                sound(subject, operands);
                const float behind = static_cast<const float*>(operands.a)[9 * 11];
                static_cast<float*>(operands.c)[0] += 0 * behind;
              })),
              ElementsAre(StartsWith("result: 1 of 90"), StartsWith("repeat:")));
}

TEST(Examine, SeesAWorkspaceThatIsTakenForZero) {
  EXPECT_THAT(failures(kernel([](const Problem& subject, const Operands& operands) {
                sound(subject, operands);
                auto& partial_sum = static_cast<float*>(operands.workspace)[1000];
                static_cast<float*>(operands.c)[0] += partial_sum;
                partial_sum = 0;
              })),
              ElementsAre(StartsWith("result: 1 of 90"), StartsWith("repeat:")));
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

TEST(Examine, RepeatsAsOftenAsAskedFor) {
  static int launches = 0;
  const auto differs_at_last = [](const Problem& subject, const Operands& operands) {
    sound(subject, operands);
    if (++launches == 50) static_cast<std::uint32_t*>(operands.c)[5] += 1;
  };
  EXPECT_THAT(failures(kernel(differs_at_last), problem, {.launches = 50}),
              ElementsAre(StartsWith("repeat: launch 50 ")));
  EXPECT_EQ(launches, 50) << "none after a failure";
}

// The matrices of a launch lie where those of the last one lay: that does not make them the same.
TEST(Examine, SeesAResultThatIsRememberedByPointer) {
  EXPECT_THAT(failures(kernel([](const Problem& subject, const Operands& operands) {
                static const void* known = nullptr;
                static std::vector<float> remembered;
                auto* c = static_cast<float*>(operands.c);
                if (operands.a != known) {
                  sound(subject, operands);
                  known = operands.a;
                  remembered.assign(c, c + 90);
                }
                std::copy(remembered.begin(), remembered.end(), c);
              })),
              ElementsAre(StartsWith("stale: with A and C negated, of the negated result: 90 of 90 "
                                     "elements wrong")));
}

// One unit in the last place from launch to launch is within the bound; nonsense is not.
TEST(Examine, ChecksEachLaunchOfAKernelThatDeclaresItselfNotDeterministic) {
  static int launches;
  Kernel changing = kernel([](const Problem& subject, const Operands& operands) {
    sound(subject, operands);
    static_cast<std::uint32_t*>(operands.c)[5] += static_cast<std::uint32_t>(launches++ % 2);
  });
  changing.deterministic = false;
  EXPECT_THAT(failures(changing, problem, {.launches = 7}), IsEmpty());

  Kernel wrong_at_last = kernel([](const Problem& subject, const Operands& operands) {
    sound(subject, operands);
    if (++launches == 7) static_cast<float*>(operands.c)[5] += 1;
  });
  wrong_at_last.deterministic = false;
  launches = 0;
  EXPECT_THAT(failures(wrong_at_last, problem, {.launches = 7}),
              ElementsAre(StartsWith("result: 1 of 90 elements wrong")));
}

// Under a tool of its own the memory holds what the kernel put there, and nothing else is there.
TEST(Examine, LeavesUnspecifiedMemoryAloneUnderATool) {
  const ExamineOptions watched{.launches = 1, .watched = true};
  EXPECT_THAT(failures(kernel(sound), problem, watched), IsEmpty());
  EXPECT_THAT(failures(kernel([](const Problem& subject, const Operands& operands) {
                         sound(subject, operands);
                         static_cast<float*>(operands.c)[7] += 1;
                       }),
                       problem, watched),
              ElementsAre(StartsWith("result: 1 of 90 elements wrong")));
}

TEST(Examine, SaysHowFarTheElementIsOffInUnitsOfTheBound) {
  const Kernel off_by_one = kernel([](const Problem& subject, const Operands& operands) {
    sound(subject, operands);
    static_cast<float*>(operands.c)[7] += 1;
  });
  // S is that of row 0, column 7.
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  const test::Values values(problem, inputs);
  double sum = 0;
  for (int p = 0; p < 11; ++p) sum += std::abs(double{values.a(0, 0, p)} * values.b(0, p, 7));
  char expected[100];
  std::snprintf(expected, sizeof expected, "off by 1 = %.3g |alpha| u S, S = %.3g",
                std::ldexp(1 / sum, 24), sum);
  EXPECT_THAT(failures(off_by_one), Each(HasSubstr(expected)));
}

TEST(Examine, ShowsWhereTheWrongElementsAre) {
  const Kernel tile_wrong = kernel([](const Problem& subject, const Operands& operands) {
    sound(subject, operands);
    const std::int64_t matrix = subject.shape.m * subject.shape.n;
    for (int row = 600; row < 603; ++row)
      static_cast<float*>(operands.c)[matrix + row * subject.shape.n + 2] = 100;
  });
  const Problem tall{.shape = {1025, 5, 3}, .batch = 2};
  const Examination found = examine(tile_wrong, tall, Regime::symmetric, 1);
  ASSERT_TRUE(found.mask);
  EXPECT_EQ(found.mask->batch, 1);
  EXPECT_EQ(found.mask->rows, 1025);
  EXPECT_EQ(found.mask->cell_rows, 3);  // at most 512 cells
  EXPECT_EQ(found.mask->cell_columns, 1);
  ASSERT_EQ(found.mask->wrong.size(), 342u);
  ASSERT_EQ(found.mask->wrong.front().size(), 5u);
  for (std::size_t row = 0; row < 342; ++row)
    for (std::size_t column = 0; column < 5; ++column)
      EXPECT_EQ(found.mask->wrong[row][column], row == 200 && column == 2 ? 3u : 0u);
  EXPECT_FALSE(examine(kernel(sound), problem, Regime::symmetric, 1).mask);
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
