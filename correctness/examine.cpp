#include "correctness/examine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "correctness/engine.hpp"
#include "correctness/guarded.hpp"
#include "correctness/inputs.hpp"
#include "correctness/load.hpp"
#include "correctness/oracle.hpp"

namespace gemm {
namespace {

constexpr unsigned char nan_bytes = 0xff;

/// What differs between one launch and the next, and must not matter.
struct Surroundings {
  unsigned char guard_byte;
  std::uint16_t nan_payload;
};
constexpr Surroundings surroundings[] = {{nan_bytes, 0x01}, {0x00, 0x2a}};

/// The workspace of the space, allocated once.
const Guarded& workspace(Space space, bool bands) {
  static const Guarded* lent[2][2] = {};
  const Guarded*& chosen = lent[space == Space::gpu][bands];
  if (!chosen) chosen = new Guarded(space, workspace_bytes, bands);
  return *chosen;
}

std::string text(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.3g", value);
  return digits;
}

/// The launches of one kernel on one problem, and what was wrong with them.
class Examiner {
 public:
  Examiner(const Kernel& kernel, const Problem& problem, Regime regime, std::uint64_t seed,
           const ExamineOptions& options)
      : kernel_(kernel),
        problem_(problem),
        options_(options),
        space_(space(kernel.arch)),
        inputs_(problem, regime, seed, space_),
        expected_(options.watched ? Expected(problem, Inputs(problem, regime, seed, Space::host))
                                  : Expected(problem, inputs_)),
        workspace_(workspace(space_, !options.watched)),
        a_(space_, inputs_.a.bytes(), !options.watched),
        b_(space_, inputs_.b.bytes(), !options.watched),
        c_(space_, inputs_.c.bytes(), !options.watched),
        first_(space_, inputs_.c.bytes()),
        guards_({{&a_, "A"}, {&b_, "B"}, {&c_, "C"}, {&workspace_, "the workspace"}}) {}

  Examination run() {
    if (!has_product()) {
      fill(inputs_.a, nan_bytes);
      fill(inputs_.b, nan_bytes);
    }
    put(inputs_.a, a_);
    put(inputs_.b, b_);
    const int variants = kernel_.variants ? kernel_.variants(problem_) : 1;
    for (int variant = 0; variant < variants; ++variant) {
      prefix_ = kernel_.variants ? "variant " + std::to_string(variant) + ": " : "";
      if (!options_.watched) soil_workspace();
      for (int i = 0; i < options_.launches; ++i) launch_and_check(variant, i);
      if (examination_.passed()) check_on_other_inputs(variant);
    }
    prefix_.clear();
    if (differ(inputs_.a, a_)) fail(checks::inputs, "A changed");
    if (differ(inputs_.b, b_)) fail(checks::inputs, "B changed");
    return std::move(examination_);
  }

 private:
  bool has_product() const { return problem_.alpha != 0 && problem_.shape.k > 0; }

  void put(const Buffer& from, const Guarded& to) const {
    copy(to.data(), space_, from.data(), space_, from.bytes());
  }

  bool differ(const Buffer& x, const Guarded& y) const {
    const auto count = static_cast<std::int64_t>(x.bytes() / element_bytes(problem_.precision));
    return engine(space_).differences(problem_.precision, count, x.data(), y.data()).wrong > 0;
  }

  /// Kernels use the workspace from its beginning; all of it would take longer than the launch.
  void soil_workspace() const {
    const Bands beginning{.begin = {static_cast<unsigned char*>(workspace_.data())},
                          .chunks = (std::int64_t{1} << 20) / Bands::chunk,
                          .count = 1};
    engine(space_).set(beginning, nan_bytes);
  }

  /// C as the launch finds it.
  void prepare(const Surroundings& around) const {
    guards_.set(around.guard_byte);
    const bool unspecified = problem_.beta == 0 && problem_.pad.c == 0;
    if (options_.watched && unspecified) return;
    put(inputs_.c, c_);
    if (problem_.beta == 0) poison(problem_, c_.data(), space_, around.nan_payload);
  }

  void launch(int variant, void* stream) const {
    kernel_.launch(problem_, {.a = a_.data(),
                              .b = b_.data(),
                              .c = c_.data(),
                              .workspace = workspace_.data(),
                              .stream = stream,
                              .variant = variant});
    synchronize(space_);
  }

  void launch_and_check(int variant, int number) {
    const Surroundings& around = surroundings[number % 2];
    prepare(around);
    synchronize(space_);
    if (number == 0) {
      launch(variant, nullptr);
    } else {
      load(space_).begin();
      launch(variant, load(space_).stream());
    }

    if (number < 2 || !kernel_.deterministic) judge();
    if (const std::string changed = guards_.changed(around.guard_byte); !changed.empty())
      fail(checks::memory, changed);
    if (number == 0) {
      copy(first_.data(), space_, c_.data(), space_, first_.bytes());
    } else if (kernel_.deterministic && differ(first_, c_)) {
      fail(checks::repeat, "launch " + std::to_string(number + 1) +
                               " on the same inputs gave other bits than the first");
    }
  }

  /// With A and C0 negated, the negative of C must be correct. A tensor core does not promise to
  /// truncate symmetrically, so that the bits may differ.
  void check_on_other_inputs(int variant) {
    if (!has_product() || options_.watched) return;
    negate_a(problem_, a_.data(), space_);
    prepare(surroundings[0]);
    negate_c(problem_, c_.data(), space_);
    synchronize(space_);
    launch(variant, nullptr);
    negate_a(problem_, a_.data(), space_);
    negate_c(problem_, c_.data(), space_);
    synchronize(space_);
    if (const Findings findings = expected_.compare(c_.data()); findings.wrong > 0)
      fail(checks::stale, "with A and C negated, of the negated result: " + findings.message());
  }

  /// Empty if C is there already.
  Buffer c_where_the_oracle_is() const {
    if (expected_.space() == space_) return {};
    Buffer c(expected_.space(), c_.bytes());
    copy(c.data(), c.space(), c_.data(), space_, c.bytes());
    return c;
  }

  void judge() {
    const Buffer elsewhere = c_where_the_oracle_is();
    const void* c = elsewhere.bytes() > 0 ? elsewhere.data() : c_.data();
    const Findings findings = expected_.compare(c);
    examination_.worst_share_of_bound =
        std::max(examination_.worst_share_of_bound, findings.worst_share_of_bound);
    if (findings.passed()) return;
    fail(findings.wrong > 0 ? checks::result : checks::padding,
         findings.message() + in_units_of_the_bound(findings));
    if (findings.first && !examination_.mask)
      examination_.mask = expected_.mask(c, findings.first->batch);
  }

  /// The first wrong element's deviation beside that of FP32's unit roundoff in each product.
  std::string in_units_of_the_bound(const Findings& findings) const {
    if (!findings.first || !has_product()) return {};
    const auto& [batch, row, column, got, exact, low, high] = *findings.first;
    const double sum = absolute_sum(problem_, inputs_, batch, row, column);
    const double unit = std::abs(problem_.alpha) * 0x1p-24 * sum, off = std::abs(got - exact);
    if (!std::isfinite(off) || !(unit > 0)) return {};
    return "; off by " + text(off) + " = " + text(off / unit) + " |alpha| u S, S = " + text(sum);
  }

  void fail(std::string_view check, const std::string& message) {
    examination_.failures.push_back({check, prefix_ + message});
  }

  const Kernel& kernel_;
  const Problem& problem_;
  const ExamineOptions& options_;
  Space space_;
  Inputs inputs_;  ///< as drawn; the kernel works on copies
  Expected expected_;
  const Guarded& workspace_;
  Guarded a_, b_, c_;
  Buffer first_;  ///< the first launch's C
  Guards guards_;
  std::string prefix_;  ///< names the variant, where there are several
  Examination examination_;
};

}  // namespace

Examination examine(const Kernel& kernel, const Problem& problem, Regime regime, std::uint64_t seed,
                    const ExamineOptions& options) {
  try {
    return Examiner(kernel, problem, regime, seed, options).run();
  } catch (const std::runtime_error& error) {
    return {.failures = {{checks::launch, error.what()}}, .mask = {}};
  }
}

}  // namespace gemm
