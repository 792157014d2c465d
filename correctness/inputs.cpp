#include "correctness/inputs.hpp"

#include "correctness/draw.hpp"
#include "correctness/engine.hpp"

namespace gemm {
namespace {

Extent stored(std::int64_t batch, std::int64_t rows, std::int64_t ld, std::int64_t padding) {
  return {batch * rows, ld - padding, ld};
}
Extent stored_a(const Problem& problem) {
  return stored(problem.batch, problem.a_rows(), problem.lda(), problem.pad.a);
}
Extent stored_b(const Problem& problem) {
  return stored(problem.batch, problem.b_rows(), problem.ldb(), problem.pad.b);
}
Extent stored_c(const Problem& problem) {
  return stored(problem.batch, problem.shape.m, problem.ldc(), problem.pad.c);
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
      a(drawn(problem, stored_a(problem), make_draw(problem, regime, seed, Matrix::a), space)),
      b(drawn(problem, stored_b(problem), make_draw(problem, regime, seed, Matrix::b), space)),
      c(drawn(problem, stored_c(problem), make_draw(problem, regime, seed, Matrix::c), space)) {
  synchronize(space);
}

void poison(const Problem& problem, void* c, Space space, std::uint16_t payload) {
  engine(space).poison(problem.precision, stored_c(problem), payload, c);
}

void negate_a(const Problem& problem, void* a, Space space) {
  engine(space).negate(problem.precision, stored_a(problem), a);
}

void negate_c(const Problem& problem, void* c, Space space) {
  engine(space).negate(problem.precision, stored_c(problem), c);
}

}  // namespace gemm
