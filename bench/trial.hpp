// One trial: visits points one after another; checks each, then times it beside the control.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <string>

#include "bench/choices.hpp"
#include "bench/machine.hpp"
#include "bench/options.hpp"
#include "bench/telemetry.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// Whether the device is given a pause before the point is timed: other loads have their own.
bool rests(Load, Space, const Problem&);

/// Rounds of control-test-test-control that a point gets, by the plan.
int planned_rounds(const Point& point, Load load);

/// What the matrices of a point shall exceed, in bytes, so that no launch finds them in the cache.
std::size_t rotation_footprint(const Machine&);

/// What all points of one problem share; defined in trial.cpp.
struct Workbench;

class Trial {
 public:
  Trial(const Machine& machine, const Options& options);
  ~Trial();

  /// Google Benchmark's function for a point: check, warm up, measure, check again, report. An
  /// incorrect result or a failed launch ends the point with an error and no time. If the GPU's
  /// context is lost the process ends at once with exit code 70, since every later point would fail
  /// for nothing.
  void measure(benchmark::State& state, const Point& point);

  bool anything_incorrect() const { return anything_incorrect_; }

 private:
  void measure_or_throw(benchmark::State& state, const Point& point);
  void fail_as_incorrect(benchmark::State& state, const std::string& message);
  Workbench& workbench_for(const Problem& problem);
  void leave_if_context_lost() const;

  const Machine& machine_;
  const Options& options_;
  Choices choices_;
  Telemetry telemetry_;
  std::unique_ptr<Workbench> workbench_;
  bool anything_incorrect_ = false;
};

}  // namespace gemm
