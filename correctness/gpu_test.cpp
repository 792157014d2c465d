// The GPU's engine against the host's. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "correctness/digest.hpp"
#include "correctness/examine.hpp"
#include "correctness/expected.hpp"
#include "correctness/freivalds.hpp"
#include "correctness/guarded.hpp"
#include "correctness/load.hpp"
#include "correctness/test_kernel.hpp"

namespace gemm {
namespace {

using test::all_precisions;

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    const DeviceChoice choice = choose_device(true);
    if (choice.why_host) GTEST_SKIP() << choice.why_host;
  }
};

std::vector<unsigned char> bytes_of(const Buffer& buffer) {
  std::vector<unsigned char> bytes(buffer.bytes());
  copy(bytes.data(), Space::host, buffer.data(), buffer.space(), bytes.size());
  return bytes;
}

Buffer on_gpu(const Buffer& host) {
  Buffer gpu(Space::gpu, host.bytes());
  copy(gpu.data(), Space::gpu, host.data(), Space::host, host.bytes());
  return gpu;
}

std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const Precision precision : all_precisions)
    for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt})
      all.push_back({.shape = {33, 70, 130},
                     .precision = precision,
                     .layout = layout,
                     .batch = 2,
                     .alpha = 2,
                     .beta = -0.5,
                     .pad = {1, 2, 3}});
  all.push_back({.shape = {2500, 40, 30}, .layout = Layout::tn, .pad = {1, 0, 0}});  // two panels
  all.push_back({.shape = {16, 16, 0}, .beta = 1});
  all.push_back({.shape = {0, 16, 16}});
  return all;
}

TEST_F(Gpu, FillsAndCopiesMemory) {
  const Buffer from(Space::gpu, 1000), to(Space::gpu, 1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(from.data()) % 256, 0u);
  EXPECT_NE(Buffer(Space::gpu, 0).data(), nullptr) << "an empty matrix still has an address";
  fill(from, 0xab);
  copy(to.data(), Space::gpu, from.data(), Space::gpu, 1000);
  EXPECT_EQ(bytes_of(to), std::vector<unsigned char>(1000, 0xab));
}

TEST_F(Gpu, SaysHowMuchMemoryCouldNotBeHadAndGoesOn) {
  const std::size_t too_much = std::size_t{1} << 50;
  EXPECT_THROW(Buffer(Space::gpu, too_much), std::runtime_error);
  EXPECT_NO_THROW(synchronize(Space::gpu));
}

TEST_F(Gpu, DrawsAndPoisonsTheHostsBits) {
  for (const Problem& problem : problems()) {
    for (const Regime regime : all_regimes()) {
      const Inputs host(problem, regime, 3, Space::host), gpu(problem, regime, 3, Space::gpu);
      EXPECT_EQ(bytes_of(gpu.a), bytes_of(host.a)) << problem.id() << ' ' << name(regime);
      EXPECT_EQ(bytes_of(gpu.b), bytes_of(host.b)) << problem.id() << ' ' << name(regime);
      EXPECT_EQ(bytes_of(gpu.c), bytes_of(host.c)) << problem.id() << ' ' << name(regime);
      poison(problem, host.c.data(), Space::host, 0x2a);
      poison(problem, gpu.c.data(), Space::gpu, 0x2a);
      EXPECT_EQ(bytes_of(gpu.c), bytes_of(host.c)) << problem.id() << ", poisoned";
    }
  }
}

void expect_same(const Findings& gpu, const Findings& host, const Problem& problem) {
  EXPECT_EQ(gpu.wrong, host.wrong) << problem.id();
  EXPECT_EQ(gpu.padding_touched, host.padding_touched) << problem.id();
  if (std::isinf(host.worst_share_of_bound)) {
    EXPECT_EQ(gpu.worst_share_of_bound, host.worst_share_of_bound) << problem.id();
  } else {
    EXPECT_NEAR(gpu.worst_share_of_bound, host.worst_share_of_bound,
                1e-4 * (1 + host.worst_share_of_bound))
        << problem.id();
  }
  EXPECT_NEAR(gpu.relative_error, host.relative_error, 1e-6 * (1 + host.relative_error))
      << problem.id();
  EXPECT_EQ(gpu.message(), host.message()) << problem.id();
}

TEST_F(Gpu, JudgesAsTheHostDoes) {
  for (const Problem& problem : problems()) {
    for (const Regime regime : all_regimes()) {
      const Inputs host(problem, regime, 3, Space::host), gpu(problem, regime, 3, Space::gpu);
      const Expected on_host(problem, host), there(problem, gpu);
      const Buffer c = test::compute(problem, host);
      expect_same(there.compare(on_gpu(c)), on_host.compare(c), problem);
      if (c.bytes() == 0) continue;

      test::store(problem, c, problem.batch - 1, 11, 7, 1000);
      test::store(problem, c, problem.batch - 1, 12, 3, 1000);
      if (problem.pad.c > 0) test::store(problem, c, 0, 5, problem.shape.n, 0);
      const Findings findings = on_host.compare(c);
      EXPECT_EQ(findings.wrong, 2);
      expect_same(there.compare(on_gpu(c)), findings, problem);
    }
  }
}

TEST_F(Gpu, ShowsWhereTheWrongElementsAreAsTheHostDoes) {
  for (const Problem& problem : problems()) {
    if (problem.flops() == 0) continue;
    const Inputs host(problem, Regime::symmetric, 3, Space::host);
    const Inputs gpu(problem, Regime::symmetric, 3, Space::gpu);
    const std::int64_t batch = problem.batch - 1;
    const Buffer c = test::compute(problem, host);
    for (std::int64_t column = 5; column < 20; ++column)
      test::store(problem, c, batch, 11, column, 1000);
    const Mask mask = Expected(problem, gpu).mask(on_gpu(c).data(), batch);
    EXPECT_EQ(mask.wrong, Expected(problem, host).mask(c.data(), batch).wrong) << problem.id();
  }
}

TEST_F(Gpu, NegatesTheHostsBits) {
  for (const Problem& problem : problems()) {
    const Inputs host(problem, Regime::symmetric, 3, Space::host);
    const Inputs gpu(problem, Regime::symmetric, 3, Space::gpu);
    negate_a(problem, host.a.data(), Space::host);
    negate_a(problem, gpu.a.data(), Space::gpu);
    negate_c(problem, host.c.data(), Space::host);
    negate_c(problem, gpu.c.data(), Space::gpu);
    EXPECT_EQ(bytes_of(gpu.a), bytes_of(host.a)) << problem.id();
    EXPECT_EQ(bytes_of(gpu.c), bytes_of(host.c)) << problem.id();
  }
}

TEST_F(Gpu, FreivaldsCheckNamesTheFirstWrongRow) {
  for (const Problem& problem : problems()) {
    if (problem.flops() == 0 || problem.alpha != 1) continue;
    const Inputs host(problem, Regime::sparse_integer, 3, Space::host);
    const Inputs gpu(problem, Regime::sparse_integer, 3, Space::gpu);
    const Freivalds check(problem, gpu, 1);
    const Buffer c = test::compute(problem, host);
    EXPECT_FALSE(check.first_wrong_row(on_gpu(c).data())) << problem.id();
    test::store(problem, c, problem.batch - 1, 11, 7, 1000);
    const auto wrong = check.first_wrong_row(on_gpu(c).data());
    ASSERT_TRUE(wrong) << problem.id();
    EXPECT_EQ(wrong->batch, problem.batch - 1);
    EXPECT_EQ(wrong->row, 11);
  }
}

TEST_F(Gpu, DigestIsThatOfTheHost) {
  for (const std::size_t bytes : {0u, 5u, 8u, 1000003u}) {
    const Buffer host(Space::host, bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      static_cast<unsigned char*>(host.data())[i] = static_cast<unsigned char>(i * i % 251);
    EXPECT_EQ(digest(on_gpu(host)), digest(host)) << bytes;
  }
}

TEST_F(Gpu, GuardsSeeAByteThatChanged) {
  const Guarded a(Space::gpu, 1001), b(Space::gpu, 0);
  const Guards guards({{&a, "A"}, {&b, "B"}});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 256, 0u);
  guards.set(0xff);
  EXPECT_EQ(guards.changed(0xff), "");
  const unsigned char byte = 0;
  copy(static_cast<char*>(a.data()) + 1001, Space::gpu, &byte, Space::host, 1);
  EXPECT_EQ(guards.changed(0xff), "bytes behind A changed");
}

TEST_F(Gpu, LoadHasAStreamForTheLaunchAndEndsByItself) {
  Load& busy = load(Space::gpu);
  EXPECT_NE(busy.stream(), nullptr);
  busy.begin();
  EXPECT_NO_THROW(synchronize(Space::gpu));
}

// The sound rung on the device, through everything that an examination does there.
TEST_F(Gpu, ExaminesASoundKernelWithoutComplaint) {
  const Kernel& naive = find_kernel("naive");
  for (const Problem& problem : problems())
    for (const Regime regime : all_regimes()) {
      if (naive.refuses(problem)) continue;
      for (const ExamineOptions& options :
           {ExamineOptions{.launches = 3}, ExamineOptions{.launches = 1, .watched = true}}) {
        const Examination found = examine(naive, problem, regime, 1, options);
        EXPECT_TRUE(found.passed())
            << problem.id() << ' ' << name(regime) << ": " << found.failures.front().message;
      }
    }
}

}  // namespace
}  // namespace gemm
