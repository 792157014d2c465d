#include "correctness/fuzz.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "correctness/draw.hpp"

namespace gemm {
namespace {

/// A stream of choices that is the same on every machine.
class Choices {
 public:
  Choices(std::uint64_t seed, std::uint64_t i) : state_(mix(mix(seed) + i)) {}

  /// 0 .. count - 1.
  std::int64_t below(std::int64_t count) {
    state_ += 0x9e3779b97f4a7c15u;
    return static_cast<std::int64_t>((mix(state_) >> 1) % static_cast<std::uint64_t>(count));
  }
  bool one_in(std::int64_t count) { return below(count) == 0; }
  template <class Table>
  auto of(const Table& table) {
    return table[static_cast<std::size_t>(below(static_cast<std::int64_t>(std::size(table))))];
  }

 private:
  std::uint64_t state_;
};

/// One of 0 .. 3, something small, or a size around the edge of a tile.
std::int64_t random_size(Choices& choices, std::int64_t largest) {
  if (choices.one_in(8)) return choices.below(4);
  if (choices.one_in(3)) return 1 + choices.below(std::int64_t{1} << (1 + choices.below(6)));
  constexpr std::array<std::int64_t, 5> tiles{8, 16, 32, 64, 128};
  const std::int64_t tile = choices.of(tiles);
  return tile * (1 + choices.below(std::max<std::int64_t>(largest / tile, 1))) + choices.below(3) -
         1;
}

std::int64_t divisible_by_eight(std::int64_t size) { return (size + 7) / 8 * 8; }

Padding random_padding(Choices& choices) {
  if (choices.one_in(2)) return {};
  return {choices.below(20), choices.below(20), choices.below(20)};
}

template <class Change>
void add(std::vector<Subject>& simpler, const Subject& subject, Change change) {
  simpler.push_back(subject);
  change(simpler.back());
}

/// 1 first, then ever closer to the present size. `size` finds it in a subject.
template <class Size>
void add_smaller(std::vector<Subject>& simpler, const Subject& subject, Size size) {
  Subject probe = subject;
  const std::int64_t present = size(probe);
  for (std::int64_t step = present - 1; step > 0; step /= 2)
    add(simpler, subject, [&](Subject& s) { size(s) = present - step; });
}

/// Every subject that is simpler in one respect, the boldest first.
std::vector<Subject> simplifications(const Subject& subject) {
  std::vector<Subject> simpler;
  const Problem& problem = subject.problem;
  add_smaller(
      simpler, subject, [](Subject & s) -> auto& { return s.problem.batch; });
  add_smaller(
      simpler, subject, [](Subject & s) -> auto& { return s.problem.shape.m; });
  add_smaller(
      simpler, subject, [](Subject & s) -> auto& { return s.problem.shape.n; });
  add_smaller(
      simpler, subject, [](Subject & s) -> auto& { return s.problem.shape.k; });
  if (problem.pad.a > 0) add(simpler, subject, [](Subject& s) { s.problem.pad.a = 0; });
  if (problem.pad.b > 0) add(simpler, subject, [](Subject& s) { s.problem.pad.b = 0; });
  if (problem.pad.c > 0) add(simpler, subject, [](Subject& s) { s.problem.pad.c = 0; });
  if (problem.alpha != 1) add(simpler, subject, [](Subject& s) { s.problem.alpha = 1; });
  if (problem.beta != 0) add(simpler, subject, [](Subject& s) { s.problem.beta = 0; });
  if (problem.layout != Layout::nn)
    add(simpler, subject, [](Subject& s) { s.problem.layout = Layout::nn; });
  if (problem.precision != Precision::fp32)
    add(simpler, subject, [](Subject& s) { s.problem.precision = Precision::fp32; });
  if (subject.regime != Regime::symmetric)
    add(simpler, subject, [](Subject& s) { s.regime = Regime::symmetric; });
  if (subject.seed != 1) add(simpler, subject, [](Subject& s) { s.seed = 1; });
  return simpler;
}

}  // namespace

Subject random_subject(std::uint64_t seed, std::uint64_t i, Space space) {
  constexpr std::array alphas{1.0, 1.0, 2.0, 0.5, -1.0, 0.7, -1.3, 0.0};
  constexpr std::array betas{0.0, 0.0, 0.0, 1.0, 1.0, -0.5, 2.0, 0.3};
  constexpr std::array batches{1, 1, 1, 2, 3};
  constexpr std::array layouts{Layout::nn, Layout::nt, Layout::tn, Layout::tt};
  constexpr std::array precisions{Precision::fp32, Precision::tf32, Precision::fp16,
                                  Precision::bf16};
  const std::int64_t largest = space == Space::host ? 96 : 520;
  Choices choices(seed, i);
  Subject subject{
      .problem = {.shape = {random_size(choices, largest), random_size(choices, largest),
                            random_size(choices, 4 * largest)},
                  .precision = choices.of(precisions),
                  .layout = choices.of(layouts),
                  .batch = choices.of(batches),
                  .alpha = choices.of(alphas),
                  .beta = choices.of(betas),
                  .pad = random_padding(choices)},
      .regime = choices.of(all_regimes()),
      .seed = 1 + static_cast<std::uint64_t>(choices.below(1000000))};
  if (choices.one_in(2)) {
    auto& [m, n, k] = subject.problem.shape;
    auto& [a, b, c] = subject.problem.pad;
    for (std::int64_t* size : {&m, &n, &k, &a, &b, &c}) *size = divisible_by_eight(*size);
  }
  return subject;
}

Subject shrink(Subject failing, const std::function<bool(const Subject&)>& fails) {
  for (bool simpler = true; simpler;) {
    simpler = false;
    for (const Subject& candidate : simplifications(failing)) {
      if (!fails(candidate)) continue;
      failing = candidate;
      simpler = true;
      break;
    }
  }
  return failing;
}

}  // namespace gemm
