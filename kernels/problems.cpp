// The problems that the sweep visits. A new shape is one line in one of the three tables; which
// precisions and layouts it is visited in follows from its table.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "kernels/gemm.hpp"

namespace gemm {
namespace {

struct Variant {
  Precision precision;
  Layout layout;
};

// -- Squares, narrow and small problems, projections in every layout: m, n, k; groups; why
// ------------------------------------

struct DenseRow {
  Shape shape;
  unsigned groups;
  std::string_view why;
};

constexpr DenseRow dense[] = {
    {{256, 256, 256}, square | ladder | smoke_set, "fits any cache: launch and latency"},
    {{512, 512, 512}, square, "a few tiles: most SMs idle"},
    {{1024, 1024, 1024}, square | pr_set | tune_set, "about one wave of tiles"},
    {{2048, 2048, 2048}, square | pr_set | tune_set, "few waves: the tail counts"},
    {{4096, 4096, 4096}, square | ladder | pr_set | tune_set, "the customary figure"},
    {{8192, 8192, 8192}, square | pr_set | tune_set, "many waves: power and L2 reuse decide"},
    {{16384, 16384, 16384}, square | tune_set, "operands of half a gigabyte: raster order decides"},
    {{1000, 1000, 1000}, square, "divides by 8 and by no tile"},
    {{2047, 2047, 2047}, square, "odd: no row but the first is aligned"},
    {{4095, 4095, 4095}, square | pr_set, "odd: no row but the first is aligned"},
    {{512, 4096, 4096}, narrow | ladder | pr_set | tune_set, "prefill of a short prompt"},
    {{256, 4096, 4096}, narrow | tune_set, "a batch of decoders"},
    {{128, 4096, 4096}, narrow | pr_set | tune_set, "one row of tiles"},
    {{64, 4096, 4096}, narrow | pr_set | tune_set, "half a tile of rows"},
    {{32, 4096, 4096}, narrow, "between GEMM and GEMV"},
    {{16, 4096, 4096},
     narrow | ladder | pr_set | tune_set,
     "a small decode batch: bound by B's bytes"},
    {{8, 4096, 4096}, narrow, "a small decode batch: bound by B's bytes"},
    {{4, 4096, 4096}, narrow, "a small decode batch: bound by B's bytes"},
    {{2, 4096, 4096}, narrow, "a small decode batch: bound by B's bytes"},
    {{1, 4096, 4096}, narrow | pr_set, "one token: a GEMV"},
    {{4096, 14336, 4096}, llm | tune_set, "Llama-3 8B: MLP gate or up, 4096 tokens"},
    {{4096, 4096, 14336}, llm | tune_set, "Llama-3 8B: MLP down, 4096 tokens"},
    {{4096, 28672, 8192}, llm | tune_set, "Llama-3 70B: MLP gate or up, 4096 tokens"},
    {{8192, 1024, 8192}, llm | tune_set, "Llama-3 70B: key or value, 8192 tokens"},
    {{4096, 7168, 2048}, llm | tune_set, "DeepSeek-V3: expert down, 4096 tokens"},
    {{4096, 2112, 7168}, llm | tune_set, "DeepSeek-V3: latent down-projection, 4096 tokens"},
    {{64, 64, 64}, square | smoke_set, "one tile"},
    {{127, 127, 127}, square | smoke_set, "odd: every edge is partial"},
    {{192, 192, 192}, square | smoke_set, "more than one tile, not a power of two"},
    {{1, 512, 512}, narrow | smoke_set, "one row"},
    {{16, 512, 512}, narrow | smoke_set, "few rows"},
};

constexpr Variant dense_variants[] = {{Precision::fp32, Layout::nn}, {Precision::tf32, Layout::nt},
                                      {Precision::fp16, Layout::nn}, {Precision::fp16, Layout::nt},
                                      {Precision::bf16, Layout::nn}, {Precision::bf16, Layout::nt}};

// What a pull request measures: the 16-bit types share their kernels, so one of them stands for
// both in the second layout, and on the way up the ladder.
constexpr Variant pr_variants[] = {{Precision::fp32, Layout::nn},
                                   {Precision::tf32, Layout::nt},
                                   {Precision::fp16, Layout::nn},
                                   {Precision::bf16, Layout::nn},
                                   {Precision::bf16, Layout::nt}};

// The ladder is climbed in one layout of each precision, and its problems are visited in the rest.
constexpr Variant ladder_variants[] = {
    {Precision::fp32, Layout::nn}, {Precision::tf32, Layout::nt}, {Precision::bf16, Layout::nn}};
constexpr Variant rare_variants[] = {{Precision::fp32, Layout::nt}, {Precision::fp32, Layout::tn},
                                     {Precision::fp32, Layout::tt}, {Precision::tf32, Layout::nn},
                                     {Precision::fp16, Layout::tn}, {Precision::fp16, Layout::tt},
                                     {Precision::bf16, Layout::tn}, {Precision::bf16, Layout::tt}};

// What tiles are chosen by: FP16 takes the choices of BF16.
constexpr Variant tune_variants[] = {{Precision::fp32, Layout::nn},
                                     {Precision::tf32, Layout::nt},
                                     {Precision::bf16, Layout::nn},
                                     {Precision::bf16, Layout::nt}};

constexpr Variant smoke_variants[] = {{Precision::fp32, Layout::nn},
                                      {Precision::fp32, Layout::nt},
                                      {Precision::fp16, Layout::nn},
                                      {Precision::bf16, Layout::nn}};

// -- Projections of language models: y = x W^T, so n = features out, k = features in, nt ----------
// Sizes are those of the published model configurations (config.json of each model).

struct ProjectionRow {
  std::int64_t n, k;
  bool in_pr;
  std::string_view model_and_layer;
};

constexpr ProjectionRow projections[] = {
    {6144, 4096, true, "Llama-3 8B: fused query, key, value"},
    {4096, 4096, false, "Llama-3 8B: attention output"},
    {14336, 4096, true, "Llama-3 8B: MLP gate or up"},
    {4096, 14336, true, "Llama-3 8B: MLP down"},
    {10240, 8192, false, "Llama-3 70B: fused query, key, value"},
    {1024, 8192, false, "Llama-3 70B: key or value"},
    {8192, 8192, false, "Llama-3 70B: attention output"},
    {28672, 8192, true, "Llama-3 70B: MLP gate or up"},
    {8192, 28672, false, "Llama-3 70B: MLP down"},
    {4608, 3584, false, "Qwen2.5-7B: fused query, key, value"},
    {3584, 3584, false, "Qwen2.5-7B: attention output"},
    {18944, 3584, true, "Qwen2.5-7B: MLP gate or up"},
    {3584, 18944, false, "Qwen2.5-7B: MLP down"},
    {2112, 7168, true, "DeepSeek-V3: latent query and key-value down-projection"},
    {24576, 1536, false, "DeepSeek-V3: query up-projection"},
    {32768, 512, false, "DeepSeek-V3: key-value up-projection"},
    {7168, 16384, true, "DeepSeek-V3: attention output"},
    {4096, 7168, false, "DeepSeek-V3: expert gate and up"},
    {7168, 2048, true, "DeepSeek-V3: expert down"},
};

constexpr std::int64_t token_counts[] = {1, 16, 64, 128, 512, 4096};
constexpr std::int64_t pr_token_counts[] = {64, 4096};

constexpr Variant projection_variants[] = {{Precision::bf16, Layout::nt},
                                           {Precision::fp16, Layout::nt}};

// -- Attention: one product a head, strided batch ------------------------------------------------

struct AttentionRow {
  Shape shape;
  Layout layout;
  std::int64_t heads;
  bool in_pr;
  std::string_view why;
};

constexpr AttentionRow attention_products[] = {
    {{512, 512, 128}, Layout::nt, 32, false, "scores Q K^T, 32 heads, 512 tokens"},
    {{512, 128, 512}, Layout::nn, 32, false, "values P V, 32 heads, 512 tokens"},
    {{2048, 2048, 128}, Layout::nt, 32, true, "scores Q K^T, 32 heads, 2048 tokens"},
    {{2048, 128, 2048}, Layout::nn, 32, true, "values P V, 32 heads, 2048 tokens"},
    {{8192, 8192, 128}, Layout::nt, 8, false, "scores Q K^T, 8 heads, 8192 tokens"},
    {{8192, 128, 8192}, Layout::nn, 8, false, "values P V, 8 heads, 8192 tokens"},
};

constexpr Precision attention_precisions[] = {Precision::bf16, Precision::fp16};

// -- From rows to problems -----------------------------------------------------------------------

unsigned groups_by_rule(const Shape& shape) {
  unsigned groups = 0;
  if (std::min({shape.m, shape.n, shape.k}) >= 512 &&
      static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k) >=
          2048.0 * 2048.0 * 2048.0)
    groups |= large;
  if (shape.m <= 16 && shape.n >= 2048) groups |= decode;
  return groups;
}

// Collects problems; one that two rows lead to is one problem in the groups of both.
class Table {
 public:
  void add(Problem problem) {
    problem.groups |= groups_by_rule(problem.shape);
    const auto [place, is_new] = index_.try_emplace(problem.id(), rows_.size());
    if (is_new)
      rows_.push_back(problem);
    else
      rows_[place->second].groups |= problem.groups;
  }
  std::vector<Problem> take() { return std::move(rows_); }

 private:
  std::vector<Problem> rows_;
  std::unordered_map<std::string, std::size_t> index_;
};

template <std::size_t count>
bool contains(const Variant (&variants)[count], Variant wanted) {
  return std::any_of(std::begin(variants), std::end(variants), [&](const Variant& variant) {
    return variant.precision == wanted.precision && variant.layout == wanted.layout;
  });
}

void add_dense(Table& table, const DenseRow& row) {
  const auto add = [&](Variant variant, unsigned groups) {
    table.add({.shape = row.shape,
               .precision = variant.precision,
               .layout = variant.layout,
               .groups = groups,
               .why = row.why});
  };
  const unsigned kind = row.groups & (square | narrow | llm);
  for (const Variant& variant : dense_variants) {
    unsigned groups = kind;
    if (contains(pr_variants, variant)) groups |= row.groups & pr_set;
    if (contains(ladder_variants, variant)) groups |= row.groups & ladder;
    if (contains(tune_variants, variant)) groups |= row.groups & tune_set;
    add(variant, groups);
  }
  if (row.groups & ladder)
    for (const Variant& variant : rare_variants) add(variant, kind);
  if (row.groups & smoke_set)
    for (const Variant& variant : smoke_variants) add(variant, kind | smoke_set);
}

void add_projection(Table& table, const ProjectionRow& row) {
  for (const Variant& variant : projection_variants)
    for (const std::int64_t tokens : token_counts) {
      const bool in_pr = row.in_pr && variant.precision == Precision::bf16 &&
                         std::count(std::begin(pr_token_counts), std::end(pr_token_counts), tokens);
      table.add({.shape = {tokens, row.n, row.k},
                 .precision = variant.precision,
                 .layout = variant.layout,
                 .groups = llm | (in_pr ? pr_set : 0u),
                 .why = row.model_and_layer});
    }
}

void add_attention(Table& table, const AttentionRow& row) {
  for (const Precision precision : attention_precisions)
    table.add({.shape = row.shape,
               .precision = precision,
               .layout = row.layout,
               .batch = row.heads,
               .groups = attention | (row.in_pr && precision == Precision::bf16 ? pr_set : 0u),
               .why = row.why});
}

std::vector<Problem> build() {
  Table table;
  for (const DenseRow& row : dense) add_dense(table, row);
  for (const ProjectionRow& row : projections) add_projection(table, row);
  for (const AttentionRow& row : attention_products) add_attention(table, row);
  return table.take();
}

}  // namespace

const std::vector<Problem>& problems() {
  static const std::vector<Problem> all = build();
  return all;
}

}  // namespace gemm
