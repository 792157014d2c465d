#include "bench/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>

#include "bench/protocol.hpp"
#include "kernels/fault.hpp"

namespace gemm {
namespace {

constexpr std::string_view prefix = "--gemmwatch_";

template <class Number>
Number parse_number(std::string_view flag, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0)
    throw std::invalid_argument(std::string(flag) + " wants a number that is not negative, not \"" +
                                std::string(text) + "\"");
  return value;
}

Slowdown parse_slowdown(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !text.ends_with('%'))
    throw std::invalid_argument("--gemmwatch_slow wants <kernel>:<percent>%, such as tiled:5%");
  const std::string_view kernel = text.substr(0, colon);
  const std::string_view percent = text.substr(colon + 1, text.size() - colon - 2);
  find_kernel(kernel);  // a misspelt name must not inject nothing, silently
  return {std::string(kernel), parse_number<double>("--gemmwatch_slow", percent) / 100};
}

constexpr std::array<std::string_view, 3> load_names{"trial", "sustained", "burst"};

void set_load(Options& options, std::string_view text) {
  const auto found = std::find(load_names.begin(), load_names.end(), text);
  if (found == load_names.end())
    throw std::invalid_argument("--gemmwatch_load wants trial, sustained or burst, not \"" +
                                std::string(text) + "\"");
  options.load = static_cast<Load>(found - load_names.begin());
}

void set_device(Options& options, std::string_view text) {
  if (text != "auto" && text != "host" && text != "gpu")
    throw std::invalid_argument("--gemmwatch_device wants auto, host or gpu, not \"" +
                                std::string(text) + "\"");
  options.want_gpu = text != "host";
  options.require_gpu = text == "gpu";
}

using Setter = std::function<void(Options&, std::string_view)>;
const std::map<std::string_view, Setter>& setters() {
  static const std::map<std::string_view, Setter> all = {
      {"selection", [](Options& o, std::string_view v) { o.selection = parse_selection(v); }},
      {"device", set_device},
      {"seed",
       [](Options& o, std::string_view v) {
         o.seed = parse_number<std::uint64_t>("--gemmwatch_seed", v);
       }},
      {"points", [](Options& o, std::string_view v) { o.points_file = v; }},
      {"journal", [](Options& o, std::string_view v) { o.journal_file = v; }},
      {"choices", [](Options& o, std::string_view v) { o.choices_file = v; }},
      {"list", [](Options& o, std::string_view v) { o.list_file = v; }},
      {"load", set_load},
      {"slow", [](Options& o, std::string_view v) { o.slow = parse_slowdown(v); }},
  };
  return all;
}

void take(Options& options, std::string_view argument) {
  const std::string_view body = argument.substr(prefix.size());
  const std::size_t equals = body.find('=');
  const auto setter = setters().find(body.substr(0, equals));
  if (setter == setters().end() || equals == std::string_view::npos)
    throw std::invalid_argument("unknown flag " + std::string(argument) + "; --help lists them");
  setter->second(options, body.substr(equals + 1));
}

}  // namespace

std::string Options::injected() const {
  if (!planted_fault.empty()) return "fault:" + std::string(planted_fault);
  if (slow.kernel.empty()) return "";
  std::string percent = std::to_string(slow.fraction * 100);
  percent.erase(percent.find_last_not_of('0') + 1);
  if (percent.ends_with('.')) percent.pop_back();
  return "slow:" + slow.kernel + ":" + percent + "%";
}

std::string Options::harness() const {
  std::string named(protocol::harness);
  if (load != Load::trial) named.append(" ").append(load_names[static_cast<std::size_t>(load)]);
  return named;
}

Options take_options(int& argc, char** argv) {
  Options options;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") options.help = true;
    if (argument.starts_with(prefix))
      take(options, argument);
    else
      argv[kept++] = argv[i];
  }
  argc = kept;
  return options;
}

const char* options_help() {
  return "gemmwatch-bench: one trial of the GEMM suite, as a Google Benchmark program\n"
         "          [--gemmwatch_selection={smoke|pr|full|tune|lessons}] which points (smoke)\n"
         "          [--gemmwatch_device={auto|host|gpu}]      where (auto: the GPU if there is "
         "one)\n"
         "          [--gemmwatch_seed=<number>]               inputs and order of the points (1)\n"
         "          [--gemmwatch_points=<file>]               only these ids, one a line\n"
         "          [--gemmwatch_journal=<file>]              append \"begin <id>\" before each "
         "point\n"
         "          [--gemmwatch_choices=<file>]              chosen variants; tuned if absent\n"
         "          [--gemmwatch_list=<file>]                 write the catalog, measure nothing\n"
         "          [--gemmwatch_load={trial|sustained|burst}] what the device does meanwhile "
         "(trial)\n"
         "          [--gemmwatch_slow=<kernel>:<percent>%]    lengthen a kernel, to test a gate\n"
         "exit: 0 done, 2 bad usage, 3 a result was incorrect, 70 the GPU's context was lost\n";
}

}  // namespace gemm
