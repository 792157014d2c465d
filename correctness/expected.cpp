#include "correctness/expected.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>

#include "correctness/engine.hpp"
#include "correctness/interval.hpp"
#include "correctness/oracle.hpp"

namespace gemm {
namespace {

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
  solve(problem, inputs, static_cast<double*>(exact_.data()), static_cast<float*>(allowed_.data()));
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
