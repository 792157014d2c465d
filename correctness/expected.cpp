#include "correctness/expected.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "correctness/engine.hpp"
#include "correctness/interval.hpp"
#include "correctness/oracle.hpp"

namespace gemm {
namespace {

Rows all_rows(const Problem& problem) { return {0, problem.batch * problem.shape.m}; }

std::size_t elements(const Problem& problem, const Rows& rows) {
  return static_cast<std::size_t>(rows.count * problem.shape.n);
}

const void* at_row(const Problem& problem, const void* c, std::int64_t row) {
  return static_cast<const char*>(c) +
         static_cast<std::size_t>(row * problem.ldc()) * element_bytes(problem.precision);
}

template <class T>
T fetch(Space space, const void* array, std::int64_t index) {
  T value;
  copy(&value, Space::host, static_cast<const T*>(array) + index, space, sizeof value);
  return value;
}

std::int64_t divided_up(std::int64_t count, std::int64_t parts) {
  return std::max<std::int64_t>((count + parts - 1) / parts, 1);
}

std::string text(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", value);
  return digits;
}

}  // namespace

Expected::Expected(const Problem& problem, const Inputs& inputs)
    : Expected(problem, inputs, all_rows(problem)) {}

Expected::Expected(const Problem& problem, const Inputs& inputs, const Rows& rows)
    : problem_(problem),
      rows_(rows),
      exact_(inputs.a.space(), elements(problem, rows) * sizeof(double)),
      allowed_(inputs.a.space(), elements(problem, rows) * sizeof(float)) {
  solve(problem, inputs, rows, static_cast<double*>(exact_.data()),
        static_cast<float*>(allowed_.data()));
}

Findings Expected::compare(const Buffer& c) const {
  const auto needed = static_cast<std::size_t>(problem_.batch * problem_.c_stride()) *
                      element_bytes(problem_.precision);
  if (c.space() != exact_.space() || c.bytes() < needed)
    throw std::invalid_argument("Expected::compare: C is not a result of " + problem_.id() +
                                " in the space of its inputs");

  return compare(c.data());
}

Findings Expected::compare(const void* c) const {
  const Engine& judge = engine(exact_.space());
  const Extent extent{rows_.count, problem_.shape.n, problem_.ldc()};
  const void* first_row = at_row(problem_, c, rows_.first);
  const Tally tally =
      judge.judge(problem_.precision, extent, first_row, static_cast<const double*>(exact_.data()),
                  static_cast<const float*>(allowed_.data()));
  const Tally padding = judge.judge_padding(problem_.precision, extent, first_row);
  Findings findings;
  findings.compared = extent.rows * extent.columns;
  findings.wrong = static_cast<std::int64_t>(tally.wrong);
  findings.padding_touched = static_cast<std::int64_t>(padding.wrong);
  findings.worst_share_of_bound = tally.worst_share;
  if (tally.largest_magnitude > 0)
    findings.relative_error = static_cast<double>(tally.largest_error) / tally.largest_magnitude;
  if (tally.wrong > 0) findings.first = describe(c, static_cast<std::int64_t>(tally.first));
  return findings;
}

Mask Expected::mask(const void* c, std::int64_t batch) const {
  constexpr std::int64_t most_cells = 512;  // in either direction
  const auto [m, n, k] = problem_.shape;
  Mask mask{.batch = batch,
            .rows = m,
            .columns = n,
            .cell_rows = divided_up(m, most_cells),
            .cell_columns = divided_up(n, most_cells),
            .wrong = {}};
  const std::int64_t down = divided_up(m, mask.cell_rows),
                     across = divided_up(n, mask.cell_columns);
  const Space space = exact_.space();
  const Buffer counts(space, static_cast<std::size_t>(down * across) * sizeof(unsigned));
  fill(counts, 0);
  engine(space).mark_wrong(
      problem_.precision, {m, n, problem_.ldc()}, at_row(problem_, c, batch * m),
      static_cast<const double*>(exact_.data()) + batch * m * n,
      static_cast<const float*>(allowed_.data()) + batch * m * n,
      {mask.cell_rows, mask.cell_columns, across}, static_cast<unsigned*>(counts.data()));
  for (std::int64_t row = 0; row < down; ++row) {
    mask.wrong.emplace_back(static_cast<std::size_t>(across));
    copy(mask.wrong.back().data(), Space::host,
         static_cast<const unsigned*>(counts.data()) + row * across, space,
         mask.wrong.back().size() * sizeof(unsigned));
  }
  return mask;
}

WrongElement Expected::describe(const void* c, std::int64_t index) const {
  const std::int64_t m = problem_.shape.m, n = problem_.shape.n;
  const std::int64_t row = rows_.first + index / n, column = index % n;
  const Space space = exact_.space();
  const auto exact = fetch<double>(space, exact_.data(), index);
  const auto allowed = fetch<float>(space, allowed_.data(), index);
  return with_storage(problem_.precision, [&]<class F>(F) {
    const auto stored = fetch<typename F::Bits>(space, c, row * problem_.ldc() + column);
    const Interval accepted = interval<F>(exact, allowed);
    return WrongElement{.batch = row / m,
                        .row = row % m,
                        .column = column,
                        .got = value_of<F>(stored),
                        .exact = exact,
                        .low = accepted.low,
                        .high = accepted.high};
  });
}

std::string Findings::message() const {
  std::string message =
      std::to_string(wrong) + " of " + std::to_string(compared) + " elements wrong";
  if (first)
    message += "; first at batch " + std::to_string(first->batch) + ", row " +
               std::to_string(first->row) + ", column " + std::to_string(first->column) + ": got " +
               text(first->got) + ", allowed [" + text(first->low) + ", " + text(first->high) + "]";
  if (padding_touched > 0)
    message += "; " + std::to_string(padding_touched) + " elements beyond column n changed";
  return message;
}

}  // namespace gemm
