#include "correctness/check_options.hpp"

#include <charconv>
#include <stdexcept>
#include <string_view>

namespace gemm {
namespace {

std::uint64_t parse_seed(std::string_view text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument("--seed=" + std::string(text) + ": expected a whole number");
  return seed;
}

void parse_device(CheckOptions& options, std::string_view device) {
  if (device != "auto" && device != "host" && device != "gpu")
    throw std::invalid_argument("--device=" + std::string(device) + ": expected auto, host or gpu");
  options.want_gpu = device != "host";
  options.need_gpu = device == "gpu";
}

void parse_flag(CheckOptions& options, std::string_view flag) {
  const std::size_t equals = flag.find('=');
  const std::string_view name = flag.substr(0, equals);
  if (equals != std::string_view::npos) {
    const std::string_view value = flag.substr(equals + 1);
    if (name == "--device") return parse_device(options, value);
    if (name == "--seed") return void(options.seed = parse_seed(value));
    if (name == "--kernel") return void(options.kernel = &find_kernel(value));
    if (name == "--problem") return void(options.problem = parse_problem(value));
    if (name == "--selection") return void(options.selection = parse_selection(value));
  }
  throw std::invalid_argument("unknown flag " + std::string(flag) + "; --help lists them");
}

}  // namespace

const char* const check_usage =
    "gemmwatch-check: launches every kernel on problems full of edges and judges each result.\n"
    "  --kernel=NAME                 this kernel only\n"
    "  --problem=ID                  this problem only, such as bf16/nt/64x64x64/beta=1\n"
    "  --selection=smoke|pr|full     the problems of a sweep, as the benchmark selects them\n"
    "  --device=auto|host|gpu        auto: the GPU if there is one\n"
    "  --seed=N                      of the inputs; 1 if not given\n"
    "and every flag of GoogleTest (--help shows them; --gtest_list_tests, --gtest_filter=...).\n"
    "Exit status: 0 all correct, 2 bad usage, 3 incorrect results, 4 nothing could be checked.\n";

CheckOptions parse_check_options(int argc, const char* const* argv) {
  CheckOptions options;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") {
      options.help = true;
    } else {
      parse_flag(options, argv[i]);
    }
  }
  if (options.problem && options.selection)
    throw std::invalid_argument("--problem and --selection exclude each other");
  // A host kernel is checked on the host, whatever else the machine has.
  if (options.kernel && options.kernel->arch == Arch::host) {
    if (options.need_gpu)
      throw std::invalid_argument("--device=gpu: " + std::string(options.kernel->name) +
                                  " is a host kernel");
    options.want_gpu = false;
  }
  return options;
}

}  // namespace gemm
