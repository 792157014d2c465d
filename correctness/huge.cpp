#include "correctness/huge.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

#include "correctness/draw.hpp"
#include "correctness/engine.hpp"
#include "correctness/freivalds.hpp"
#include "correctness/guarded.hpp"

namespace gemm {
namespace {

constexpr std::int64_t past_31_bits = std::int64_t{1} << 31;
constexpr std::int64_t rows_of_a_sample = 16;
constexpr unsigned char nan_bytes = 0xff;

// 65544 x 32776 elements are just past 2^31; 16777224 rows are past 65535 tiles of 256.
constexpr std::array<Shape, 6> shapes{{{65544, 32776, 64},
                                       {65544, 64, 32776},
                                       {64, 65544, 32776},
                                       {16777224, 8, 16},
                                       {8, 16777224, 16},
                                       {32776, 32776, 32776}}};

/// Where samples begin, in rows of the whole batch.
std::set<std::int64_t> sample_starts(const Problem& problem, std::uint64_t seed) {
  const std::int64_t rows = problem.batch * problem.shape.m;
  const std::int64_t last = std::max<std::int64_t>(rows - rows_of_a_sample, 0);
  std::set<std::int64_t> starts{0, last};
  // The rows whose elements of C, or of A if it is stored by rows, have the first index past 31
  // bits.
  for (const std::int64_t row_length : {problem.ldc(), problem.lda()})
    for (const std::int64_t index : {past_31_bits, 2 * past_31_bits})
      starts.insert(std::min(index / row_length - rows_of_a_sample / 2, last));
  for (std::uint64_t i = 0; i < 4; ++i)
    starts.insert(static_cast<std::int64_t>(mix(mix(seed) + i) >> 1) % (last + 1));
  return starts;
}

class SampleExaminer {
 public:
  SampleExaminer(const Kernel& kernel, const Problem& problem, Regime regime, std::uint64_t seed)
      : kernel_(kernel),
        problem_(problem),
        seed_(seed),
        space_(space(kernel.arch)),
        inputs_(problem, regime, seed, space_),
        c_(space_, inputs_.c.bytes()),
        workspace_(space_, workspace_bytes),
        guards_({{&c_, "C"}, {&workspace_, "the workspace"}}) {}

  Examination run() {
    launch();
    if (inputs_.regime == Regime::sparse_integer) check_all_rows();
    for (const std::int64_t start : sample_starts(problem_, seed_)) check_sample(start);
    if (const std::string changed = guards_.changed(nan_bytes); !changed.empty())
      fail(checks::memory, changed);
    const Tally padding = engine(space_).judge_padding(
        problem_.precision, {problem_.batch * problem_.shape.m, problem_.shape.n, problem_.ldc()},
        c_.data());
    if (padding.wrong > 0)
      fail(checks::padding, std::to_string(padding.wrong) + " elements beyond column n changed");
    check_inputs();
    return std::move(examination_);
  }

 private:
  void launch() {
    guards_.set(nan_bytes);
    copy(c_.data(), space_, inputs_.c.data(), space_, c_.bytes());
    if (problem_.beta == 0) poison(problem_, c_.data(), space_, 1);
    synchronize(space_);
    kernel_.launch(problem_, {.a = inputs_.a.data(),
                              .b = inputs_.b.data(),
                              .c = c_.data(),
                              .workspace = workspace_.data()});
    synchronize(space_);
  }

  void check_all_rows() {
    const auto wrong = Freivalds(problem_, inputs_, seed_).first_wrong_row(c_.data());
    if (wrong)
      fail(checks::result, "Freivalds' check fails first in batch " + std::to_string(wrong->batch) +
                               ", row " + std::to_string(wrong->row));
  }

  void check_sample(std::int64_t start) {
    const std::int64_t rows = problem_.batch * problem_.shape.m - start;
    const Expected expected(problem_, inputs_, Rows{start, std::min(rows, rows_of_a_sample)});
    const Findings findings = expected.compare(c_.data());
    examination_.worst_share_of_bound =
        std::max(examination_.worst_share_of_bound, findings.worst_share_of_bound);
    if (findings.wrong > 0) fail(checks::result, "sampled rows: " + findings.message());
  }

  void check_inputs() {
    const Inputs drawn_again(problem_, inputs_.regime, seed_, space_);
    const auto differ = [&](const Buffer& x, const Buffer& y) {
      const auto count = static_cast<std::int64_t>(x.bytes() / element_bytes(problem_.precision));
      return engine(space_).differences(problem_.precision, count, x.data(), y.data()).wrong > 0;
    };
    if (differ(inputs_.a, drawn_again.a)) fail(checks::inputs, "A changed");
    if (differ(inputs_.b, drawn_again.b)) fail(checks::inputs, "B changed");
  }

  void fail(std::string_view check, const std::string& message) {
    examination_.failures.push_back({check, message});
  }

  const Kernel& kernel_;
  const Problem& problem_;
  std::uint64_t seed_;
  Space space_;
  Inputs inputs_;
  Guarded c_, workspace_;
  Guards guards_;
  Examination examination_;
};

double stored_bytes(const Problem& problem) {
  return static_cast<double>(problem.batch *
                             (problem.a_stride() + problem.b_stride() + problem.c_stride())) *
         static_cast<double>(element_bytes(problem.precision));
}

/// The matrices up to three times, B in FP64, and either samples or all of C in FP64 and FP32.
double needed_bytes(const Problem& problem) {
  const auto b = static_cast<double>(problem.b_stride());
  const auto c = static_cast<double>(problem.batch * problem.c_stride());
  return 3 * stored_bytes(problem) + 8 * b + (needs_sample(problem) ? 4e9 : 12 * c);
}

std::string gigabytes(double bytes) {
  return std::to_string(static_cast<long>(bytes / 1e9 + 1)) + " GB";
}

}  // namespace

std::vector<Problem> huge_problems() {
  std::vector<Problem> problems;
  for (const Precision precision :
       {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16}) {
    for (const Shape& shape : shapes) problems.push_back({.shape = shape, .precision = precision});
    problems.push_back({.shape = {8, 8, 16}, .precision = precision, .batch = 65544});
    // Stored the other way, the long side is the other one's.
    problems.push_back(
        {.shape = {64, 65544, 32776}, .precision = precision, .layout = Layout::nt, .beta = 1});
    problems.push_back({.shape = {65544, 64, 32776}, .precision = precision, .layout = Layout::tn});
  }
  return problems;
}

bool needs_sample(const Problem& problem) {
  constexpr double most_flops = 2e13;
  constexpr std::int64_t most_elements = std::int64_t{1} << 30;
  return problem.flops() > most_flops ||
         problem.batch * problem.shape.m * problem.shape.n > most_elements;
}

Examination examine_by_sample(const Kernel& kernel, const Problem& problem, Regime regime,
                              std::uint64_t seed) {
  try {
    return SampleExaminer(kernel, problem, regime, seed).run();
  } catch (const std::runtime_error& error) {
    return {.failures = {{checks::launch, error.what()}}, .mask = {}};
  }
}

Refusal refuses_huge(const Kernel& kernel, const Problem& problem, const Device& device) {
  constexpr double longest_s = 5;
  if (device.space == Space::host)
    return "a host would need minutes and " + gigabytes(needed_bytes(problem)) +
           "; huge problems are for a GPU";
  if (Refusal reason = kernel.refuses(problem)) return reason;
  if (const double seconds = longest_launch_s(kernel, problem); seconds > longest_s)
    return "a launch might take " + std::to_string(static_cast<long>(seconds)) + " s";
  if (needed_bytes(problem) > static_cast<double>(free_gpu_bytes()))
    return "the check needs " + gigabytes(needed_bytes(problem)) + " of GPU memory";
  return std::nullopt;
}

}  // namespace gemm
