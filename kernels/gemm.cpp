// Names, identities and the registry.
#include "kernels/gemm.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <deque>
#include <stdexcept>

namespace gemm {
namespace {

constexpr std::array<std::string_view, 4> layout_names{"nn", "nt", "tn", "tt"};
constexpr std::array<std::string_view, 4> precision_names{"fp32", "tf32", "fp16", "bf16"};
constexpr std::array<std::string_view, 4> arch_names{"host", "any", "sm80", "sm90a"};
constexpr std::array<std::string_view, 10> group_spelling{
    "square", "narrow", "llm", "attention", "large", "decode", "ladder", "smoke", "pr", "tune"};

// In the order of enum Stage. The rates are deliberately low: they bound the time of a plan.
constexpr std::array stages{
    StageInfo{"cpu_naive", "CPU: triple loop", 0.0003},
    StageInfo{"cpu_tiled", "CPU: cache tiles", 0.001},
    StageInfo{"cpu_packed", "CPU: packed panels, SIMD", 0.01},
    StageInfo{"cpu_threaded", "CPU: threads", 0.01},
    StageInfo{"cpu_vendor", "CPU: vendor library", 0.01},
    StageInfo{"naive", "one thread, one output", 0.3},
    StageInfo{"coalesced", "neighbouring threads, neighbouring addresses", 1},
    StageInfo{"tiled", "shared-memory tile", 4},
    StageInfo{"register_tiled_1d", "a column of outputs per thread", 4},
    StageInfo{"register_tiled_2d", "a patch of outputs per thread", 4},
    StageInfo{"vectorized", "16-byte accesses", 4},
    StageInfo{"double_buffered", "the next tile is on its way", 4},
    StageInfo{"warp_tiled", "tiling that matches the warp", 4},
    StageInfo{"pretransposed", "operands brought into the kernel's order first", 4},
    StageInfo{"autotuned", "the tile that fits the problem", 4},
    StageInfo{"wmma", "first tensor-core rung", 20},
    StageInfo{"mma_pipelined", "mma.sync, multi-stage cp.async", 50},
    StageInfo{"wgmma_tma", "the copy engine and the warpgroup", 100},
    StageInfo{"wgmma_specialized", "producer and consumers", 100},
    StageInfo{"wgmma_pingpong", "one epilogue under another mainloop", 100},
    StageInfo{"wgmma_persistent", "both consumers on one wide tile", 100},
    StageInfo{"narrow", "few rows: split k, swap operands", 1},
    StageInfo{"dispatch", "the kernel that a user would call", 20},
    StageInfo{"vendor", "vendor library", 20},
};
static_assert(stages.size() == static_cast<std::size_t>(Stage::vendor) + 1);

template <class Enum, std::size_t size>
std::optional<Enum> lookup(const std::array<std::string_view, size>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

[[noreturn]] void unreadable(std::string_view id, std::string_view part, std::string_view wanted) {
  throw std::invalid_argument("cannot read \"" + std::string(part) + "\" in \"" + std::string(id) +
                              "\": expected " + std::string(wanted));
}

std::int64_t parse_count(std::string_view id, std::string_view part, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0)
    unreadable(id, part, "a count such as 128");
  return value;
}

// Scalars of an id are written without a minus sign, which test filters give a meaning of their
// own.
std::string scalar_text(double value) {
  std::array<char, 32> digits{};
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), std::abs(value));
  return (std::signbit(value) ? "neg" : "") + std::string(digits.data(), end);
}

double parse_scalar(std::string_view id, std::string_view part, std::string_view text) {
  const bool negative = text.starts_with("neg");
  if (negative) text.remove_prefix(3);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) ||
      std::signbit(value))
    unreadable(id, part, "a number such as 0.5 or neg2");
  return negative ? -value : value;
}

void parse_option(std::string_view id, std::string_view part, Problem& problem) {
  const std::size_t equals = part.find('=');
  const std::string_view key = part.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
  if (key == "batch") {
    problem.batch = parse_count(id, part, value);
  } else if (key == "alpha") {
    problem.alpha = parse_scalar(id, part, value);
  } else if (key == "beta") {
    problem.beta = parse_scalar(id, part, value);
  } else if (key == "pad") {
    const auto pads = split(value, '.');
    if (pads.size() != 3) unreadable(id, part, "pad=A.B.C");
    problem.pad = {parse_count(id, part, pads[0]), parse_count(id, part, pads[1]),
                   parse_count(id, part, pads[2])};
  } else {
    unreadable(id, part, "batch=, alpha=, beta= or pad=");
  }
}

std::vector<Kernel>& registered() {
  static std::vector<Kernel> all;
  return all;
}

std::vector<Kernel> ordered() {
  std::vector<Kernel> all = registered();
  std::sort(all.begin(), all.end(), [](const Kernel& x, const Kernel& y) {
    return x.stage != y.stage ? x.stage < y.stage : x.name < y.name;
  });
  std::vector<std::string_view> names;
  for (const Kernel& kernel : all) names.push_back(kernel.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    throw std::logic_error("two kernels are registered as \"" + std::string(*twice) +
                           "\": a benchmark id must name one");
  return all;
}

}  // namespace

double Problem::flops() const {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k) * static_cast<double>(batch);
}

double Problem::bytes() const {
  const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const double c_passes = beta == 0 ? 1 : 2;
  return static_cast<double>(element_bytes(precision)) * static_cast<double>(batch) *
         (m * k + k * n + c_passes * m * n);
}

std::string Problem::id() const {
  std::string id;
  id.append(name(precision)).append("/").append(name(layout)).append("/");
  id += std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
  if (batch != 1) id += "/batch=" + std::to_string(batch);
  if (alpha != 1) id += "/alpha=" + scalar_text(alpha);
  if (beta != 0) id += "/beta=" + scalar_text(beta);
  if (pad.a != 0 || pad.b != 0 || pad.c != 0)
    id +=
        "/pad=" + std::to_string(pad.a) + "." + std::to_string(pad.b) + "." + std::to_string(pad.c);
  return id;
}

Problem parse_problem(std::string_view id) {
  const auto parts = split(id, '/');
  if (parts.size() < 3) unreadable(id, id, "<precision>/<layout>/<m>x<n>x<k>");
  Problem problem;
  if (const auto precision = lookup<Precision>(precision_names, parts[0]))
    problem.precision = *precision;
  else
    unreadable(id, parts[0], "fp32, tf32, fp16 or bf16");
  if (const auto layout = lookup<Layout>(layout_names, parts[1]))
    problem.layout = *layout;
  else
    unreadable(id, parts[1], "nn, nt, tn or tt");
  const auto sides = split(parts[2], 'x');
  if (sides.size() != 3) unreadable(id, parts[2], "<m>x<n>x<k>");
  problem.shape = {parse_count(id, parts[2], sides[0]), parse_count(id, parts[2], sides[1]),
                   parse_count(id, parts[2], sides[2])};
  for (std::size_t i = 3; i < parts.size(); ++i) parse_option(id, parts[i], problem);
  return problem;
}

std::string_view name(Precision precision) {
  return precision_names[static_cast<std::size_t>(precision)];
}
std::string_view name(Layout layout) { return layout_names[static_cast<std::size_t>(layout)]; }
std::string_view name(Arch arch) { return arch_names[static_cast<std::size_t>(arch)]; }
const StageInfo& info(Stage stage) { return stages[static_cast<std::size_t>(stage)]; }

std::size_t element_bytes(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

std::vector<std::string_view> group_names(unsigned groups) {
  std::vector<std::string_view> names;
  for (std::size_t bit = 0; bit < group_spelling.size(); ++bit)
    if (groups & (1u << bit)) names.push_back(group_spelling[bit]);
  return names;
}

Register::Register(const Kernel& kernel, std::string_view suffix) {
  registered().push_back(kernel);
  if (suffix.empty()) return;
  // Kernels refer to their names, and live as long as the program.
  static std::deque<std::string> names;
  Kernel& form = registered().back();
  form.name = names.emplace_back(std::string(kernel.name).append(suffix));
  form.configuration = true;
  form.tile = {};
}

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all = ordered();
  return all;
}

const Kernel& find_kernel(std::string_view name) {
  std::string known;
  for (const Kernel& kernel : kernels()) {
    if (kernel.name == name) return kernel;
    known.append(known.empty() ? "" : ", ").append(kernel.name);
  }
  throw std::invalid_argument("no kernel is named \"" + std::string(name) + "\"; there are " +
                              known);
}

const Kernel& control_of(Space wanted) {
  for (const Kernel& kernel : kernels())
    if (kernel.control && space(kernel.arch) == wanted) return kernel;
  throw std::logic_error("no control kernel is registered for this device");
}

}  // namespace gemm
