// Where the elements of a panel lie in shared memory, which thread brings which of them, and which
// of them a lane reads. Plain arithmetic, so that a host can count the bank conflicts of it
// (kernels/bank_conflicts_test.cpp).
#pragma once

#ifdef __CUDACC__
#define GEMM_MAP static __host__ __device__ constexpr
#else
#define GEMM_MAP static constexpr
#endif

namespace gemm::device {

/// Floats from one row of a panel, [k][outer], to the next. Whoever transposes writes up to 8 rows
/// at once, which the 4 floats of padding put into 8 different groups of 4 banks; 16-byte accesses
/// stay aligned, and an element's place is an offset that the compiler knows.
template <int outer>
inline constexpr int panel_pitch = outer + 4;

/// How `threads` threads share a panel of outer x tile_k elements, `width` neighbours at a time.
/// Vector v of thread t starts at (outer_of(t) + outer_step(v), k_of(t) + k_step(v)).
template <bool k_contiguous, int outer, int tile_k, int threads, int width>
struct PanelMap {
  static constexpr int vectors = outer * tile_k / width / threads;
  static_assert(vectors > 0 && vectors * width * threads == outer * tile_k,
                "threads share a panel evenly");

  GEMM_MAP int outer_of(int thread) { return outer_at(thread); }
  GEMM_MAP int k_of(int thread) { return k_at(thread); }
  GEMM_MAP int outer_step(int v) { return outer_at(v * threads); }
  GEMM_MAP int k_step(int v) { return k_at(v * threads); }

 private:
  // Along k, neighbouring threads take 8 elements of k and then the next line: a warp writes
  // 4 width lines of 8 rows. Otherwise they take neighbouring vectors of a line.
  static constexpr int piece = k_contiguous ? 8 / width : outer / width;
  static_assert(!k_contiguous || (width <= 8 && tile_k % 8 == 0), "a piece is 8 elements of k");
  // A pass of all threads is whole pieces, or a piece is whole passes; likewise for a group of 8 k.
  // So the places of a thread's vectors differ from its first by what all threads share.
  static constexpr int group = k_contiguous ? piece * outer : piece;
  static_assert(threads % piece == 0 || piece % threads == 0);
  static_assert(threads % group == 0 || group % threads == 0);

  GEMM_MAP int outer_at(int index) {
    return k_contiguous ? index / piece % outer : index % piece * width;
  }
  GEMM_MAP int k_at(int index) {
    return k_contiguous ? index / (piece * outer) * 8 + index % piece * width : index / piece;
  }
};

/// How the 32 lanes of a warp lie over its piece of C, lanes_m x lanes_n. A 16-byte read of shared
/// memory takes half the time if each lane t wants the same as lane t ^ 1, or each as lane t ^ 2.
/// So the lowest bit of a lane counts columns and the next counts rows: the reads of A are of the
/// first kind and those of B of the second.
template <int lanes_m, int lanes_n>
struct LaneMap {
  static_assert(lanes_m * lanes_n == 32 && lanes_m % 2 == 0 && lanes_n % 2 == 0);
  GEMM_MAP int row(int lane) { return lane / 2 % 2 + lane / 4 / (lanes_n / 2) * 2; }
  GEMM_MAP int column(int lane) { return lane % 2 + lane / 4 % (lanes_n / 2) * 2; }
};

}  // namespace gemm::device

#undef GEMM_MAP
