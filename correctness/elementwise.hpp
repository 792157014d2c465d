// The element-wise part of both engines, written once: each operation is a function of an index,
// and a Launcher runs it over all indices in its space. A Launcher has
//   for_each(count, f)   calls f(i) for 0 <= i < count
//   tally(count, f)      folds the Judgement f(i) of each i into a Tally
//   sum(count, f)        adds up the 64-bit f(i) of each i, modulo 2^64
#pragma once

#include "correctness/engine.hpp"
#include "correctness/interval.hpp"

namespace gemm {

struct Judgement {
  bool wrong;
  float share;
  float error = 0, magnitude = 0;  // |C - exact| and |exact|, where both are finite
};

/// Where element i of the packed matrix lies in the stored one.
GEMM_HOST_DEVICE inline std::int64_t stored_index(const Extent& extent, std::int64_t packed) {
  return packed / extent.columns * extent.ld + packed % extent.columns;
}

template <class F>
struct Fill {
  Extent extent;
  Draw draw;
  typename F::Bits* matrix;

  GEMM_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t row = i / extent.ld, column = i % extent.ld;
    // Elements are counted without padding: a padded matrix holds the values of a packed one.
    const auto element = static_cast<std::uint64_t>(row * extent.columns + column);
    matrix[i] = column < extent.columns ? rounded_bits<F>(draw(element)) : padding_bits<F>();
  }
};

template <class F>
struct Poison {
  Extent extent;
  typename F::Bits nan;
  typename F::Bits* c;

  GEMM_HOST_DEVICE void operator()(std::int64_t i) const { c[stored_index(extent, i)] = nan; }
};

template <class F>
struct Negate {
  Extent extent;
  typename F::Bits* matrix;

  GEMM_HOST_DEVICE void operator()(std::int64_t i) const {
    constexpr auto sign = static_cast<typename F::Bits>(~(~typename F::Bits{0} >> 1));
    matrix[stored_index(extent, i)] ^= sign;
  }
};

template <class F>
struct Upcast {
  Extent extent;
  const typename F::Bits* from;
  bool absolute;
  double* to;

  GEMM_HOST_DEVICE void operator()(std::int64_t i) const {
    const double value = value_of<F>(from[stored_index(extent, i)]);
    to[i] = absolute && value < 0 ? -value : value;
  }
};

template <class F>
struct Bound {
  Extent extent;
  BoundTerms terms;
  const double* sum;
  const typename F::Bits* c0;
  double* exact;
  float* allowed;

  GEMM_HOST_DEVICE static double absolute(double x) { return x < 0 ? -x : x; }

  GEMM_HOST_DEVICE void operator()(std::int64_t i) const {
    const double product = terms.has_product ? terms.alpha * exact[i] : 0;
    const double carried =
        terms.beta != 0 ? terms.beta * value_of<F>(c0[stored_index(extent, i)]) : 0;
    const double accumulation = terms.has_sum ? terms.accumulation * sum[i] : 0;
    exact[i] = product + carried;
    const double epilogue = terms.epilogue * (absolute(product) + absolute(carried));
    allowed[i] = static_cast<float>(accumulation + epilogue + terms.underflow);
  }
};

template <class F>
struct Judge {
  Extent extent;
  const typename F::Bits* c;
  const double* exact;
  const float* allowed;

  GEMM_HOST_DEVICE Judgement operator()(std::int64_t i) const {
    const typename F::Bits stored = c[stored_index(extent, i)];
    const Interval accepted = interval<F>(exact[i], allowed[i]);
    Judgement judgement{!accepts(accepted, value_of<F>(stored)),
                        share_of_bound<F>(stored, exact[i], allowed[i])};
    const double difference = value_of<F>(stored) - exact[i];
    if (difference - difference == 0) {
      judgement.error = static_cast<float>(difference < 0 ? -difference : difference);
      judgement.magnitude = static_cast<float>(exact[i] < 0 ? -exact[i] : exact[i]);
    }
    return judgement;
  }
};

template <class F>
struct JudgePadding {
  Extent extent;
  const typename F::Bits* c;

  GEMM_HOST_DEVICE Judgement operator()(std::int64_t i) const {
    const std::int64_t width = extent.ld - extent.columns;
    const std::int64_t at = i / width * extent.ld + extent.columns + i % width;
    return {c[at] != padding_bits<F>(), 0.0f};
  }
};

GEMM_HOST_DEVICE inline void add_one(unsigned& count) {
#ifdef __CUDA_ARCH__
  atomicAdd(&count, 1u);
#else
  ++count;
#endif
}

template <class F>
struct MarkWrong {
  Extent extent;
  Judge<F> judge;
  Cells cells;
  unsigned* counts;

  GEMM_HOST_DEVICE void operator()(std::int64_t i) const {
    if (!judge(i).wrong) return;
    const std::int64_t row = i / extent.columns, column = i % extent.columns;
    add_one(counts[row / cells.rows * cells.across + column / cells.columns]);
  }
};

template <class F>
struct Differ {
  const typename F::Bits *x, *y;

  GEMM_HOST_DEVICE Judgement operator()(std::int64_t i) const { return {x[i] != y[i], 0.0f}; }
};

struct Signs {
  std::uint64_t key;
  double* to;

  GEMM_HOST_DEVICE void operator()(std::int64_t i) const {
    to[i] = mix(key + static_cast<std::uint64_t>(i)) >> 63 ? -1 : 1;
  }
};

struct JudgeLinear {
  double alpha, beta;
  const double *product, *carried, *got;

  GEMM_HOST_DEVICE Judgement operator()(std::int64_t i) const {
    const double due = alpha * product[i] + (beta != 0 ? beta * carried[i] : 0);
    return {!(got[i] == due), 0.0f};  // so that NaN is wrong
  }
};

struct HashWord {
  const unsigned char* data;
  std::int64_t bytes;

  GEMM_HOST_DEVICE std::uint64_t operator()(std::int64_t i) const {
    constexpr int size = 8;
    std::uint64_t word = 0;
    if ((i + 1) * size <= bytes)
      word = reinterpret_cast<const std::uint64_t*>(data)[i];
    else
      for (std::int64_t at = i * size; at < bytes; ++at) word = word << 8 | data[at];
    return mix(mix(static_cast<std::uint64_t>(i) + 1) + word);
  }
};

struct SetBands {
  Bands bands;
  unsigned char byte;

  GEMM_HOST_DEVICE void operator()(std::int64_t i) const {
    unsigned char* chunk = bands.begin[i / bands.chunks] + i % bands.chunks * Bands::chunk;
    for (int at = 0; at < Bands::chunk; ++at) chunk[at] = byte;
  }
};

struct JudgeBands {
  Bands bands;
  unsigned char byte;

  GEMM_HOST_DEVICE Judgement operator()(std::int64_t i) const {
    const unsigned char* chunk = bands.begin[i / bands.chunks] + i % bands.chunks * Bands::chunk;
    unsigned changed = 0;
    for (int at = 0; at < Bands::chunk; ++at) changed |= chunk[at] ^ byte;
    return {changed != 0, 0.0f};
  }
};

template <class Launcher>
class ElementwiseEngine : public Engine {
 public:
  void fill(Precision precision, const Extent& extent, const Draw& draw,
            void* matrix) const override {
    const std::int64_t count = extent.rows * extent.ld;
    if (precision == Precision::tf32)  // stored as FP32, rounded to fewer bits
      return launcher_.for_each(count, Fill<Tf32>{extent, draw, bits<Tf32>(matrix)});
    with_storage(precision, [&]<class F>(F) {
      launcher_.for_each(count, Fill<F>{extent, draw, bits<F>(matrix)});
    });
  }

  void poison(Precision precision, const Extent& extent, std::uint16_t payload,
              void* c) const override {
    with_storage(precision, [&]<class F>(F) {
      const auto nan = static_cast<typename F::Bits>(rounded_bits<F>(quiet_nan()) | payload);
      launcher_.for_each(extent.rows * extent.columns, Poison<F>{extent, nan, bits<F>(c)});
    });
  }

  void negate(Precision precision, const Extent& extent, void* matrix) const override {
    with_storage(precision, [&]<class F>(F) {
      launcher_.for_each(extent.rows * extent.columns, Negate<F>{extent, bits<F>(matrix)});
    });
  }

  void upcast(Precision precision, const Extent& extent, const void* from, bool absolute,
              double* to) const override {
    with_storage(precision, [&]<class F>(F) {
      launcher_.for_each(extent.rows * extent.columns,
                         Upcast<F>{extent, bits<F>(from), absolute, to});
    });
  }

  void bound(Precision precision, const Extent& extent, const BoundTerms& terms, const double* sum,
             const void* c0, double* exact, float* allowed) const override {
    with_storage(precision, [&]<class F>(F) {
      launcher_.for_each(extent.rows * extent.columns,
                         Bound<F>{extent, terms, sum, bits<F>(c0), exact, allowed});
    });
  }

  Tally judge(Precision precision, const Extent& extent, const void* c, const double* exact,
              const float* allowed) const override {
    return with_storage(precision, [&]<class F>(F) {
      return launcher_.tally(extent.rows * extent.columns,
                             Judge<F>{extent, bits<F>(c), exact, allowed});
    });
  }

  Tally judge_padding(Precision precision, const Extent& extent, const void* c) const override {
    return with_storage(precision, [&]<class F>(F) {
      return launcher_.tally(extent.rows * (extent.ld - extent.columns),
                             JudgePadding<F>{extent, bits<F>(c)});
    });
  }

  void mark_wrong(Precision precision, const Extent& extent, const void* c, const double* exact,
                  const float* allowed, const Cells& cells, unsigned* counts) const override {
    with_storage(precision, [&]<class F>(F) {
      const Judge<F> judge{extent, bits<F>(c), exact, allowed};
      launcher_.for_each(extent.rows * extent.columns, MarkWrong<F>{extent, judge, cells, counts});
    });
  }

  Tally differences(Precision precision, std::int64_t count, const void* x,
                    const void* y) const override {
    return with_storage(precision, [&]<class F>(F) {
      return launcher_.tally(count, Differ<F>{bits<F>(x), bits<F>(y)});
    });
  }

  void signs(std::uint64_t key, std::int64_t count, double* to) const override {
    launcher_.for_each(count, Signs{key, to});
  }

  Tally judge_linear(std::int64_t count, double alpha, const double* product, double beta,
                     const double* carried, const double* got) const override {
    return launcher_.tally(count, JudgeLinear{alpha, beta, product, carried, got});
  }

  std::uint64_t hash(std::int64_t bytes, const void* data) const override {
    return launcher_.sum((bytes + 7) / 8, HashWord{static_cast<const unsigned char*>(data), bytes});
  }

  void set(const Bands& bands, unsigned char byte) const override {
    launcher_.for_each(bands.count * bands.chunks, SetBands{bands, byte});
  }

  Tally count_changed(const Bands& bands, unsigned char byte) const override {
    return launcher_.tally(bands.count * bands.chunks, JudgeBands{bands, byte});
  }

 private:
  template <class F>
  static typename F::Bits* bits(void* matrix) {
    return static_cast<typename F::Bits*>(matrix);
  }
  template <class F>
  static const typename F::Bits* bits(const void* matrix) {
    return static_cast<const typename F::Bits*>(matrix);
  }
  static double quiet_nan() { return same_bits<double>(std::uint64_t{0x7ff8} << 48); }

  Launcher launcher_;
};

}  // namespace gemm
