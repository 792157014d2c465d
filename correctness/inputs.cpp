#include "correctness/inputs.hpp"

#include "correctness/draw.hpp"
#include "correctness/engine.hpp"

namespace gemm {
namespace {

Extent stored(std::int64_t batch, std::int64_t rows, std::int64_t ld, std::int64_t padding) {
  return {batch * rows, ld - padding, ld};
}

Buffer drawn(const Problem& problem, const Extent& extent, const Draw& draw, Space space) {
  Buffer matrix(
      space, static_cast<std::size_t>(extent.rows * extent.ld) * element_bytes(problem.precision));
  engine(space).fill(problem.precision, extent, draw, matrix.data());
  return matrix;
}

}  // namespace

Inputs::Inputs(const Problem& problem, Regime regime, std::uint64_t seed, Space space)
    : regime(regime),
      seed(seed),
      a(drawn(problem, stored(problem.batch, problem.a_rows(), problem.lda(), problem.pad.a),
              make_draw(problem, regime, seed, Matrix::a), space)),
      b(drawn(problem, stored(problem.batch, problem.b_rows(), problem.ldb(), problem.pad.b),
              make_draw(problem, regime, seed, Matrix::b), space)),
      c(drawn(problem, stored(problem.batch, problem.shape.m, problem.ldc(), problem.pad.c),
              make_draw(problem, regime, seed, Matrix::c), space)) {
  synchronize(space);
}

void poison(const Problem& problem, void* c, Space space, std::uint16_t payload) {
  const Extent extent = stored(problem.batch, problem.shape.m, problem.ldc(), problem.pad.c);
  engine(space).poison(problem.precision, extent, payload, c);
}

}  // namespace gemm
