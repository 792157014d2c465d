#include "correctness/freivalds.hpp"

#include <algorithm>

#include "correctness/engine.hpp"

namespace gemm {
namespace {

constexpr std::int64_t vectors = 32;

Buffer fp64(Space space, std::int64_t rows) {
  return {space, static_cast<std::size_t>(rows * vectors) * sizeof(double)};
}

double* row_of(const Buffer& fp64, std::int64_t row) {
  return static_cast<double*>(fp64.data()) + row * vectors;
}

/// A stored matrix: op(X) is rows x inner.
struct Stored {
  const void* data;
  std::int64_t rows, inner, ld;
  bool transposed;
};

/// to = op(X) x, panel by panel, since X in FP64 may not fit.
void project(Space space, Precision precision, const Stored& matrix, const double* x, double* to) {
  constexpr std::int64_t panel_elements = std::int64_t{1} << 27;
  if (matrix.rows == 0) return;
  const std::int64_t most_rows = std::clamp<std::int64_t>(
      panel_elements / std::max<std::int64_t>(matrix.inner, 1), 1, matrix.rows);
  const Buffer panel(space, static_cast<std::size_t>(most_rows * matrix.inner) * sizeof(double));
  auto* upcast = static_cast<double*>(panel.data());
  for (std::int64_t row = 0; row < matrix.rows; row += most_rows) {
    const std::int64_t rows = std::min(most_rows, matrix.rows - row);
    const Extent extent = matrix.transposed ? Extent{matrix.inner, rows, matrix.ld}
                                            : Extent{rows, matrix.inner, matrix.ld};
    const auto offset = static_cast<std::size_t>(matrix.transposed ? row : row * matrix.ld);
    engine(space).upcast(precision, extent,
                         static_cast<const char*>(matrix.data) + offset * element_bytes(precision),
                         false, upcast);
    engine(space).multiply({rows, vectors, matrix.inner, matrix.transposed, false}, upcast, x,
                           to + row * vectors);
  }
  synchronize(space);  // before the panel's memory is given back
}

Stored matrix(const Problem& problem, const void* base, std::int64_t offset, std::int64_t rows,
              std::int64_t inner, std::int64_t ld, bool transposed) {
  const auto bytes = static_cast<std::size_t>(offset) * element_bytes(problem.precision);
  return {static_cast<const char*>(base) + bytes, rows, inner, ld, transposed};
}

/// C x of all products, one behind the other.
Buffer projected_c(const Problem& problem, const void* c, const Buffer& signs) {
  const std::int64_t rows = problem.batch * problem.shape.m;
  Buffer projected = fp64(signs.space(), rows);
  project(signs.space(), problem.precision, {c, rows, problem.shape.n, problem.ldc(), false},
          row_of(signs, 0), row_of(projected, 0));
  return projected;
}

}  // namespace

Freivalds::Freivalds(const Problem& problem, const Inputs& inputs, std::uint64_t seed)
    : problem_(problem),
      signs_(fp64(inputs.a.space(), problem.shape.n)),
      products_(fp64(inputs.a.space(), problem.batch * problem.shape.m)) {
  const Space space = inputs.a.space();
  const auto [m, n, k] = problem.shape;
  engine(space).signs(mix(seed), n * vectors, row_of(signs_, 0));
  const Buffer bx = fp64(space, k);
  for (std::int64_t i = 0; i < problem.batch; ++i) {
    project(space, problem.precision,
            matrix(problem, inputs.b.data(), i * problem.b_stride(), k, n, problem.ldb(),
                   problem.b_transposed()),
            row_of(signs_, 0), row_of(bx, 0));
    project(space, problem.precision,
            matrix(problem, inputs.a.data(), i * problem.a_stride(), m, k, problem.lda(),
                   problem.a_transposed()),
            row_of(bx, 0), row_of(products_, i * m));
  }
  if (problem.beta != 0) carried_ = projected_c(problem, inputs.c.data(), signs_);
}

std::optional<Freivalds::WrongRow> Freivalds::first_wrong_row(const void* c) const {
  const std::int64_t m = problem_.shape.m;
  const Buffer got = projected_c(problem_, c, signs_);
  const Tally tally =
      engine(signs_.space())
          .judge_linear(problem_.batch * m * vectors, problem_.alpha, row_of(products_, 0),
                        problem_.beta, row_of(carried_, 0), row_of(got, 0));
  if (tally.wrong == 0) return std::nullopt;
  const auto row = static_cast<std::int64_t>(tally.first) / vectors;
  return WrongRow{row / m, row % m};
}

}  // namespace gemm
