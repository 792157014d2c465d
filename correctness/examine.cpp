#include "correctness/examine.hpp"

#include <algorithm>
#include <stdexcept>

#include "correctness/expected.hpp"

namespace gemm {
namespace {

constexpr std::size_t guard_bytes = 4096;
constexpr unsigned char guard_byte = 0xff;
constexpr std::uint16_t nan_payloads[] = {0x01, 0x2a};

using Bytes = std::vector<unsigned char>;

Bytes bytes_of(const Buffer& buffer) {
  Bytes bytes(buffer.bytes());
  copy(bytes.data(), Space::host, buffer.data(), buffer.space(), bytes.size());
  return bytes;
}

/// C as a launch finds it, with a guard band behind it.
Buffer guarded_c(const Problem& problem, const Inputs& inputs, std::uint16_t nan_payload) {
  Buffer c(inputs.c.space(), inputs.c.bytes() + guard_bytes);
  fill(c, guard_byte);
  copy(c.data(), c.space(), inputs.c.data(), inputs.c.space(), inputs.c.bytes());
  if (problem.beta == 0) poison(problem, c, nan_payload);
  return c;
}

bool guard_changed(const Bytes& c) {
  return std::any_of(c.end() - static_cast<std::ptrdiff_t>(guard_bytes), c.end(),
                     [](unsigned char byte) { return byte != guard_byte; });
}

/// The launches of one kernel on one problem, and what was wrong with them.
class Examiner {
 public:
  Examiner(const Kernel& kernel, const Problem& problem, Regime regime, std::uint64_t seed,
           const Buffer& workspace)
      : kernel_(kernel),
        problem_(problem),
        inputs_(problem, regime, seed, space(kernel.arch)),
        expected_(problem, inputs_),
        workspace_(workspace) {}

  Examination run() {
    if (problem_.alpha == 0 || problem_.shape.k == 0) {
      fill(inputs_.a, 0xff);
      fill(inputs_.b, 0xff);
    }
    const Bytes a = bytes_of(inputs_.a), b = bytes_of(inputs_.b);
    const int variants = kernel_.variants ? kernel_.variants(problem_) : 1;
    for (int variant = 0; variant < variants; ++variant) {
      prefix_ = kernel_.variants ? "variant " + std::to_string(variant) + ": " : "";
      launch_twice(variant);
    }
    prefix_.clear();
    if (bytes_of(inputs_.a) != a) fail(checks::inputs, "A changed");
    if (bytes_of(inputs_.b) != b) fail(checks::inputs, "B changed");
    return std::move(examination_);
  }

 private:
  void launch_twice(int variant) {
    Bytes first;
    for (const std::uint16_t payload : nan_payloads) {
      Bytes result = launch(variant, payload);
      if (first.empty()) {
        first = std::move(result);
      } else if (first != result) {
        fail(checks::repeat, "a second launch on the same inputs gave other bits");
      }
    }
  }

  /// One launch and what its result is worth by itself.
  Bytes launch(int variant, std::uint16_t nan_payload) {
    const Buffer c = guarded_c(problem_, inputs_, nan_payload);
    kernel_.launch(problem_, {.a = inputs_.a.data(),
                              .b = inputs_.b.data(),
                              .c = c.data(),
                              .workspace = workspace_.data(),
                              .variant = variant});
    synchronize(c.space());

    const Findings findings = expected_.compare(c);
    examination_.worst_share_of_bound =
        std::max(examination_.worst_share_of_bound, findings.worst_share_of_bound);
    if (!findings.passed())
      fail(findings.wrong > 0 ? checks::result : checks::padding, findings.message(problem_));
    Bytes bytes = bytes_of(c);
    if (guard_changed(bytes)) fail(checks::memory, "bytes behind the end of C changed");
    return bytes;
  }

  void fail(std::string_view check, const std::string& message) {
    examination_.failures.push_back({check, prefix_ + message});
  }

  const Kernel& kernel_;
  const Problem& problem_;
  Inputs inputs_;
  Expected expected_;
  const Buffer& workspace_;
  std::string prefix_;  ///< names the variant, where there are several
  Examination examination_;
};

}  // namespace

Examination examine(const Kernel& kernel, const Problem& problem, Regime regime, std::uint64_t seed,
                    const Buffer& workspace) {
  try {
    return Examiner(kernel, problem, regime, seed, workspace).run();
  } catch (const std::runtime_error& error) {
    return {.failures = {{checks::launch, error.what()}}};
  }
}

}  // namespace gemm
