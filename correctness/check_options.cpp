#include "correctness/check_options.hpp"

#include <charconv>
#include <stdexcept>
#include <string_view>

namespace gemm {
namespace {

template <class Number>
Number parse_number(std::string_view flag, std::string_view text, Number least) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least)
    throw std::invalid_argument(std::string(flag) + "=" + std::string(text) +
                                ": expected a whole number, at least " + std::to_string(least));
  return number;
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
    if (name == "--seed") return void(options.seed = parse_number<std::uint64_t>(name, value, 0));
    if (name == "--launches") return void(options.launches = parse_number(name, value, 1));
    if (name == "--fuzz") return void(options.fuzz = parse_number(name, value, 1));
    if (name == "--regime") return void(options.regime = parse_regime(value));
    if (name == "--mask-dir") return void(options.mask_dir = value);
    if (name == "--kernel") return void(options.kernel = &find_kernel(value));
    if (name == "--problem") return void(options.problem = parse_problem(value));
    if (name == "--selection") return void(options.selection = parse_selection(value));
  }
  if (flag == "--huge") return void(options.huge = true);
  if (flag == "--under-sanitizer") return void(options.under_sanitizer = true);
  if (flag == "--under-emulation") return void(options.under_emulation = true);
  if (flag == "--help") return void(options.help = true);
  throw std::invalid_argument("unknown flag " + std::string(flag) + "; --help lists them");
}

}  // namespace

const char* const check_usage =
    "gemmwatch-check: launches every kernel on problems full of edges and judges each result.\n"
    "  --kernel=NAME                 this kernel only\n"
    "What to check, by default a list of edges:\n"
    "  --problem=ID                  this problem only, such as bf16/nt/64x64x64/beta=1\n"
    "  --selection=NAME              the points of smoke, pr, full or tune, as the benchmark does\n"
    "  --huge                        more than 2^31 elements, more than 65535 tiles; GPU only\n"
    "  --fuzz=N                      N random problems a kernel; a failure is shrunk\n"
    "  --under-sanitizer             a short list, for compute-sanitizer (see scripts/sanitize)\n"
    "  --under-emulation             a short list, for CUDA rungs on a host (kernels/emulation)\n"
    "How:\n"
    "  --device=auto|host|gpu        auto: the GPU if there is one\n"
    "  --regime=NAME                 inputs of this class only, such as wide_integer\n"
    "  --seed=N                      of the inputs and of --fuzz; 1 if not given\n"
    "  --launches=N                  equal launches, bit for bit, of each variant; 2 if not given\n"
    "  --mask-dir=DIR                write there where in C a result is wrong, for `gemmwatch "
    "wrong`\n"
    "and every flag of GoogleTest (--help shows them; --gtest_list_tests, --gtest_filter=...).\n"
    "Exit status: 0 all correct, 2 bad usage, 3 incorrect results, 4 nothing could be checked.\n";

CheckOptions parse_check_options(int argc, const char* const* argv) {
  CheckOptions options;
  for (int i = 1; i < argc; ++i) parse_flag(options, argv[i]);
  const int lists = options.problem.has_value() + options.selection.has_value() + options.huge +
                    (options.fuzz > 0) + options.under_sanitizer + options.under_emulation;
  if (lists > 1)
    throw std::invalid_argument(
        "--problem, --selection, --huge, --fuzz, --under-sanitizer and --under-emulation exclude "
        "each other");
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
