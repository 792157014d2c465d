// A team that the system has too few threads for. In a process of its own, which would hang.
#include "kernels/cpu/team.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <system_error>

namespace gemm::cpu {
namespace {

/// Leaves the process room for few more stacks.
void limit_memory() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{40} << 20);
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

/// Ends the process: with 0 if a team of a thousand threads is refused.
[[noreturn]] void make_large_team() {
  alarm(20);
  limit_memory();
  try {
    const Team team(1000);
  } catch (const std::system_error&) {
    std::_Exit(0);
  }
  std::_Exit(1);
}

TEST(TeamDeathTest, ThatCannotBeCompletedIsRefusedAndDoesNotHang) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // without the stacks that a fork leaves unused
  EXPECT_EXIT(make_large_team(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace gemm::cpu
