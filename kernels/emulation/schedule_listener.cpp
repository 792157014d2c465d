// In gemmwatch-emulate: each test begins with the first schedule, so that a test that fails among
// others fails alone too.
#include <gtest/gtest.h>

#include "kernels/emulation/schedule.hpp"

namespace gemm::emulation {
namespace {

class ScheduleListener : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { restart_schedules(); }
};

const bool listening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new ScheduleListener);  // which owns it
  return true;
}();

}  // namespace
}  // namespace gemm::emulation
