#include "bench/rotation.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>

namespace gemm {
namespace {

const Problem problem = parse_problem("fp32/nn/16x24x8");

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

TEST(Rotation, ExceedsTheFootprintWithDistinctSets) {
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  const std::size_t footprint = 1 << 20;
  const Rotation rotation(inputs, footprint);
  const std::size_t bytes = inputs.a.bytes() + inputs.b.bytes() + inputs.c.bytes();
  std::set<const void*> seen;
  for (std::int64_t i = 0; i < rotation.sets(); ++i) seen.insert(rotation.operands(i).a);
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), rotation.sets());
  const auto span = address(*seen.rbegin()) - address(*seen.begin()) + bytes;
  EXPECT_GT(span, footprint);
}

TEST(Rotation, HasTwoSetsAtLeastAndComesRound) {
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  const Rotation rotation(inputs, 0);
  EXPECT_EQ(rotation.sets(), 2);
  EXPECT_NE(rotation.operands(0).b, rotation.operands(1).b);
  EXPECT_EQ(rotation.operands(0).b, rotation.operands(2).b);
}

TEST(Rotation, EverySetHoldsTheInputs) {
  const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
  const Rotation rotation(inputs, 100000);
  for (std::int64_t i = 0; i < rotation.sets(); ++i) {
    const Operands operands = rotation.operands(i);
    EXPECT_EQ(std::memcmp(operands.a, inputs.a.data(), inputs.a.bytes()), 0) << "set " << i;
    EXPECT_EQ(std::memcmp(operands.b, inputs.b.data(), inputs.b.bytes()), 0) << "set " << i;
    EXPECT_EQ(std::memcmp(operands.c, inputs.c.data(), inputs.c.bytes()), 0) << "set " << i;
  }
}

TEST(Rotation, LiesWhereItLiesWhateverCameBefore) {
  const Problem small = parse_problem("fp32/nn/8x8x8"), large = parse_problem("fp32/nn/99x99x99");
  const std::size_t footprint = 100 << 20;  // beyond that of the other tests
  reserve_arena(Space::host,
                {{&find_kernel("cpu_naive"), small}, {&find_kernel("cpu_naive"), large}},
                footprint);
  const auto place = [&](const Problem& problem) {
    const Inputs inputs(problem, Regime::symmetric, 1, Space::host);
    return Rotation(inputs, footprint).operands(0).a;
  };
  const void* before = place(small);
  EXPECT_EQ(place(large), before);
  EXPECT_EQ(place(small), before);
}

TEST(Rotation, KeepsTheAlignmentThatOperandsPromise) {
  const Problem odd = parse_problem("bf16/tt/3x5x7");
  const Inputs inputs(odd, Regime::symmetric, 1, Space::host);
  const Rotation rotation(inputs, 5000);
  for (std::int64_t i = 0; i < rotation.sets(); ++i)
    for (const void* base : {rotation.operands(i).a, rotation.operands(i).b,
                             static_cast<const void*>(rotation.operands(i).c)})
      EXPECT_EQ(address(base) % 256, 0u);
}

}  // namespace
}  // namespace gemm
