// Which run of chance a launch gets: GEMMWATCH_SCHEDULE, or 1 without it, and then one after
// another.
#pragma once

namespace gemm::emulation {

/// From the first one on, so that what comes next does not depend on what came before.
void restart_schedules();

}  // namespace gemm::emulation
