#include "correctness/expected.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "correctness/engine.hpp"
#include "correctness/interval.hpp"

namespace gemm {
namespace {

// Rows of C whose S is held in FP64 at a time; enough for cublasDgemm to fill a GPU.
constexpr std::int64_t panel_rows = 2048;

/// FP64 temporaries of the oracle. They are kept from one Expected to the next and only grow: on a
/// GPU, allocating gigabytes takes as long as the products. One thread at a time.
struct Scratch {
  Buffer a, b, sum;
};

Scratch& scratch(Space space) {
  // Never destroyed: freeing GPU memory after the CUDA runtime has shut down is an error.
  static Scratch* const host = new Scratch;
  static Scratch* const gpu = new Scratch;
  return space == Space::host ? *host : *gpu;
}

double* at_least(Buffer& buffer, Space space, std::int64_t elements) {
  const auto bytes = static_cast<std::size_t>(elements) * sizeof(double);
  if (buffer.bytes() < bytes) {
    buffer = Buffer();  // first, so that old and new need not fit together
    buffer = Buffer(space, bytes);
  }
  return static_cast<double*>(buffer.data());
}

bool power_of_two_or_zero(double x) {
  int exponent = 0;
  return x == 0 || std::abs(std::frexp(x, &exponent)) == 0.5;
}

BoundTerms bound_terms(const Problem& problem, Regime regime) {
  constexpr double slack_on_sum = 1.02;
  constexpr double roundings_of_epilogue = 4 * 0x1p-24;
  const double coefficient = bound_coefficient(problem.precision, regime, problem.shape.k);
  const bool exact = regime == Regime::wide_integer && power_of_two_or_zero(problem.alpha) &&
                     power_of_two_or_zero(problem.beta);
  const bool has_product = problem.alpha != 0 && problem.shape.k > 0;
  return {.alpha = problem.alpha,
          .beta = problem.beta,
          .accumulation = std::abs(problem.alpha) * coefficient * slack_on_sum,
          .epilogue = exact ? 0 : roundings_of_epilogue,
          .has_product = has_product,
          .has_sum = has_product && coefficient > 0};
}

/// The oracle at work on one matrix product of a batch, panel by panel.
class Oracle {
 public:
  Oracle(const Problem& problem, const Inputs& inputs, std::int64_t index)
      : problem_(problem),
        space_(inputs.a.space()),
        engine_(engine(space_)),
        a_(element(inputs.a, index * problem.a_stride())),
        b_(element(inputs.b, index * problem.b_stride())),
        c0_(element(inputs.c, index * problem.c_stride())) {}

  void run(const BoundTerms& terms, double* exact, float* allowed) {
    if (terms.has_product) {
      upcast_b(false);
      for_each_panel([&](std::int64_t row, std::int64_t rows) {
        multiply(row, rows, false, exact + row * problem_.shape.n);
      });
    }
    if (terms.has_sum) upcast_b(true);
    for_each_panel([&](std::int64_t row, std::int64_t rows) {
      const std::int64_t n = problem_.shape.n;
      double* sum = at_least(scratch(space_).sum, space_, rows * n);
      if (terms.has_sum) multiply(row, rows, true, sum);
      engine_.bound(problem_.precision, {rows, n, problem_.ldc()}, terms, sum,
                    offset(c0_, row * problem_.ldc()), exact + row * n, allowed + row * n);
    });
  }

 private:
  const void* offset(const void* matrix, std::int64_t elements) const {
    return static_cast<const char*>(matrix) +
           elements * static_cast<std::int64_t>(element_bytes(problem_.precision));
  }
  const void* element(const Buffer& buffer, std::int64_t elements) const {
    return offset(buffer.data(), elements);
  }

  template <class Panel>
  void for_each_panel(Panel panel) const {
    for (std::int64_t row = 0; row < problem_.shape.m; row += panel_rows)
      panel(row, std::min(panel_rows, problem_.shape.m - row));
  }

  void upcast_b(bool absolute) {
    const auto [m, n, k] = problem_.shape;
    const Extent stored{problem_.b_rows(), problem_.b_transposed() ? k : n, problem_.ldb()};
    engine_.upcast(problem_.precision, stored, b_, absolute,
                   at_least(scratch(space_).b, space_, n * k));
  }

  /// The panel's rows of AB, or of |A||B|; B has been up-cast accordingly.
  void multiply(std::int64_t row, std::int64_t rows, bool absolute, double* to) {
    const auto [m, n, k] = problem_.shape;
    const bool transposed = problem_.a_transposed();
    const Extent stored =
        transposed ? Extent{k, rows, problem_.lda()} : Extent{rows, k, problem_.lda()};
    const void* panel = offset(a_, transposed ? row : row * problem_.lda());
    double* a = at_least(scratch(space_).a, space_, rows * k);
    engine_.upcast(problem_.precision, stored, panel, absolute, a);
    engine_.multiply({rows, n, k, transposed, problem_.b_transposed()}, a,
                     static_cast<const double*>(scratch(space_).b.data()), to);
  }

  const Problem& problem_;
  Space space_;
  const Engine& engine_;
  const void *a_, *b_, *c0_;
};

std::int64_t elements(const Problem& problem) {
  return problem.batch * problem.shape.m * problem.shape.n;
}

Extent all_of_c(const Problem& problem) {
  return {problem.batch * problem.shape.m, problem.shape.n, problem.ldc()};
}

template <class T>
T fetch(const Buffer& buffer, std::int64_t index) {
  T value;
  copy(&value, Space::host, static_cast<const T*>(buffer.data()) + index, buffer.space(),
       sizeof value);
  return value;
}

std::string text(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", value);
  return digits;
}

}  // namespace

Expected::Expected(const Problem& problem, const Inputs& inputs)
    : problem_(problem),
      exact_(inputs.a.space(), static_cast<std::size_t>(elements(problem)) * sizeof(double)),
      allowed_(inputs.a.space(), static_cast<std::size_t>(elements(problem)) * sizeof(float)) {
  const BoundTerms terms = bound_terms(problem, inputs.regime);
  const std::int64_t product = problem.shape.m * problem.shape.n;
  if (product == 0) return;  // BLAS rejects the leading dimensions of an empty matrix
  for (std::int64_t i = 0; i < problem.batch; ++i)
    Oracle(problem, inputs, i)
        .run(terms, static_cast<double*>(exact_.data()) + i * product,
             static_cast<float*>(allowed_.data()) + i * product);
  synchronize(inputs.a.space());  // the caller may now change the inputs, on any stream
}

Findings Expected::compare(const Buffer& c) const {
  const auto needed = static_cast<std::size_t>(problem_.batch * problem_.c_stride()) *
                      element_bytes(problem_.precision);
  if (c.space() != exact_.space() || c.bytes() < needed)
    throw std::invalid_argument("Expected::compare: C is not a result of " + problem_.id() +
                                " in the space of its inputs");

  const Engine& judge = engine(c.space());
  const Extent extent = all_of_c(problem_);
  const Tally tally =
      judge.judge(problem_.precision, extent, c.data(), static_cast<const double*>(exact_.data()),
                  static_cast<const float*>(allowed_.data()));
  const Tally padding = judge.judge_padding(problem_.precision, extent, c.data());
  Findings findings;
  findings.wrong = static_cast<std::int64_t>(tally.wrong);
  findings.padding_touched = static_cast<std::int64_t>(padding.wrong);
  findings.worst_share_of_bound = tally.worst_share;
  if (tally.wrong > 0) findings.first = describe(c, static_cast<std::int64_t>(tally.first));
  return findings;
}

WrongElement Expected::describe(const Buffer& c, std::int64_t index) const {
  const std::int64_t n = problem_.shape.n, row = index / n, column = index % n;
  const auto exact = fetch<double>(exact_, index);
  const auto allowed = fetch<float>(allowed_, index);
  return with_storage(problem_.precision, [&]<class F>(F) {
    const auto stored = fetch<typename F::Bits>(c, row * problem_.ldc() + column);
    const Interval accepted = interval<F>(exact, allowed);
    return WrongElement{.batch = row / problem_.shape.m,
                        .row = row % problem_.shape.m,
                        .column = column,
                        .got = value_of<F>(stored),
                        .exact = exact,
                        .low = accepted.low,
                        .high = accepted.high};
  });
}

std::string Findings::message(const Problem& problem) const {
  std::string message =
      std::to_string(wrong) + " of " + std::to_string(elements(problem)) + " elements wrong";
  if (first)
    message += "; first at batch " + std::to_string(first->batch) + ", row " +
               std::to_string(first->row) + ", column " + std::to_string(first->column) + ": got " +
               text(first->got) + ", allowed [" + text(first->low) + ", " + text(first->high) + "]";
  if (padding_touched > 0)
    message += "; " + std::to_string(padding_touched) + " elements beyond column n changed";
  return message;
}

}  // namespace gemm
