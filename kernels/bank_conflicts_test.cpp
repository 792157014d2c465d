// Shared memory without bank conflicts, counted on a host: each access of a warp to a panel takes
// as few passes as its bytes need, in every rung from vectorized up.
//
// The model is that of the hardware. There are 32 banks of 4 bytes, and words of one bank are read
// in different passes unless they are one word. Accesses of 4 bytes serve 32 lanes at a time, those
// of 16 bytes 8, or 16 where each lane t wants the same as lane t ^ 1, or each as lane t ^ 2.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "kernels/device/panel_map.hpp"

namespace gemm::device {
namespace {

constexpr int lanes = 32, banks = 32;
using Words = std::array<int, lanes>;  // where each lane's access starts

int passes_of(const Words& first, int from, int count, int width) {
  std::array<std::set<int>, banks> wanted;
  for (int lane = from; lane < from + count; ++lane)
    for (int word = first[lane]; word < first[lane] + width; ++word)
      wanted[word % banks].insert(word);
  std::size_t most = 0;
  for (const auto& words : wanted) most = std::max(most, words.size());
  return static_cast<int>(most);
}

bool paired(const Words& first, int bit) {
  for (int lane = 0; lane < lanes; ++lane)
    if (first[lane] != first[lane ^ bit]) return false;
  return true;
}

int passes(const Words& first, int width) {
  const int at_once = width == 1 ? lanes : paired(first, 1) || paired(first, 2) ? 16 : 8;
  int sum = 0;
  for (int from = 0; from < lanes; from += at_once) sum += passes_of(first, from, at_once, width);
  return sum;
}

TEST(BankModel, CountsPasses) {
  Words neighbours{}, same_bank{}, one_word{}, fours{}, fours_apart{}, pairs{};
  for (int lane = 0; lane < lanes; ++lane) {
    neighbours[lane] = lane;
    same_bank[lane] = lane * banks;
    fours[lane] = lane * 4;
    fours_apart[lane] = lane * 8;
    pairs[lane] = lane / 2 * 4;
  }
  EXPECT_EQ(passes(neighbours, 1), 1);
  EXPECT_EQ(passes(same_bank, 1), lanes);
  EXPECT_EQ(passes(one_word, 1), 1);
  EXPECT_EQ(passes(fours, 4), 4);
  EXPECT_EQ(passes(fours_apart, 4), 8);
  EXPECT_EQ(passes(pairs, 4), 2);
}

/// The writes of a panel whose rows are `pitch` apart: `width` neighbours are brought at once, and
/// written one by one where they lie along k, else 16 bytes at a time.
template <bool k_contiguous, int outer, int tile_k, int threads, int width,
          int pitch = panel_pitch<outer>>
void expect_writes_are_free_of_conflicts() {
  using Map = PanelMap<k_contiguous, outer, tile_k, threads, width>;
  constexpr int written = k_contiguous || width == 1 ? 1 : 4;
  constexpr int along_k = k_contiguous ? width : 1;
  std::set<int> seen;
  for (int v = 0; v < Map::vectors; ++v)
    for (int e = 0; e < along_k; ++e)
      for (int warp = 0; warp < threads; warp += lanes) {
        Words first;
        for (int lane = 0; lane < lanes; ++lane) {
          const int k = Map::k_of(warp + lane) + Map::k_step(v) + e;
          const int o = Map::outer_of(warp + lane) + Map::outer_step(v);
          ASSERT_LT(k, tile_k);
          ASSERT_LE(o + written, outer);
          first[lane] = k * pitch + o;
          for (int word = 0; word < written; ++word) seen.insert(first[lane] + word);
        }
        ASSERT_EQ(passes(first, written), written) << "vector " << v << ", warp " << warp / lanes;
      }
  EXPECT_EQ(seen.size(), std::size_t{outer} * tile_k) << "each element is written once";
}

/// Both directions, FP32 and 16-bit storage, as PanelShare brings them.
template <int outer, int tile_k, int threads>
void expect_shares_are_free_of_conflicts() {
  expect_writes_are_free_of_conflicts<true, outer, tile_k, threads, 4>();
  expect_writes_are_free_of_conflicts<true, outer, tile_k, threads, 8>();
  expect_writes_are_free_of_conflicts<false, outer, tile_k, threads, 4>();
}

/// As PanelCopy does: elements in both directions, and 16 bytes where nothing is transposed.
template <int outer, int tile_k, int threads>
void expect_copies_are_free_of_conflicts() {
  expect_writes_are_free_of_conflicts<true, outer, tile_k, threads, 1>();
  expect_writes_are_free_of_conflicts<false, outer, tile_k, threads, 1>();
  expect_writes_are_free_of_conflicts<false, outer, tile_k, threads, 4>();
}

TEST(BankConflicts, NoneWherePanelsAreWritten) {
  expect_shares_are_free_of_conflicts<128, 16, 256>();  // vectorized, double_buffered, warp_tiled
  expect_shares_are_free_of_conflicts<256, 16, 256>();  // warp_tiled
  expect_writes_are_free_of_conflicts<false, 128, 16, 256, 4, 128>();  // pretransposed
  expect_copies_are_free_of_conflicts<128, 16, 256>();                 // autotuned, from here on
  expect_copies_are_free_of_conflicts<256, 16, 256>();
  expect_copies_are_free_of_conflicts<128, 8, 256>();
  expect_copies_are_free_of_conflicts<256, 8, 256>();
  expect_copies_are_free_of_conflicts<128, 16, 128>();
  expect_copies_are_free_of_conflicts<128, 8, 128>();
  expect_copies_are_free_of_conflicts<64, 16, 128>();
  expect_copies_are_free_of_conflicts<32, 16, 128>();
}

/// The passes that a warp's reads of four neighbours take; `place` is a lane's row or column.
template <class Place>
int passes_of_reads(Place place) {
  Words first;
  for (int lane = 0; lane < lanes; ++lane) first[lane] = place(lane) * 4;
  return passes(first, 4);
}

TEST(BankConflicts, NoneWherePanelsAreRead) {
  // 2 x 16 lanes: vectorized, double_buffered, pretransposed.
  EXPECT_EQ(passes_of_reads([](int lane) { return lane / 16; }), 2);
  EXPECT_EQ(passes_of_reads([](int lane) { return lane % 16; }), 4);
  // warp_tiled and autotuned.
  EXPECT_EQ(passes_of_reads(LaneMap<8, 4>::row), 2);
  EXPECT_EQ(passes_of_reads(LaneMap<8, 4>::column), 2);
  EXPECT_EQ(passes_of_reads(LaneMap<4, 8>::row), 2);
  EXPECT_EQ(passes_of_reads(LaneMap<4, 8>::column), 2);
}

template <int lanes_m, int lanes_n>
void expect_lanes_cover_the_piece() {
  std::set<int> seen;
  for (int lane = 0; lane < lanes; ++lane) {
    ASSERT_LT((LaneMap<lanes_m, lanes_n>::row(lane)), lanes_m);
    ASSERT_LT((LaneMap<lanes_m, lanes_n>::column(lane)), lanes_n);
    seen.insert(LaneMap<lanes_m, lanes_n>::row(lane) * lanes_n +
                LaneMap<lanes_m, lanes_n>::column(lane));
  }
  EXPECT_EQ(seen.size(), std::size_t{lanes});
}

TEST(LaneMap, CoversThePiece) {
  expect_lanes_cover_the_piece<8, 4>();
  expect_lanes_cover_the_piece<4, 8>();
}

}  // namespace
}  // namespace gemm::device
