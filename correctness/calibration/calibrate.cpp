// gemmwatch-calibrate: what the gate's tolerances rest on. Measures the errors of sound kernels,
// and counts how often the gate finds fault with them. scripts/calibrate keeps the answers.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

#include "correctness/calibration/alarms.hpp"
#include "correctness/calibration/errors.hpp"
#include "correctness/expected.hpp"
#include "correctness/memory.hpp"
#include "correctness/write_whole.hpp"

namespace {

using namespace gemm;
using Json = nlohmann::ordered_json;

enum ExitCode { measured = 0, bad_usage = 2, alarm = 3, nothing_measured = 4 };

constexpr const char* usage =
    "gemmwatch-calibrate: the errors of sound kernels, and the gate's false alarms.\n"
    "  --errors=FILE            the largest error of each kernel in every precision, by k\n"
    "  --alarms=FILE            what the gate finds in sound kernels, which should be nothing\n"
    "  --bounds=FILE            the table of tolerances, by k; measures nothing\n"
    "  --seeds=FIRST..LAST      of --alarms: one problem and its inputs a seed; 1..2000 if not\n"
    "                           given\n"
    "  --device=auto|host|gpu   auto: the GPU if there is one\n"
    "Exit status: 0 measured, 2 bad usage, 3 a false alarm, 4 nothing could be measured.\n";

struct Options {
  bool want_gpu = true, need_gpu = false, help = false;
  std::string errors, alarms, bounds;
  SeedRange seeds{1, 2000};
};

std::uint64_t parse_count(std::string_view flag, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument(std::string(flag) + ": expected FIRST..LAST, such as 1..2000");
  return value;
}

SeedRange parse_seeds(std::string_view flag, std::string_view value) {
  const std::size_t dots = value.find("..");
  const std::string_view last =
      dots == std::string_view::npos ? std::string_view() : value.substr(dots + 2);
  const SeedRange seeds{parse_count(flag, value.substr(0, dots)), parse_count(flag, last)};
  if (seeds.last < seeds.first)
    throw std::invalid_argument(std::string(flag) + ": the last seed is below the first");
  return seeds;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const std::string_view value = flag.substr(std::min(flag.find('=') + 1, flag.size()));
    if (flag == "--help") {
      options.help = true;
    } else if (flag.starts_with("--errors=")) {
      options.errors = value;
    } else if (flag.starts_with("--alarms=")) {
      options.alarms = value;
    } else if (flag.starts_with("--bounds=")) {
      options.bounds = value;
    } else if (flag.starts_with("--seeds=")) {
      options.seeds = parse_seeds(flag, value);
    } else if (flag == "--device=auto" || flag == "--device=host" || flag == "--device=gpu") {
      options.want_gpu = value != "host";
      options.need_gpu = value == "gpu";
    } else {
      throw std::invalid_argument("unknown flag " + std::string(flag) + "; --help lists them");
    }
  }
  if (!options.help && options.errors.empty() && options.alarms.empty() && options.bounds.empty())
    throw std::invalid_argument(
        "--errors=FILE, --alarms=FILE or --bounds=FILE says what is wanted");
  return options;
}

/// A series over k for each kernel, precision and regime.
Json errors(const Device& device) {
  const auto progress = [](Precision precision, Regime regime, std::int64_t k) {
    std::fprintf(stderr, "\r%-4s %-12s k = %-6lld", std::string(name(precision)).c_str(),
                 std::string(name(regime)).c_str(), static_cast<long long>(k));
  };
  std::map<std::tuple<std::string_view, Precision, Regime>, Json> series;
  for (const ErrorRow& row : measure_errors(device, progress)) {
    Json& one = series[{row.kernel, row.precision, row.regime}];
    if (one.empty())
      one = {{"kernel", row.kernel},
             {"precision", name(row.precision)},
             {"regime", name(row.regime)},
             {"m", row.m},
             {"n", row.n},
             {"seeds", row.seeds},
             {"k", Json::array()},
             {"error", Json::array()}};
    one["k"].push_back(row.k);
    one["error"].push_back(std::round(row.error * 1000) / 1000);
  }
  std::fprintf(stderr, "\n");
  Json all = Json::array();
  for (const auto& [key, one] : series) all.push_back(one);
  return all;
}

/// The table of tolerances, f(k), at powers of two.
Json bounds() {
  Json all = Json::array();
  for (const Precision precision :
       {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16})
    for (const Regime regime : calibrated_regimes()) {
      Json ks = Json::array(), fs = Json::array();
      for (std::int64_t k = 16; k <= 65536; k *= 2) {
        ks.push_back(k);
        fs.push_back(bound_coefficient(precision, regime, k) / 0x1p-24);
      }
      all.push_back(
          {{"precision", name(precision)}, {"regime", name(regime)}, {"k", ks}, {"f", fs}});
    }
  return all;
}

Json alarms(const Device& device, SeedRange seeds) {
  Json rows = Json::array();
  for (const Kernel& kernel : kernels()) {
    if (!runs_on(kernel.arch, device)) continue;
    const AlarmRow row = count_alarms(kernel, seeds);
    std::fprintf(stderr, "%-20s %lld examined, %zu alarms\n", std::string(row.kernel).c_str(),
                 static_cast<long long>(row.examined), row.alarms.size());
    rows.push_back({{"kernel", row.kernel},
                    {"vendor", row.vendor},
                    {"examined", row.examined},
                    {"refused", row.refused},
                    {"alarms", row.alarms},
                    {"worst_share_of_bound", row.worst_share_of_bound}});
  }
  return {{"seeds", {seeds.first, seeds.last}}, {"kernels", rows}};
}

bool any_alarm(const Json& alarms) {
  for (const Json& row : alarms["kernels"])
    if (!row["alarms"].empty()) return true;
  return false;
}

ExitCode run(const Options& options) {
  const DeviceChoice choice = choose_device(options.want_gpu);
  if (options.need_gpu && choice.why_host) {
    std::fprintf(stderr, "gemmwatch-calibrate: %s\n", choice.why_host);
    return nothing_measured;
  }
  if (!options.bounds.empty()) write_whole(options.bounds, bounds().dump(1) + "\n");
  if (!options.errors.empty()) write_whole(options.errors, errors(choice.device).dump(1) + "\n");
  if (options.alarms.empty()) return measured;
  const Json found = alarms(choice.device, options.seeds);
  write_whole(options.alarms, found.dump(1) + "\n");
  return any_alarm(found) ? alarm : measured;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    if (!options.help) return run(options);
    std::fputs(usage, stdout);
    return measured;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "gemmwatch-calibrate: %s\n", error.what());
    return bad_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gemmwatch-calibrate: %s\n", error.what());
    return nothing_measured;
  }
}
