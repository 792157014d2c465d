// gemmwatch-bench: one trial, as a Google Benchmark program.
//
//   take flags -> describe the machine -> plan -> register the points in a shuffled order -> run
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "bench/catalog.hpp"
#include "bench/machine.hpp"
#include "bench/options.hpp"
#include "bench/rotation.hpp"
#include "bench/trial.hpp"
#include "bench/visiting_order.hpp"
#include "correctness/write_whole.hpp"

namespace gemm {
namespace {

enum ExitCode { done = 0, bad_usage = 2, incorrect = 3 };

/// Google Benchmark's JSON, flushed row by row: after a crash the file holds every finished point.
class FlushedJson : public benchmark::JSONReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    benchmark::JSONReporter::ReportRuns(runs);
    GetOutputStream().flush();
  }
};

bool has_flag(int argc, char** argv, std::string_view prefix) {
  return std::any_of(argv + 1, argv + argc,
                     [&](const char* flag) { return std::string_view(flag).starts_with(prefix); });
}

std::vector<Point> points_in_file(const std::string& file, const Device& device) {
  std::ifstream in(file);
  if (!in) throw std::invalid_argument("--gemmwatch_points: cannot read " + file);
  std::vector<Point> points;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    points.push_back(parse_point(line));
    if (!runs_on(points.back().kernel->arch, device))
      throw std::invalid_argument(file + ": " + line + " does not run on this device");
  }
  return points;
}

void register_points(const std::vector<Point>& points, Load load, Trial& trial) {
  for (const Point& point : points)
    benchmark::RegisterBenchmark(
        point.id().c_str(),
        [&trial, point](benchmark::State& state) { trial.measure(state, point); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->Iterations(2 * planned_rounds(point, load));
}

/// After a product OpenBLAS's threads spin for 2^26 cycles by default, on the cores of the kernel
/// that is timed next. 2^17 bridge the gap between two launches of a block and end soon after it.
/// The library reads the setting as it is loaded: the program starts once more. Whoever has set it
/// is obeyed.
void let_openblas_rest(char** argv) {
  constexpr const char* setting = "OPENBLAS_THREAD_TIMEOUT";
  if (std::getenv(setting)) return;
  setenv(setting, "17", 1);
  execv("/proc/self/exe", argv);
  throw std::system_error(errno, std::generic_category(), "cannot start itself again");
}

int run(int argc, char** argv) {
  let_openblas_rest(argv);
  const Options options = take_options(argc, argv);
  if (options.help) std::fputs(options_help(), stdout);

  Machine machine = describe_machine(options.want_gpu);
  machine.fingerprint["harness"] = options.harness();
  if (options.require_gpu && machine.device.space != Space::gpu)
    throw std::invalid_argument("--gemmwatch_device=gpu, but " + machine.device_note);
  Plan plan = select(options.selection, machine.device);
  if (!options.list_file.empty()) {
    write_whole(options.list_file, catalog_json(machine, options.injected(), plan).dump(1) + "\n");
    return done;
  }
  if (!options.points_file.empty())
    plan.points = points_in_file(options.points_file, machine.device);
  put_in_visiting_order(plan.points, options.seed);

  benchmark::AddCustomContext("gemmwatch_catalog",
                              machine_json(machine, options.injected()).dump());
  benchmark::AddCustomContext("gemmwatch_seed", std::to_string(options.seed));
  FlushedJson json;
  const bool to_json = has_flag(argc, argv, "--benchmark_out=") &&
                       !(has_flag(argc, argv, "--benchmark_out_format=") &&
                         !has_flag(argc, argv, "--benchmark_out_format=json"));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return bad_usage;

  reserve_arena(machine.device.space, plan.points, rotation_footprint(machine));
  Trial trial(machine, options);
  register_points(plan.points, options.load, trial);
  benchmark::RunSpecifiedBenchmarks(nullptr, to_json ? &json : nullptr);
  benchmark::Shutdown();
  return trial.anything_incorrect() ? incorrect : done;
}

}  // namespace
}  // namespace gemm

int main(int argc, char** argv) {
  try {
    return gemm::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gemmwatch-bench: %s\n", error.what());
    return gemm::bad_usage;
  }
}
