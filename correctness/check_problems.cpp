#include "correctness/check_problems.hpp"

#include <array>
#include <cstddef>

namespace gemm {
namespace {

using Sizes = std::vector<std::int64_t>;

struct Scalars {
  double alpha, beta;
};

/// Problem i of a list takes value i modulo the length of each table. The lengths are pairwise
/// coprime, so by the Chinese remainder theorem two tables of lengths p and q show every pair of
/// their values within p q problems: a short list covers all pairs of properties.
struct Tables {
  Sizes m, n, k;
  std::array<Padding, 3> padding;
};
constexpr std::array precisions{Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16};
constexpr std::array layouts{Layout::nn, Layout::nt, Layout::tn, Layout::tt};
constexpr std::array scalars{Scalars{1, 0}, Scalars{1, 1}, Scalars{2, -0.5}, Scalars{0, 1},
                             Scalars{0.5, 2}};
constexpr std::array<std::int64_t, 7> batches{1, 1, 3, 1, 1, 2, 1};

// Lengths 17, 19 and 13.
const Tables host_edges{
    .m = {0, 1, 2, 3, 7, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129},
    .n = {0, 1, 2, 5, 8, 13, 15, 16, 17, 29, 31, 32, 33, 63, 64, 65, 127, 128, 129},
    .k = {0, 1, 2, 3, 8, 15, 17, 31, 33, 64, 65, 127, 1031},
    .padding = {{{0, 0, 0}, {1, 3, 5}, {8, 16, 8}}},
};
const Tables gpu_edges{
    .m = {0, 1, 2, 15, 17, 31, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 389},
    .n = {0, 1, 2, 7, 8, 15, 17, 31, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 389},
    .k = {0, 1, 2, 7, 8, 31, 33, 64, 65, 127, 129, 257, 4099},
    .padding = {{{0, 0, 0}, {1, 3, 5}, {8, 16, 8}}},
};

// Lengths 17, 11 and 13; n and k divide by 8. m is a row length too, of a transposed A, and has
// both kinds.
const Tables host_aligned{
    .m = {1, 2, 8, 15, 16, 17, 24, 31, 32, 48, 63, 64, 65, 72, 120, 128, 129},
    .n = {8, 16, 24, 32, 48, 56, 64, 72, 120, 128, 136},
    .k = {8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 128, 136, 520},
    .padding = {{{0, 0, 0}, {8, 8, 8}, {16, 8, 24}}},
};
const Tables gpu_aligned{
    .m = {1, 8, 16, 17, 64, 65, 72, 120, 127, 128, 129, 136, 200, 248, 256, 264, 520},
    .n = {8, 16, 56, 64, 72, 128, 136, 248, 256, 264, 520},
    .k = {8, 16, 24, 32, 40, 56, 64, 72, 128, 136, 200, 520, 4104},
    .padding = {{{0, 0, 0}, {8, 8, 8}, {16, 8, 24}}},
};

// Every pair of n and scalars: the longest product of two lengths but for sizes with sizes and with
// batches.
constexpr std::size_t problems_of_a_list = 19 * 5;

template <class Table>
const auto& pick(const Table& table, std::size_t i) {
  return table[i % table.size()];
}

void add_list(std::vector<Problem>& problems, Precision precision, const Tables& tables) {
  for (std::size_t i = 0; i < problems_of_a_list; ++i)
    problems.push_back({.shape = {pick(tables.m, i), pick(tables.n, i), pick(tables.k, i)},
                        .precision = precision,
                        .layout = pick(layouts, i),
                        .batch = pick(batches, i),
                        .alpha = pick(scalars, i).alpha,
                        .beta = pick(scalars, i).beta,
                        .pad = pick(tables.padding, i)});
}

}  // namespace

std::vector<Problem> check_problems(Space space) {
  const bool host = space == Space::host;
  std::vector<Problem> problems;
  for (const Precision precision : precisions) {
    add_list(problems, precision, host ? host_edges : gpu_edges);
    add_list(problems, precision, host ? host_aligned : gpu_aligned);
  }
  return problems;
}

std::vector<Regime> check_regimes(std::size_t i) {
  std::vector<Regime> regimes = base_regimes();
  const std::vector<Regime>& special = special_regimes();
  // i / length shifts each turn, since the length may share a divisor with a table's.
  const std::size_t first = i + i / special.size(), apart = special.size() / 2;
  regimes.push_back(pick(special, first));
  regimes.push_back(pick(special, first + apart));
  return regimes;
}

std::vector<Problem> scalar_problems() {
  std::vector<Problem> problems;
  for (const Precision precision : precisions)
    for (const Scalars& given : {Scalars{0, 0}, Scalars{-1, 0}, Scalars{-1, 1}, Scalars{0.7, 0.3}})
      problems.push_back({.shape = {40, 24, 65},
                          .precision = precision,
                          .layout = Layout::nt,
                          .alpha = given.alpha,
                          .beta = given.beta,
                          .pad = {7, 7, 8}});
  return problems;
}

std::vector<Problem> wave_problems() {
  std::vector<Problem> problems;
  for (const Precision precision : precisions) {
    problems.push_back({.shape = {2056, 8200, 72}, .precision = precision, .layout = Layout::nt});
    problems.push_back({.shape = {1032, 4104, 72},
                        .precision = precision,
                        .layout = precision == Precision::tf32 ? Layout::nt : Layout::nn,
                        .batch = 4,
                        .alpha = 2,
                        .beta = -0.5,
                        .pad = {8, 8, 8}});
  }
  return problems;
}

std::vector<Problem> sanitizer_problems() {
  std::vector<Problem> problems;
  for (const Precision precision : precisions)
    for (const Layout layout : layouts) {
      const Problem odd{.shape = {131, 141, 67}, .precision = precision, .layout = layout};
      const Problem aligned{.shape = {136, 264, 72},
                            .precision = precision,
                            .layout = layout,
                            .batch = 2,
                            .alpha = 2,
                            .beta = -0.5,
                            .pad = {8, 8, 8}};
      problems.insert(problems.end(), {odd, aligned});
    }
  return problems;
}

std::vector<Problem> emulation_problems() {
  // Met in every layout. The second has more panels than any rung has stages.
  const Problem everywhere[] = {
      {.shape = {131, 141, 67}},
      {.shape = {72, 136, 264}, .alpha = 2, .beta = -0.5, .pad = {8, 16, 24}}};
  // Met in one layout each, in turn. The first has more tiles than an emulated device has SMs,
  // and panels of the next while one is stored.
  const Problem elsewhere[] = {
      {.shape = {264, 264, 72}},
      {.shape = {1, 8, 8}, .pad = {8, 8, 8}},
      {.shape = {33, 65, 129}, .alpha = 0.5, .beta = 2, .pad = {1, 3, 5}},
      {.shape = {128, 256, 64}, .batch = 2},
      {.shape = {200, 72, 136}, .batch = 2, .alpha = 0.7, .beta = 0.3, .pad = {0, 0, 1}},
      {.shape = {136, 264, 0}, .beta = 0.5},
      {.shape = {2312, 136, 8}}};  // more than one band of a tile list
  std::vector<Problem> problems;
  std::size_t turn = 0;
  const auto add = [&](Problem problem, Precision precision, Layout layout) {
    problem.precision = precision;
    problem.layout = layout;
    problems.push_back(problem);
  };
  for (const Precision precision : precisions) {
    for (const Problem& problem : everywhere)
      for (const Layout layout : layouts) add(problem, precision, layout);
    // TF32 has rungs that take nt only.
    for (const Problem& problem : elsewhere)
      add(problem, precision, precision == Precision::tf32 ? Layout::nt : pick(layouts, turn++));
  }
  // Few outputs and a long k, which a rung may cut into parts.
  add({.shape = {32, 36, 4096}}, Precision::fp32, Layout::nn);
  return problems;
}

}  // namespace gemm
