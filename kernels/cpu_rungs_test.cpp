// The host kernels and their element types, where the answer is known exactly: conversions over
// every code of a 16-bit type, products of small integers against a triple loop in int64.
#include <cblas.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "correctness/memory.hpp"
#include "kernels/gemm.hpp"
#include "kernels/scalar.hpp"

namespace gemm {
namespace {

// ---------------------------------------------------------------------------------------------
// Element types
// ---------------------------------------------------------------------------------------------

constexpr Precision precisions[] = {Precision::fp32, Precision::tf32, Precision::fp16,
                                    Precision::bf16};

/// The two 16-bit formats, decoded from their definition alone.
struct Fp16 {
  using Type = Eigen::half;
  static constexpr int mantissa_bits = 10, bias = 15;
};
struct Bf16 {
  using Type = Eigen::bfloat16;
  static constexpr int mantissa_bits = 7, bias = 127;
};

template <typename Format>
class SixteenBit : public testing::Test {
 public:
  using T = typename Format::Type;
  static constexpr int infinity = (2 * Format::bias + 1) << Format::mantissa_bits;

  static T element(int code) { return std::bit_cast<T>(static_cast<std::uint16_t>(code)); }
  static int code(T value) { return std::bit_cast<std::uint16_t>(value); }

  /// The value of a non-negative code. For infinity's, what the next binade would start with, so
  /// that the spacing of the largest numbers goes on.
  static double value(int code) {
    const int fraction = code & ((1 << Format::mantissa_bits) - 1);
    const int exponent = code >> Format::mantissa_bits;
    const int significand = exponent == 0 ? fraction : fraction + (1 << Format::mantissa_bits);
    return std::ldexp(significand, std::max(exponent, 1) - Format::bias - Format::mantissa_bits);
  }

  template <typename Wide>
  static void expect_rounds_to(Wide wide, int expected) {
    ASSERT_EQ(code(round_to<T>(wide)), expected) << wide;
    ASSERT_EQ(code(round_to<T>(-wide)), expected | 0x8000) << -wide;
  }

  /// Between each code and the next: the value itself, the tie, and the closest to either side of
  /// the tie that Wide can express.
  template <typename Wide>
  static void expect_rounds_to_nearest_even() {
    const Wide above = std::numeric_limits<Wide>::infinity();
    for (int low = 0; low < infinity; ++low) {
      const auto tie = static_cast<Wide>((value(low) + value(low + 1)) / 2);
      expect_rounds_to(static_cast<Wide>(value(low)), low);
      expect_rounds_to(std::nextafter(tie, Wide{0}), low);
      expect_rounds_to(tie, low + low % 2);
      expect_rounds_to(std::nextafter(tie, above), low + 1);
      if (testing::Test::HasFatalFailure()) return;
    }
    expect_rounds_to(above, infinity);
    expect_rounds_to(std::numeric_limits<Wide>::max(), infinity);
    expect_rounds_to(std::numeric_limits<Wide>::denorm_min(), 0);
    EXPECT_TRUE(std::isnan(to_float(round_to<T>(std::numeric_limits<Wide>::quiet_NaN()))));
  }
};

using Formats = testing::Types<Fp16, Bf16>;
TYPED_TEST_SUITE(SixteenBit, Formats);

TYPED_TEST(SixteenBit, WidensEveryCodeExactly) {
  for (int code = 0; code < this->infinity; ++code) {
    ASSERT_EQ(to_float(this->element(code)), this->value(code)) << code;
    ASSERT_EQ(to_float(this->element(code | 0x8000)), -this->value(code)) << code;
  }
  EXPECT_EQ(to_float(this->element(this->infinity)), std::numeric_limits<float>::infinity());
  for (int code = this->infinity + 1; code < 0x8000; ++code) {
    ASSERT_TRUE(std::isnan(to_float(this->element(code)))) << code;
  }
}

TYPED_TEST(SixteenBit, RoundsFloatToNearestEven) {
  this->template expect_rounds_to_nearest_even<float>();
}

TYPED_TEST(SixteenBit, RoundsDoubleOnceToNearestEven) {
  this->template expect_rounds_to_nearest_even<double>();
}

TEST(Scalar, VisitGivesTheStorageTypeOfEveryPrecision) {
  for (const Precision precision : precisions) {
    const std::size_t bytes =
        visit(precision, []<typename T>(std::type_identity<T>) { return sizeof(T); });
    EXPECT_EQ(bytes, element_bytes(precision)) << name(precision);
  }
  const auto is = []<typename Wanted>(Precision precision, std::type_identity<Wanted>) {
    return visit(precision,
                 []<typename T>(std::type_identity<T>) { return std::is_same_v<T, Wanted>; });
  };
  EXPECT_TRUE(is(Precision::fp32, std::type_identity<float>{}));
  EXPECT_TRUE(is(Precision::tf32, std::type_identity<float>{}));
  EXPECT_TRUE(is(Precision::fp16, std::type_identity<Eigen::half>{}));
  EXPECT_TRUE(is(Precision::bf16, std::type_identity<Eigen::bfloat16>{}));
  EXPECT_THROW(visit(static_cast<Precision>(99), [](auto) {}), std::logic_error);
}

// ---------------------------------------------------------------------------------------------
// Kernels
// ---------------------------------------------------------------------------------------------

/// The kernel's scratch, full of NaN at first and of what earlier launches left later.
void* workspace() {
  static const Buffer buffer = [] {
    Buffer made(Space::host, workspace_bytes);
    fill(made, 0xff);
    return made;
  }();
  return buffer.data();
}

/// All elements of one operand as stored, the gaps between rows included.
template <typename T>
class Stored {
 public:
  explicit Stored(std::int64_t elements)
      : buffer_(Space::host,
                static_cast<std::size_t>(std::max<std::int64_t>(elements, 1)) * sizeof(T)) {
    fill(buffer_, 0xff);  // NaN in each of the formats
  }
  T* data() const { return static_cast<T*>(buffer_.data()); }

 private:
  Buffer buffer_;
};

/// One problem on integers so small that no sum in FP32 can round, and what C must hold afterwards.
/// Everything that a kernel must not read is NaN: the gap after each row, A and B when alpha is 0,
/// C when beta is 0. What it must not write must keep its bits.
template <typename T>
class IntegerProduct {
 public:
  explicit IntegerProduct(const Problem& problem)
      : problem_(problem),
        a_(problem.batch * problem.a_stride()),
        b_(problem.batch * problem.b_stride()),
        before_(problem.batch * problem.c_stride()),
        after_(problem.batch * problem.c_stride()) {
    for (std::int64_t i = 0; i < problem.batch; ++i) make(i);
  }

  void expect_exact(const Kernel& kernel) const {
    const std::size_t bytes =
        static_cast<std::size_t>(problem_.batch * problem_.c_stride()) * sizeof(T);
    const Stored<T> c(problem_.batch * problem_.c_stride());
    std::memcpy(c.data(), before_.data(), bytes);
    kernel.launch(problem_,
                  {.a = a_.data(), .b = b_.data(), .c = c.data(), .workspace = workspace()});
    const auto* got = reinterpret_cast<const std::byte*>(c.data());
    const auto* wanted = reinterpret_cast<const std::byte*>(after_.data());
    const auto difference = std::mismatch(got, got + bytes, wanted).first;
    if (difference == got + bytes) return;
    const std::size_t i = static_cast<std::size_t>(difference - got) / sizeof(T);
    FAIL() << kernel.name << "/" << problem_.id() << ": element " << i << " of C as stored is "
           << to_float(c.data()[i]) << ", not " << to_float(after_.data()[i]);
  }

 private:
  /// Draws the matrices of one product of the batch and multiplies them in int64.
  void make(std::int64_t batch) {
    const auto [m, n, k] = problem_.shape;
    const std::vector<int> a = draw(m * k), b = draw(k * n), c = draw(m * n);
    T* stored_a = a_.data() + batch * problem_.a_stride();
    T* stored_b = b_.data() + batch * problem_.b_stride();
    if (problem_.alpha != 0) {
      put(a, m, k, problem_.a_transposed(), problem_.lda(), stored_a);
      put(b, k, n, problem_.b_transposed(), problem_.ldb(), stored_b);
    }
    T* before = before_.data() + batch * problem_.c_stride();
    T* after = after_.data() + batch * problem_.c_stride();
    if (problem_.beta != 0) put(c, m, n, false, problem_.ldc(), before);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += std::int64_t{a[i * k + p]} * b[p * n + j];
        after[i * problem_.ldc() + j] =
            round_to<T>(problem_.alpha * static_cast<double>(sum) + problem_.beta * c[i * n + j]);
      }
    }
  }

  std::vector<int> draw(std::int64_t count) {
    std::vector<int> values(static_cast<std::size_t>(count));
    std::generate(values.begin(), values.end(),
                  [&] { return std::uniform_int_distribution<int>(1, 5)(random_); });
    return values;
  }

  static void put(const std::vector<int>& values, std::int64_t rows, std::int64_t columns,
                  bool transposed, std::int64_t ld, T* stored) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto value = static_cast<float>(values[static_cast<std::size_t>(i * columns + j)]);
        stored[transposed ? j * ld + i : i * ld + j] = round_to<T>(value);
      }
    }
  }

  Problem problem_;
  std::mt19937 random_{20240229};
  Stored<T> a_, b_, before_, after_;
};

class HostKernels : public testing::Test {
 protected:
  static std::vector<Kernel> host_kernels() {
    std::vector<Kernel> selected;
    std::copy_if(kernels().begin(), kernels().end(), std::back_inserter(selected),
                 [](const Kernel& kernel) { return kernel.arch == Arch::host; });
    return selected;
  }

  /// Every host kernel, on every layout and precision of the problem.
  static void expect_exact(Problem problem) {
    for (const Precision precision : precisions) {
      for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
        problem.precision = precision;
        problem.layout = layout;
        visit(precision, [&]<typename T>(std::type_identity<T>) {
          const IntegerProduct<T> product(problem);
          for (const Kernel& kernel : host_kernels()) product.expect_exact(kernel);
        });
        if (HasFatalFailure()) return;
      }
    }
  }
};

TEST_F(HostKernels, AreRegistered) {
  std::vector<std::string_view> names;
  for (const Kernel& kernel : host_kernels()) names.push_back(kernel.name);
  for (const std::string_view name :
       {"cpu_naive", "cpu_tiled", "cpu_packed", "cpu_threaded", "openblas"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

// Around the edges of the rungs' tiles and register patches (6 or 12 rows; 8, 16 or 32 columns; 64
// by 64; 128 and 256 deep), and a few primes.
TEST_F(HostKernels, AreExactAroundTileEdges) {
  const Shape shapes[] = {
      {1, 1, 1},   {5, 7, 1},    {6, 8, 4},    {7, 9, 13},    {11, 15, 16}, {12, 16, 17},
      {13, 17, 2}, {23, 31, 29}, {24, 32, 32}, {25, 33, 127}, {63, 65, 3},  {64, 64, 128},
      {65, 63, 5}, {1, 97, 129}, {89, 1, 255}, {2, 3, 256},   {3, 2, 257},
  };
  for (const Shape& shape : shapes) expect_exact({.shape = shape, .alpha = 2, .beta = -1});
}

TEST_F(HostKernels, AreExactAcrossCacheBlocks) {
  expect_exact({.shape = {485, 5, 3}});
  expect_exact({.shape = {3, 517, 5}});
  expect_exact({.shape = {2, 3, 1031}});
  const IntegerProduct<float> all_at_once({.shape = {485, 517, 263}});
  for (const Kernel& kernel : host_kernels()) all_at_once.expect_exact(kernel);
}

// Few rows, few columns, and more of each than one tile of all threads holds.
TEST_F(HostKernels, AreExactWhereThreadsShareRowsOrColumns) {
  const Shape shapes[] = {{7, 1061, 600}, {1061, 7, 600}, {1000, 1100, 3}, {129, 2111, 17}};
  for (const Shape& shape : shapes) {
    const IntegerProduct<float> product({.shape = shape});
    for (const Kernel& kernel : host_kernels()) product.expect_exact(kernel);
  }
}

TEST_F(HostKernels, StepOverThePaddingAndLeaveItAlone) {
  expect_exact({.shape = {13, 17, 19}, .pad = {1, 2, 3}});
  expect_exact({.shape = {13, 17, 19}, .alpha = 2, .beta = 1, .pad = {8, 5, 1}});
}

TEST_F(HostKernels, MultiplyEachProductOfABatch) {
  expect_exact({.shape = {7, 9, 11}, .batch = 3, .beta = 1});
  expect_exact({.shape = {7, 9, 11}, .batch = 3, .pad = {2, 1, 3}});
}

// C is NaN before, so any use of it shows.
TEST_F(HostKernels, NeverReadCWhenBetaIsZero) {
  expect_exact({.shape = {14, 34, 20}, .alpha = 0.5, .beta = 0});
  expect_exact({.shape = {14, 34, 0}, .beta = 0});
}

// A and B are NaN when alpha is 0.
TEST_F(HostKernels, ScaleCWhenThereIsNothingToSum) {
  expect_exact({.shape = {14, 34, 20}, .alpha = 0, .beta = 2, .pad = {1, 1, 1}});
  expect_exact({.shape = {14, 34, 20}, .alpha = 0, .beta = 0});
  expect_exact({.shape = {14, 34, 0}, .beta = -1, .pad = {0, 0, 2}});
}

TEST_F(HostKernels, DoNothingWithoutOutputs) {
  expect_exact({.shape = {0, 5, 3}});
  expect_exact({.shape = {5, 0, 3}, .beta = 1, .pad = {0, 0, 4}});
  expect_exact({.shape = {5, 3, 2}, .batch = 0});
}

/// C = A B + beta C with A a row, B a column of ones: one output.
template <typename T>
float dot_with_ones(const Kernel& kernel, Precision precision, const std::vector<float>& row,
                    double beta, float c0) {
  const auto k = static_cast<std::int64_t>(row.size());
  const Problem problem{.shape = {1, 1, k}, .precision = precision, .beta = beta};
  const Stored<T> a(k), b(k), c(1);
  for (std::size_t p = 0; p < row.size(); ++p) {
    a.data()[p] = round_to<T>(row[p]);
    b.data()[p] = round_to<T>(1.0f);
  }
  c.data()[0] = round_to<T>(c0);
  kernel.launch(problem, {.a = a.data(), .b = b.data(), .c = c.data(), .workspace = workspace()});
  return to_float(c.data()[0]);
}

// From `limit` on, the type holds even numbers only.
TEST_F(HostKernels, AccumulateInFp32AndRoundOnce) {
  const auto check = []<typename T>(std::type_identity<T>, Precision precision, float limit) {
    std::vector<float> ones_after_limit(600, 1.0f);
    ones_after_limit[0] = limit;
    for (const Kernel& kernel : host_kernels()) {
      SCOPED_TRACE(kernel.name);
      // limit + 599 lies between two elements; a 16-bit accumulator would never leave the limit.
      EXPECT_EQ(dot_with_ones<T>(kernel, precision, ones_after_limit, 0, 0),
                to_float(round_to<T>(limit + 599)));
      // limit + 1 + 1 is an element, but limit + 1 is not, and would be rounded down to the limit.
      EXPECT_EQ(dot_with_ones<T>(kernel, precision, {limit, 1}, 1, 1), limit + 2);
    }
  };
  check(std::type_identity<Eigen::half>{}, Precision::fp16, 2048);
  check(std::type_identity<Eigen::bfloat16>{}, Precision::bf16, 256);
}

/// A column of every code of T, times 1, times an alpha that leaves nearly all products between two
/// elements. The rungs are compiled with flags of their own and so may convert by other
/// instructions.
template <typename T>
void expect_conversions_of_every_code(const Kernel& kernel, Precision precision) {
  const std::int64_t codes = 1 << 16;
  const float alpha = 0.7001953125f;
  const Problem problem{.shape = {codes, 1, 1}, .precision = precision, .alpha = alpha};
  const Stored<T> a(codes), b(1), c(codes);
  for (std::int64_t i = 0; i < codes; ++i) {
    a.data()[i] = std::bit_cast<T>(static_cast<std::uint16_t>(i));
  }
  b.data()[0] = round_to<T>(1.0f);
  kernel.launch(problem, {.a = a.data(), .b = b.data(), .c = c.data(), .workspace = workspace()});
  for (std::int64_t i = 0; i < codes; ++i) {
    const float expected = to_float(round_to<T>(alpha * to_float(a.data()[i])));
    const float got = to_float(c.data()[i]);
    ASSERT_TRUE(std::isnan(expected) ? std::isnan(got) : got == expected)
        << kernel.name << ": code " << i << " became " << got << ", not " << expected;
  }
}

TEST_F(HostKernels, ConvertEveryCodeAsScalarDoes) {
  for (const Kernel& kernel : host_kernels()) {
    expect_conversions_of_every_code<Eigen::half>(kernel, Precision::fp16);
    expect_conversions_of_every_code<Eigen::bfloat16>(kernel, Precision::bf16);
  }
}

// The setting is the process's: whoever changed it, the control and the threaded rung are even.
TEST(OpenBlas, MultipliesOnTheThreadsOfTheRungs) {
  const int threads = host_threads();
  EXPECT_GE(threads, 1);
  openblas_set_num_threads(1);
  const float one = 1;
  float c = 0;
  find_kernel("openblas").launch({.shape = {1, 1, 1}}, {.a = &one, .b = &one, .c = &c});
  EXPECT_EQ(openblas_get_num_threads(), threads);
  EXPECT_EQ(host_threads(), threads) << "the control of one run has one number of threads";
}

TEST(OpenBlas, RefusesDimensionsBeyondItsIndexType) {
  const auto refuses = find_kernel("openblas").refuses;
  const std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  EXPECT_FALSE(refuses({.shape = {largest, 1, 1}}));
  for (const Problem& problem :
       {Problem{.shape = {largest + 1, 1, 1}}, Problem{.shape = {1, largest + 1, 1}},
        Problem{.shape = {1, 1, largest + 1}},
        Problem{.shape = {1, largest, 1}, .pad = {0, 0, 1}}}) {
    const Refusal refusal = refuses(problem);
    ASSERT_TRUE(refusal) << problem.id();
    EXPECT_NE(refusal->find(std::to_string(largest + 1)), std::string::npos) << *refusal;
  }
  EXPECT_FALSE(find_kernel("cpu_packed").refuses({.shape = {1, largest + 1, 1}}));
}

}  // namespace
}  // namespace gemm
