#include "correctness/oracle.hpp"

#include <algorithm>
#include <cmath>

#include "correctness/engine.hpp"

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

BoundTerms bound_terms(const Problem& problem, Regime regime) {
  constexpr double slack_on_sum = 1.02;
  const double coefficient = bound_coefficient(problem, regime);
  const bool has_product = problem.alpha != 0 && problem.shape.k > 0;
  return {.alpha = problem.alpha,
          .beta = problem.beta,
          .accumulation = std::abs(problem.alpha) * coefficient * slack_on_sum,
          .epilogue = epilogue_coefficient(problem, regime),
          .underflow = underflow_allowance(problem, regime),
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
        a_(offset(inputs.a.data(), index * problem.a_stride())),
        b_(offset(inputs.b.data(), index * problem.b_stride())),
        c0_(offset(inputs.c.data(), index * problem.c_stride())) {}

  /// `exact` and `allowed` begin at the first of the rows, which are those of this product.
  void run(const BoundTerms& terms, const Rows& rows, double* exact, float* allowed) {
    const std::int64_t n = problem_.shape.n;
    if (terms.has_product) {
      upcast_b(false);
      for_each_panel(rows, [&](const Rows& panel, std::int64_t done) {
        multiply(panel, false, exact + done * n);
      });
    }
    if (terms.has_sum) upcast_b(true);
    for_each_panel(rows, [&](const Rows& panel, std::int64_t done) {
      double* sum = nullptr;
      if (terms.has_sum) {
        sum = at_least(scratch(space_).sum, space_, panel.count * n);
        multiply(panel, true, sum);
      }
      engine_.bound(problem_.precision, {panel.count, n, problem_.ldc()}, terms, sum,
                    offset(c0_, panel.first * problem_.ldc()), exact + done * n,
                    allowed + done * n);
    });
  }

  /// One row of |A||B|.
  const double* absolute_row(std::int64_t row) {
    double* sum = at_least(scratch(space_).sum, space_, problem_.shape.n);
    upcast_b(true);
    multiply({row, 1}, true, sum);
    return sum;
  }

 private:
  const void* offset(const void* matrix, std::int64_t elements) const {
    return static_cast<const char*>(matrix) +
           elements * static_cast<std::int64_t>(element_bytes(problem_.precision));
  }

  template <class Panel>
  void for_each_panel(const Rows& rows, Panel panel) const {
    for (std::int64_t done = 0; done < rows.count; done += panel_rows)
      panel(Rows{rows.first + done, std::min(panel_rows, rows.count - done)}, done);
  }

  void upcast_b(bool absolute) {
    const auto [m, n, k] = problem_.shape;
    const Extent stored{problem_.b_rows(), problem_.b_transposed() ? k : n, problem_.ldb()};
    engine_.upcast(problem_.precision, stored, b_, absolute,
                   at_least(scratch(space_).b, space_, n * k));
  }

  /// The panel's rows of AB, or of |A||B|; B has been up-cast accordingly.
  void multiply(const Rows& panel, bool absolute, double* to) {
    const auto [m, n, k] = problem_.shape;
    const bool transposed = problem_.a_transposed();
    const Extent stored = transposed ? Extent{k, panel.count, problem_.lda()}
                                     : Extent{panel.count, k, problem_.lda()};
    const void* begin = offset(a_, transposed ? panel.first : panel.first * problem_.lda());
    double* a = at_least(scratch(space_).a, space_, panel.count * k);
    engine_.upcast(problem_.precision, stored, begin, absolute, a);
    engine_.multiply({panel.count, n, k, transposed, problem_.b_transposed()}, a,
                     static_cast<const double*>(scratch(space_).b.data()), to);
  }

  const Problem& problem_;
  Space space_;
  const Engine& engine_;
  const void *a_, *b_, *c0_;
};

}  // namespace

void solve(const Problem& problem, const Inputs& inputs, const Rows& rows, double* exact,
           float* allowed) {
  const BoundTerms terms = bound_terms(problem, inputs.regime);
  const std::int64_t m = problem.shape.m, n = problem.shape.n;
  if (m * n == 0) return;  // BLAS rejects the leading dimensions of an empty matrix
  for (std::int64_t done = 0; done < rows.count;) {
    const std::int64_t batch = (rows.first + done) / m, row = (rows.first + done) % m;
    const Rows of_this_product{row, std::min(m - row, rows.count - done)};
    Oracle(problem, inputs, batch)
        .run(terms, of_this_product, exact + done * n, allowed + done * n);
    done += of_this_product.count;
  }
  synchronize(inputs.a.space());
}

double absolute_sum(const Problem& problem, const Inputs& inputs, std::int64_t batch,
                    std::int64_t row, std::int64_t column) {
  double sum = 0;
  copy(&sum, Space::host, Oracle(problem, inputs, batch).absolute_row(row) + column,
       inputs.a.space(), sizeof sum);
  return sum;
}

}  // namespace gemm
