// What the inputs and the oracle need of a space, host or GPU: element-wise work and an FP64
// product. Internal to this folder.
#pragma once

#include <cstdint>

#include "correctness/draw.hpp"
#include "kernels/gemm.hpp"

namespace gemm {

/// Rows and columns as stored, and the elements from one row to the next. Matrices of a batch lie
/// one behind the other, so a batch is a matrix with more rows.
struct Extent {
  std::int64_t rows = 0, columns = 0, ld = 0;
};

/// One row-major FP64 product, C (m x n, packed) = op(A) op(B); A and B packed as stored.
struct Fp64Product {
  std::int64_t m, n, k;
  bool a_transposed, b_transposed;
};

/// How an element's exact value and allowed deviation follow from AB, S = |A||B| and C0.
struct BoundTerms {
  double alpha, beta;
  double accumulation;  ///< |alpha| u f(k), with the slack on S
  double epilogue;      ///< factor of |alpha AB| + |beta C0|
  double underflow;     ///< added as it is
  bool has_product;     ///< false: neither AB nor S is read
  bool has_sum;         ///< false: S is not read
};

/// What a comparison of all elements found. `first` is the lowest wrong index.
struct Tally {
  unsigned long long wrong = 0;
  unsigned long long first = ~0ull;
  float worst_share = 0;
  float largest_error = 0, largest_magnitude = 0;
};

/// Equally long runs of memory, in chunks that are set and counted as a whole.
struct Bands {
  static constexpr int most = 8;
  static constexpr std::int64_t chunk = 64;  // bytes
  unsigned char* begin[most] = {};
  std::int64_t chunks = 0;  ///< of each
  int count = 0;
};

/// A picture of C in cells of some rows and columns; the last cells may be incomplete.
struct Cells {
  std::int64_t rows = 1, columns = 1;  ///< elements of C in a cell
  std::int64_t across = 0;             ///< cells in a row of cells
};

/// Pointers are to memory of the engine's space. Work is ordered on the default stream.
class Engine {
 public:
  virtual ~Engine() = default;

  /// Draws the elements and sets what lies between them and the leading dimension to padding bits.
  virtual void fill(Precision, const Extent&, const Draw&, void* matrix) const = 0;

  /// Sets the elements of C, not its padding, to a NaN of this payload.
  virtual void poison(Precision, const Extent&, std::uint16_t payload, void* c) const = 0;

  /// Changes the sign of the elements, not of the padding.
  virtual void negate(Precision, const Extent&, void* matrix) const = 0;

  /// to, packed, = the elements or their absolute values.
  virtual void upcast(Precision, const Extent&, const void* from, bool absolute,
                      double* to) const = 0;

  virtual void multiply(const Fp64Product&, const double* a, const double* b, double* c) const = 0;

  /// exact: AB on entry, alpha AB + beta C0 on return. c0 has the extent; the rest is packed.
  virtual void bound(Precision, const Extent&, const BoundTerms&, const double* sum, const void* c0,
                     double* exact, float* allowed) const = 0;

  /// Judges every element of C. Complete on return.
  virtual Tally judge(Precision, const Extent&, const void* c, const double* exact,
                      const float* allowed) const = 0;

  /// Counts, as wrong, elements beyond the last column that no longer hold padding bits.
  virtual Tally judge_padding(Precision, const Extent&, const void* c) const = 0;

  /// Adds to each cell the number of its wrong elements.
  virtual void mark_wrong(Precision, const Extent&, const void* c, const double* exact,
                          const float* allowed, const Cells&, unsigned* counts) const = 0;

  /// Counts elements, padding included, that differ in a bit.
  virtual Tally differences(Precision, std::int64_t count, const void* x, const void* y) const = 0;

  /// to[i] = +1 or -1, drawn with the key.
  virtual void signs(std::uint64_t key, std::int64_t count, double* to) const = 0;
  /// Counts, as wrong, elements where got is not alpha product + beta carried, to the bit; carried
  /// is not read if beta is 0.
  virtual Tally judge_linear(std::int64_t count, double alpha, const double* product, double beta,
                             const double* carried, const double* got) const = 0;

  /// The sum, modulo 2^64, of a hash of each word of 8 bytes and its place; the last may be short.
  /// data is aligned to words.
  virtual std::uint64_t hash(std::int64_t bytes, const void* data) const = 0;

  virtual void set(const Bands&, unsigned char byte) const = 0;
  /// Counts chunks that hold something else, in the order of the bands.
  virtual Tally count_changed(const Bands&, unsigned char byte) const = 0;
};

/// Throws std::runtime_error for Space::gpu in a build without CUDA.
const Engine& engine(Space);

}  // namespace gemm
