// The vocabulary's promises: identities that never change, a registry that is whole, and selections
// that follow their rule.
#include "kernels/gemm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/lesson.hpp"

namespace gemm {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// ---- Identities
// ----------------------------------------------------------------------------------

TEST(ProblemId, IsSpelledAsBaselinesKnowIt) {
  Problem problem{.shape = {4096, 14336, 128},
                  .precision = Precision::bf16,
                  .layout = Layout::nt,
                  .groups = square,
                  .why = "not part of it"};
  EXPECT_EQ(problem.id(), "bf16/nt/4096x14336x128");
  problem.batch = 32;
  problem.alpha = 0.5;
  problem.beta = -2;
  problem.pad = {3, 0, 8};
  EXPECT_EQ(problem.id(), "bf16/nt/4096x14336x128/batch=32/alpha=0.5/beta=neg2/pad=3.0.8");
}

TEST(ProblemId, ReadsBackAsItself) {
  for (const Problem& problem : problems())
    EXPECT_EQ(parse_problem(problem.id()).id(), problem.id());
  const std::string odd = "tf32/tt/1x0x7/batch=3/alpha=neg0.25/beta=2/pad=1.2.3";
  EXPECT_EQ(parse_problem(odd).id(), odd);
  EXPECT_EQ(parse_problem(odd).alpha, -0.25);
}

TEST(ProblemId, UnreadablePartIsNamed) {
  const auto reading = [](const char* id) { return [id] { parse_problem(id); }; };
  const auto complains = [](const char* part) {
    return ThrowsMessage<std::invalid_argument>(HasSubstr(std::string("\"") + part + "\""));
  };
  EXPECT_THAT(reading("fp33/nn/1x1x1"), complains("fp33"));
  EXPECT_THAT(reading("fp32/nm/1x1x1"), complains("nm"));
  EXPECT_THAT(reading("fp32/nn/1x1"), complains("1x1"));
  EXPECT_THAT(reading("fp32/nn/1x-1x1"), complains("1x-1x1"));
  EXPECT_THAT(reading("fp32/nn/1x1x1/gamma=2"), complains("gamma=2"));
  EXPECT_THAT(reading("fp32/nn/1x1x1/alpha=two"), complains("alpha=two"));
  EXPECT_THAT(reading("fp32/nn/1x1x1/pad=1.2"), complains("pad=1.2"));
  EXPECT_THAT(reading("fp32"), complains("fp32"));
}

TEST(Problem, StorageFollowsLayout) {
  const Problem nn = parse_problem("fp32/nn/2x3x5/pad=10.20.30");
  EXPECT_EQ(nn.lda(), 5 + 10);
  EXPECT_EQ(nn.ldb(), 3 + 20);
  EXPECT_EQ(nn.ldc(), 3 + 30);
  EXPECT_EQ(nn.a_stride(), 2 * 15);
  EXPECT_EQ(nn.b_stride(), 5 * 23);
  const Problem tt = parse_problem("fp32/tt/2x3x5");
  EXPECT_EQ(tt.lda(), 2);
  EXPECT_EQ(tt.ldb(), 5);
  EXPECT_EQ(tt.a_stride(), 5 * 2);
  EXPECT_EQ(tt.b_stride(), 3 * 5);
}

TEST(Problem, CountsWorkAndTraffic) {
  const Problem problem = parse_problem("bf16/nn/2x3x5/batch=7");
  EXPECT_EQ(problem.flops(), 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(problem.bytes(), 2 * 7 * (2 * 5 + 5 * 3 + 2 * 3));
  EXPECT_EQ(parse_problem("fp32/nn/2x3x5/beta=1").bytes(), 4 * (2 * 5 + 5 * 3 + 2 * 2 * 3));
}

// ---- Registry
// ------------------------------------------------------------------------------------

TEST(Registry, HoldsTheHostLadderAndItsControl) {
  std::set<std::string_view> names;
  for (const Kernel& kernel : kernels()) names.insert(kernel.name);
  for (const char* rung : {"cpu_naive", "cpu_tiled", "cpu_packed", "cpu_threaded", "openblas"})
    EXPECT_TRUE(names.contains(rung)) << rung << " is not registered";
  EXPECT_EQ(control_of(Space::host).name, "openblas");
}

#ifdef GEMMWATCH_WITH_CUDA
TEST(Registry, HoldsTheGpuRungsAndTheirControl) {
  for (const char* rung : {"naive", "tiled", "cublas", "cublaslt"})
    EXPECT_NO_THROW(find_kernel(rung));
  EXPECT_EQ(control_of(Space::gpu).name, "cublas");
}
#endif

TEST(Registry, IsInLadderOrderAndComplete) {
  for (std::size_t i = 1; i < kernels().size(); ++i)
    EXPECT_LE(kernels()[i - 1].stage, kernels()[i].stage);
  for (const Kernel& kernel : kernels()) {
    EXPECT_FALSE(kernel.idea.empty()) << kernel.name;
    EXPECT_EQ(kernel.idea.find('\n'), std::string_view::npos) << kernel.name;
    EXPECT_EQ(kernel.name.find('/'), std::string_view::npos) << kernel.name;
    EXPECT_NE(kernel.refuses, nullptr) << kernel.name;
    EXPECT_NE(kernel.launch, nullptr) << kernel.name;
  }
}

TEST(Registry, UnknownKernelIsAnsweredWithTheKnownOnes) {
  EXPECT_THAT([] { find_kernel("quantum"); }, ThrowsMessage<std::invalid_argument>(testing::AllOf(
                                                  HasSubstr("quantum"), HasSubstr("cpu_naive"))));
}

// ---- The problem table
// ---------------------------------------------------------------------------

TEST(Problems, AreUniqueAndSayWhy) {
  std::set<std::string> ids;
  for (const Problem& problem : problems()) {
    EXPECT_TRUE(ids.insert(problem.id()).second) << problem.id() << " twice";
    EXPECT_FALSE(problem.why.empty()) << problem.id();
    EXPECT_NE(problem.groups, 0u) << problem.id();
  }
}

TEST(Problems, CarryTheGroupsThatFollowFromTheirShape) {
  for (const Problem& problem : problems()) {
    const auto [m, n, k] = problem.shape;
    EXPECT_EQ(bool(problem.groups & decode), m <= 16 && n >= 2048) << problem.id();
    EXPECT_LE(bool(problem.groups & square), m == n && n == k) << problem.id();
    EXPECT_LE(bool(problem.groups & large), std::min({m, n, k}) >= 512) << problem.id();
  }
}

TEST(Problems, VisitWhatTheProductPromises) {
  std::set<std::string> ids;
  for (const Problem& problem : problems()) ids.insert(problem.id());
  for (const char* id :
       {"fp32/nn/256x256x256", "bf16/nt/16384x16384x16384", "bf16/nn/4095x4095x4095",
        "fp16/nn/1x4096x4096", "bf16/nt/16x4096x4096", "fp32/tt/4096x4096x4096",
        "tf32/nt/512x4096x4096", "bf16/nt/4096x2112x7168", "bf16/nt/2048x2048x128/batch=32"})
    EXPECT_TRUE(ids.contains(id)) << id;
}

// ---- Selections
// ----------------------------------------------------------------------------------

TEST(Arch, RunsWhereItsCodeRuns) {
  const Device host{}, sm75{Space::gpu, 75}, sm80{Space::gpu, 80}, sm90{Space::gpu, 90},
      sm100{Space::gpu, 100};
  EXPECT_TRUE(runs_on(Arch::host, host));
  EXPECT_FALSE(runs_on(Arch::host, sm90));
  EXPECT_FALSE(runs_on(Arch::any, host));
  EXPECT_FALSE(runs_on(Arch::any, sm75));
  EXPECT_TRUE(runs_on(Arch::any, sm80));
  EXPECT_TRUE(runs_on(Arch::sm80, sm100));
  EXPECT_TRUE(runs_on(Arch::sm90a, sm90));
  EXPECT_FALSE(runs_on(Arch::sm90a, sm100)) << "sm_90a code has no successor";
}

std::set<std::string> ids_of(const Plan& plan) {
  std::set<std::string> ids;
  for (const Point& point : plan.points) ids.insert(point.id());
  return ids;
}

TEST(Selection, SmokeIsClimbedByTheWholeHostLadder) {
  const std::set<std::string> ids = ids_of(select(Selection::smoke, Device{}));
  for (const Problem& problem : problems())
    for (const char* rung : {"cpu_naive", "cpu_tiled", "cpu_packed", "cpu_threaded", "openblas"})
      EXPECT_EQ(ids.contains(std::string(rung) + "/" + problem.id()),
                bool(problem.groups & smoke_set))
          << rung << " " << problem.id();
}

TEST(Selection, TopRungAndVendorVisitWhatTheLadderDoesNot) {
  const std::set<std::string> ids = ids_of(select(Selection::full, Device{}));
  EXPECT_TRUE(ids.contains("cpu_threaded/fp32/nn/512x512x512"));
  EXPECT_TRUE(ids.contains("openblas/fp32/nn/512x512x512"));
  EXPECT_FALSE(ids.contains("cpu_tiled/fp32/nn/512x512x512"));
  EXPECT_TRUE(ids.contains("cpu_tiled/fp32/nn/256x256x256")) << "a ladder problem";
}

TEST(Selection, EveryPointIsEitherPlannedOrRefusedWithAReason) {
  const Plan plan = select(Selection::full, Device{});
  std::set<std::string> ids = ids_of(plan);
  EXPECT_EQ(ids.size(), plan.points.size()) << "a point is planned twice";
  for (const RefusedPoint& refusal : plan.refused) {
    EXPECT_FALSE(refusal.reason.empty());
    EXPECT_TRUE(ids.insert(refusal.point.id()).second) << refusal.point.id() << " in both";
  }
  for (const Problem& problem : problems())
    EXPECT_TRUE(ids.contains("openblas/" + problem.id())) << problem.id();
}

TEST(Selection, WhatWouldTakeTooLongIsRefusedByRule) {
  const Plan plan = select(Selection::full, Device{});
  const auto refused =
      std::find_if(plan.refused.begin(), plan.refused.end(), [](const RefusedPoint& refusal) {
        return refusal.point.id() == "cpu_naive/fp32/nn/4096x4096x4096";
      });
  ASSERT_NE(refused, plan.refused.end());
  EXPECT_THAT(refused->reason, HasSubstr("too slow"));
}

TEST(Selection, OnlyCodeThatRunsThereIsSelected) {
  for (const Device& device : {Device{}, Device{Space::gpu, 80}, Device{Space::gpu, 90}})
    for (const Point& point : select(Selection::pr, device).points)
      EXPECT_TRUE(runs_on(point.kernel->arch, device)) << point.id();
}

TEST(Selection, TilesToChooseFromAreVisitedByTuneAndOtherTilesOfARungByNothingElse) {
  const Device hopper{Space::gpu, 90};
  for (const Point& point : select(Selection::full, hopper).points)
    EXPECT_FALSE(point.kernel->configuration) << point.id();
  for (const Point& point : select(Selection::tune, hopper).points) {
    const Kernel& kernel = *point.kernel;
    EXPECT_TRUE(kernel.tile.m > 0 || kernel.stage == Stage::dispatch || kernel.vendor())
        << point.id();
    EXPECT_TRUE(point.problem.groups & tune_set) << point.id();
  }
#ifdef GEMMWATCH_WITH_CUDA
  const std::set<std::string> ids = ids_of(select(Selection::tune, hopper));
  for (const char* id : {"wgmma_persistent_128x176x2/bf16/nt/4096x2112x7168",
                         "wgmma_pingpong_64x128x1/bf16/nn/512x4096x4096",
                         "mma_pipelined/tf32/nt/4096x4096x4096", "dispatch/fp32/nn/4096x4096x4096"})
    EXPECT_TRUE(ids.contains(id)) << id;
#endif
}

TEST(Selection, LessonsAreComparedOnTheirPoints) {
  const std::set<std::string> ids = ids_of(select(Selection::lessons, Device{}));
  EXPECT_TRUE(ids.contains("cpu_packed/bf16/nn/512x512x512"));
  for (const Point& point : select(Selection::full, Device{}).points)
    EXPECT_EQ(point.id().find('+'), std::string::npos) << point.id();
}

TEST(Lessons, CompareAtLeastTwoPointsAndTheFirstIsSound) {
  for (const Lesson& lesson : lessons) {
    std::istringstream ids{std::string(lesson.points)};
    const std::vector<std::string> points{std::istream_iterator<std::string>(ids), {}};
    ASSERT_GE(points.size(), 2u) << lesson.name;
    EXPECT_EQ(points.front().find('+'), std::string::npos) << lesson.name;
    for (const std::string& id : points) parse_problem(id.substr(id.find('/') + 1));
    EXPECT_FALSE(lesson.title.empty() || lesson.moral.empty()) << lesson.name;
#ifdef GEMMWATCH_WITH_CUDA
    for (const std::string& id : points) EXPECT_NO_THROW(parse_point(id)) << "not in this build";
#endif
    if (lesson.source.empty()) continue;
    EXPECT_NE(lesson.points.find("+" + std::string(lesson.name) + "/"), std::string_view::npos)
        << lesson.name << ": its variant is not among its points";
  }
}

TEST(Selection, UnknownNameIsAnsweredWithTheKnownOnes) {
  EXPECT_THAT([] { parse_selection("all"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("smoke, pr, full, tune and lessons")));
}

TEST(PointId, ReadsBackAsItself) {
  const std::string id = "cpu_tiled/bf16/nt/3x5x7/batch=2";
  EXPECT_EQ(parse_point(id).id(), id);
  EXPECT_THAT([] { parse_point("cpu_tiled"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("cpu_tiled")));
}

}  // namespace
}  // namespace gemm
