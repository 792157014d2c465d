#include "correctness/examine.hpp"

#include <algorithm>

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

/// Two launches of one variant.
std::vector<std::string> examine_variant(const Kernel& kernel, const Problem& problem,
                                         const Inputs& inputs, const Expected& expected,
                                         const Buffer& workspace, int variant) {
  std::vector<std::string> faults;
  Bytes first;
  for (const std::uint16_t payload : nan_payloads) {
    const Buffer c = guarded_c(problem, inputs, payload);
    kernel.launch(problem, {.a = inputs.a.data(),
                            .b = inputs.b.data(),
                            .c = c.data(),
                            .workspace = workspace.data(),
                            .variant = variant});
    synchronize(c.space());

    const Findings findings = expected.compare(c);
    if (!findings.passed()) faults.push_back("result: " + findings.message(problem));
    Bytes result = bytes_of(c);
    if (guard_changed(result)) faults.push_back("memory: bytes behind the end of C changed");
    if (first.empty()) {
      first = std::move(result);
    } else if (first != result) {
      faults.push_back("repeat: a second launch on the same inputs gave other bits");
    }
  }
  return faults;
}

}  // namespace

std::vector<std::string> examine(const Kernel& kernel, const Problem& problem, Regime regime,
                                 std::uint64_t seed, const Buffer& workspace) {
  const Inputs inputs(problem, regime, seed, space(kernel.arch));
  const Expected expected(problem, inputs);
  if (problem.alpha == 0 || problem.shape.k == 0) {
    fill(inputs.a, 0xff);
    fill(inputs.b, 0xff);
  }
  const Bytes a = bytes_of(inputs.a), b = bytes_of(inputs.b);

  std::vector<std::string> faults;
  const int variants = kernel.variants ? kernel.variants(problem) : 1;
  for (int variant = 0; variant < variants; ++variant)
    for (std::string& fault :
         examine_variant(kernel, problem, inputs, expected, workspace, variant))
      faults.push_back(kernel.variants ? "variant " + std::to_string(variant) + ": " + fault
                                       : std::move(fault));
  if (bytes_of(inputs.a) != a) faults.push_back("inputs: A changed");
  if (bytes_of(inputs.b) != b) faults.push_back("inputs: B changed");
  return faults;
}

}  // namespace gemm
