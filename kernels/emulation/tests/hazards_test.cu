// Tiny kernels, sound and unsound: what the emulator must find, and what it must let pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kernels/device/ptx_sm90.cuh"
#include "kernels/sm90a/tensor_map.hpp"

namespace gemm::hazards {
namespace {

using namespace gemm::device;
using emulation::Violation;
using testing::HasSubstr;

/// What is wrong with every one of some runs of chance, or "" if nothing is with any. Runs that
/// differ in that are wrong themselves: an order that is missing is missing in all of them.
std::string complaint(const std::function<void()>& run) {
  std::string said;
  for (int schedule = 0; schedule < 25; ++schedule) {
    try {
      run();
      EXPECT_EQ(said, "") << "but run " << schedule << " is let pass";
    } catch (const Violation& error) {
      EXPECT_TRUE(schedule == 0 || !said.empty()) << "but earlier runs were let pass";
      said = error.what();
    }
  }
  return said;
}

// ---- barriers of threads

template <bool sound>
static __global__ void exchange(int* out) {
  __shared__ int given[64];
  given[threadIdx.x] = static_cast<int>(threadIdx.x);
  if constexpr (sound) __syncthreads();
  out[threadIdx.x] = given[threadIdx.x ^ 32];
}

TEST(Barriers, WithoutSyncthreadsNothingIsOrdered) {
  std::vector<int> out(64);
  EXPECT_EQ(complaint([&] { exchange<true><<<1, 64, 0, nullptr>>>(out.data()); }), "");
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], i ^ 32);
  EXPECT_THAT(complaint([&] { exchange<false><<<1, 64, 0, nullptr>>>(out.data()); }),
              HasSubstr("nothing orders"));
}

template <bool sound>
static __global__ void overwrite() {
  __shared__ int given[64];
  given[threadIdx.x] = 1;
  __syncthreads();
  const int taken = given[threadIdx.x ^ 32];
  if constexpr (sound) __syncthreads();
  given[threadIdx.x] = taken;
}

TEST(Barriers, WhatIsReadMustNotBeWrittenYet) {
  EXPECT_EQ(complaint([] { overwrite<true><<<1, 64, 0, nullptr>>>(); }), "");
  EXPECT_THAT(complaint([] { overwrite<false><<<1, 64, 0, nullptr>>>(); }),
              HasSubstr("nothing orders"));
}

template <bool sound>
static __global__ void exchange_in_warp(int* out) {
  __shared__ int given[32];
  given[threadIdx.x] = static_cast<int>(threadIdx.x);
  if constexpr (sound) __syncwarp();
  out[threadIdx.x] = given[threadIdx.x ^ 1] + __shfl_sync(0xffffffffu, 0, 3);
}

TEST(Barriers, LanesAreNotOrderedByThemselves) {
  std::vector<int> out(32);
  EXPECT_EQ(complaint([&] { exchange_in_warp<true><<<1, 32, 0, nullptr>>>(out.data()); }), "");
  EXPECT_EQ(out[6], 7);
  EXPECT_THAT(complaint([&] { exchange_in_warp<false><<<1, 32, 0, nullptr>>>(out.data()); }),
              HasSubstr("nothing orders"));
}

template <int threads>
static __global__ void named_barrier(int* out) {
  __shared__ int given;
  if (threadIdx.x == 32) given = 5;
  if (threadIdx.x / 32 == 0) {
    barrier_sync(3, threads);
    out[threadIdx.x] = given;
  } else if (threadIdx.x / 32 == 1) {
    barrier_arrive(3, threads);
  }
}

TEST(Barriers, ANamedBarrierIsForSomeWarps) {
  std::vector<int> out(32);
  EXPECT_EQ(complaint([&] { named_barrier<64><<<1, 96, 0, nullptr>>>(out.data()); }), "");
  EXPECT_EQ(out[31], 5);
  const std::string said = complaint([&] { named_barrier<96><<<1, 96, 0, nullptr>>>(out.data()); });
  EXPECT_THAT(said, HasSubstr("deadlock"));
  EXPECT_THAT(said, HasSubstr("warp 0 waits for barrier 3, at which 64 threads are of 96"));
}

static __global__ void diverge() {
  unsigned matrix[4];
  __shared__ alignas(16) char row[16];
  row[threadIdx.x % 16] = 0;
  if (threadIdx.x < 8)
    ldmatrix_x4(matrix, shared_address(row));
  else
    __syncwarp();
}

TEST(Barriers, LanesThatDivergeAreNamed) {
  EXPECT_NE(complaint([] { diverge<<<1, 32, 0, nullptr>>>(); }), "");
}

// ---- shared memory

static __global__ void beyond(const int* at) {
  __shared__ int given[4];
  given[*at] = 1;
}

TEST(SharedMemory, AStepBeyondAVariableIsFound) {
  const std::vector<int> at{3, 4};
  EXPECT_EQ(complaint([&] { beyond<<<1, 1, 0, nullptr>>>(&at[0]); }), "");
  EXPECT_THAT(complaint([&] { beyond<<<1, 1, 0, nullptr>>>(&at[1]); }),
              HasSubstr("beyond what is allocated"));
}

static __global__ void dynamic_memory() {
  extern __shared__ char memory[];
  memory[0] = 1;
}

TEST(SharedMemory, MoreThan48KibIsAskedForFirst) {
  const auto kernel = dynamic_memory;
  constexpr int bytes = 50 << 10;
  kernel<<<1, 1, bytes, nullptr>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
            cudaSuccess);
  kernel<<<1, 1, bytes, nullptr>>>();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 << 10),
            cudaErrorInvalidValue);
}

// ---- cp.async

enum class Missing { nothing, wait, barrier };

template <Missing missing>
static __global__ void copy_and_read(const int* from, int* out) {
  __shared__ alignas(16) int given[256];
  cp_async_16(shared_address(&given[threadIdx.x * 4]), from + threadIdx.x * 4, 12);
  cp_async_commit_group();
  if constexpr (missing != Missing::wait) cp_async_wait_group<0>();
  if constexpr (missing != Missing::barrier) __syncthreads();
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = given[(threadIdx.x ^ 32) * 4 + i];
}

TEST(CpAsync, EachThreadWaitsAndThenAllMeet) {
  alignas(16) int from[256];
  std::vector<int> out(256);
  for (int i = 0; i < 256; ++i) from[i] = i;
  EXPECT_EQ(complaint([&] {
              copy_and_read<Missing::nothing><<<1, 64, 0, nullptr>>>(&from[0], out.data());
            }),
            "");
  EXPECT_EQ(out[2], 130);
  EXPECT_EQ(out[3], 0) << "12 bytes are read, and 16 written";
  EXPECT_THAT(
      complaint([&] { copy_and_read<Missing::wait><<<1, 64, 0, nullptr>>>(&from[0], out.data()); }),
      HasSubstr("still on its way"));
  EXPECT_NE(complaint([&] {
              copy_and_read<Missing::barrier><<<1, 64, 0, nullptr>>>(&from[0], out.data());
            }),
            "");
}

// ---- mbarrier

static __global__ void wait_in_vain(unsigned parity) {
  __shared__ alignas(8) std::uint64_t full;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&full), 2);
    mbarrier_arrive(shared_address(&full));
  }
  __syncthreads();
  mbarrier_wait_parity(shared_address(&full), parity);
}

TEST(Mbarrier, WhoWaitsInVainIsNamed) {
  EXPECT_EQ(complaint([] { wait_in_vain<<<1, 64, 0, nullptr>>>(1); }), "")
      << "a fresh barrier is past the odd phase";
  const std::string said = complaint([] { wait_in_vain<<<1, 64, 0, nullptr>>>(0); });
  EXPECT_THAT(said, HasSubstr("deadlock"));
  EXPECT_THAT(said, HasSubstr("block 0, warp 1 waits for parity 0 of the mbarrier"));
  EXPECT_THAT(said, HasSubstr("full"));
  EXPECT_THAT(said, HasSubstr("phase 0 with 1 of 2 arrivals and 0 bytes to come"));
}

template <int arrivals, bool initialised_for_all>
static __global__ void arrive() {
  __shared__ alignas(8) std::uint64_t full;
  if (threadIdx.x == 0) mbarrier_init(shared_address(&full), 64);
  if constexpr (initialised_for_all) __syncthreads();
  for (int i = 0; i < arrivals; ++i) mbarrier_arrive(shared_address(&full));
  mbarrier_wait_parity(shared_address(&full), 0);
}

TEST(Mbarrier, ArrivalsAreCountedAndTheInitialisationIsKnown) {
  EXPECT_EQ(complaint([] { arrive<1, true><<<1, 64, 0, nullptr>>>(); }), "");
  EXPECT_NE(complaint([] { arrive<1, false><<<1, 64, 0, nullptr>>>(); }), "");
}

static __global__ void arrive_too_often() {
  __shared__ alignas(8) std::uint64_t full;
  mbarrier_init(shared_address(&full), 2);
  mbarrier_arrive_expect_tx(shared_address(&full), 16);
  mbarrier_arrive(shared_address(&full));
  mbarrier_arrive(shared_address(&full));
}

TEST(Mbarrier, AnArrivalTooManyIsFound) {
  EXPECT_THAT(complaint([] { arrive_too_often<<<1, 1, 0, nullptr>>>(); }),
              HasSubstr("more arrivals"));
}

// ---- registers

template <int more>
static __global__ void exchange_registers() {
  if (threadIdx.x / 128 == 0)
    setmaxnreg_dec<40>();
  else
    setmaxnreg_inc<more>();
}

TEST(Registers, WhatIsTakenMustBeGiven) {
  EXPECT_EQ(complaint([] { exchange_registers<232><<<1, 384, 0, nullptr>>>(); }), "");
  EXPECT_THAT(complaint([] { exchange_registers<240><<<1, 384, 0, nullptr>>>(); }),
              HasSubstr("registers"));
}

// ---- the copy engine, wgmma

constexpr int lines = 64, line_elements = 64;

struct alignas(128) Panel {
  __nv_bfloat16 element[lines * line_elements];
};

/// A matrix of `rows` x `columns` small integers in memory, and the map of it, 64 x 64 at a time.
struct Tensor {
  Tensor(int rows, int columns, int seed = 1)
      : rows(rows),
        columns(columns),
        memory(numbers(rows * columns, seed)),
        aligned(memory.size() + 64),
        data(aligned.data() + (64 - reinterpret_cast<std::uintptr_t>(aligned.data()) / 2 % 64)),
        // Not assigned: GCC 12 may return a map to where it is not aligned.
        map(sm90a::tensor_map(Precision::bf16,
                              {data, columns, rows, columns, std::int64_t{rows} * columns, 1},
                              lines)) {
    std::copy(memory.begin(), memory.end(), data);
  }
  static std::vector<__nv_bfloat16> numbers(int count, int seed) {
    std::vector<__nv_bfloat16> made;
    for (int i = 0; i < count; ++i)
      made.push_back(__float2bfloat16_rn(static_cast<float>((i * 37 + seed * i / 7) % 17 - 8)));
    return made;
  }
  float at(int row, int column) const {
    return row < rows && column < columns
               ? __bfloat162float(memory[static_cast<std::size_t>(row * columns + column)])
               : 0.0f;
  }
  int rows, columns;
  std::vector<__nv_bfloat16> memory, aligned;
  __nv_bfloat16* data;
  CUtensorMap map;
};

template <bool fenced, bool waits, int expected>
static __global__ void load(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(1024) Panel panel;
  __shared__ alignas(8) std::uint64_t full;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&full), 1);
    if constexpr (fenced) fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(shared_address(&full), expected);
    cp_async_bulk_tensor_3d(shared_address(&panel), &map, 0, 0, 0, shared_address(&full));
  }
  if constexpr (waits) mbarrier_wait_parity(shared_address(&full), 0);
  // 16-byte chunk c of line l lies at c ^ (l % 8).
  for (int i = threadIdx.x; i < lines * line_elements; i += blockDim.x) {
    const int line = i / line_elements, x = i % line_elements;
    out[i] =
        __bfloat162float(panel.element[line * line_elements + ((x / 8 ^ line % 8) * 8 + x % 8)]);
  }
}

TEST(TensorCopy, IsSwizzledAndZeroBeyondTheEdges) {
  const Tensor matrix(50, 40);
  std::vector<float> out(lines * line_elements);
  EXPECT_EQ(complaint([&] {
              load<true, true, sizeof(Panel)><<<1, 64, 0, nullptr>>>(matrix.map, out.data());
            }),
            "");
  for (int i = 0; i < lines * line_elements; ++i)
    ASSERT_EQ(out[i], matrix.at(i / line_elements, i % line_elements)) << i;
}

TEST(TensorCopy, IsWaitedFor) {
  const Tensor matrix(64, 64);
  std::vector<float> out(lines * line_elements);
  EXPECT_THAT(complaint([&] {
                load<true, false, sizeof(Panel)><<<1, 64, 0, nullptr>>>(matrix.map, out.data());
              }),
              HasSubstr("nothing orders"));
}

TEST(TensorCopy, WantsAFencedBarrier) {
  const Tensor matrix(64, 64);
  std::vector<float> out(lines * line_elements);
  EXPECT_THAT(complaint([&] {
                load<false, true, sizeof(Panel)><<<1, 64, 0, nullptr>>>(matrix.map, out.data());
              }),
              HasSubstr("fence_mbarrier_init"));
}

TEST(TensorCopy, BytesOfClippedBoxesAreExpectedWhole) {
  const Tensor matrix(50, 40);
  std::vector<float> out(lines * line_elements);
  EXPECT_THAT(complaint([&] {
                load<true, true, 50 * 40 * 2><<<1, 64, 0, nullptr>>>(matrix.map, out.data());
              }),
              HasSubstr("deadlock"));
}

/// 64 x (2 sums) outputs of a warpgroup, packed.
template <int sums>
void store_sums(float* out, const float (&sum)[sums]) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < sums; ++i)
    out[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * (2 * sums) + i / 4 * 8 + lane % 4 * 2 + i % 2] =
        sum[i];
}

enum class Multiply {
  sound,
  no_wait,
  no_fence,
  early_release,
};

/// 64 x 64 of C = A B' with both operands k-contiguous, twice through one stage.
template <Multiply kind>
static __global__ void multiply(const __grid_constant__ CUtensorMap map_a,
                                const __grid_constant__ CUtensorMap map_b, float* out) {
  __shared__ alignas(1024) Panel a, b;
  __shared__ alignas(8) std::uint64_t full, empty;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&full), 1);
    mbarrier_init(shared_address(&empty), 128);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (threadIdx.x > 128) return;
    for (unsigned panel = 0; panel < 2; ++panel) {
      mbarrier_wait_parity(shared_address(&empty), panel % 2 ^ 1);
      mbarrier_arrive_expect_tx(shared_address(&full), 2 * sizeof(Panel));
      cp_async_bulk_tensor_3d(shared_address(&a), &map_a, static_cast<int>(panel) * 64, 0, 0,
                              shared_address(&full));
      cp_async_bulk_tensor_3d(shared_address(&b), &map_b, static_cast<int>(panel) * 64, 0, 0,
                              shared_address(&full));
    }
    return;
  }
  float sum[32] = {};
  for (unsigned panel = 0; panel < 2; ++panel) {
    mbarrier_wait_parity(shared_address(&full), panel % 2);
    if constexpr (kind != Multiply::no_fence) wgmma_fence();
    for (unsigned step = 0; step < 4; ++step)
      wgmma_64xn<__nv_bfloat16, 64, false, false>(
          sum, wgmma_descriptor(shared_address(&a) + step * 32, 0),
          wgmma_descriptor(shared_address(&b) + step * 32, 0));
    wgmma_commit_group();
    if constexpr (kind == Multiply::early_release) mbarrier_arrive(shared_address(&empty));
    if constexpr (kind != Multiply::no_wait) wgmma_wait_group<0>();
    if constexpr (kind != Multiply::early_release) mbarrier_arrive(shared_address(&empty));
  }
  store_sums(out, sum);
}

struct Operands64 {
  Tensor a{64, 128, 2}, b{64, 128, 5};
  std::vector<float> out = std::vector<float>(64 * 64);

  template <Multiply kind>
  std::string complaint_of() {
    return complaint([&] { multiply<kind><<<1, 256, 0, nullptr>>>(a.map, b.map, out.data()); });
  }
  float expected(int row, int column) const {
    float sum = 0;
    for (int k = 0; k < 128; ++k) sum += a.at(row, k) * b.at(column, k);
    return sum;
  }
};

TEST(Wgmma, Multiplies) {
  Operands64 operands;
  EXPECT_EQ(operands.complaint_of<Multiply::sound>(), "");
  for (int i = 0; i < 64 * 64; ++i) ASSERT_EQ(operands.out[i], operands.expected(i / 64, i % 64));
}

TEST(Wgmma, AccumulatorsAreReadAfterTheWait) {
  EXPECT_NE(Operands64().complaint_of<Multiply::no_wait>(), "");
}

TEST(Wgmma, WantsItsFence) {
  EXPECT_THAT(Operands64().complaint_of<Multiply::no_fence>(), HasSubstr("wgmma_fence is missing"));
}

TEST(Wgmma, AStageIsReleasedAfterTheWait) {
  EXPECT_THAT(Operands64().complaint_of<Multiply::early_release>(), HasSubstr("may still read"));
}

/// 64 x 16 of an operand, brought in boxes of `span` bytes along its contiguous direction and
/// swizzled over as many, and the descriptor of it.
template <int span, bool k_contiguous>
struct Swizzled {
  static constexpr int elements = span / 2, lines = k_contiguous ? 64 : 16;
  static constexpr int boxes = k_contiguous ? 1 : 64 / elements, box_bytes = span * lines;

  static CUtensorMap map(Tensor& tensor) {
    const cuuint64_t sizes[] = {static_cast<cuuint64_t>(tensor.columns),
                                static_cast<cuuint64_t>(tensor.rows), 1};
    const cuuint64_t strides[] = {static_cast<cuuint64_t>(tensor.columns) * 2,
                                  static_cast<cuuint64_t>(tensor.rows * tensor.columns) * 2};
    const cuuint32_t box[] = {elements, lines, 1}, steps[] = {1, 1, 1};
    const auto swizzle = span == 32   ? CU_TENSOR_MAP_SWIZZLE_32B
                         : span == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                      : CU_TENSOR_MAP_SWIZZLE_128B;
    CUtensorMap map;
    EXPECT_EQ(sm90a::encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, tensor.data, sizes,
                               strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              CUDA_SUCCESS);
    return map;
  }

  static void load(unsigned to, const CUtensorMap* map, unsigned full) {
    for (int box = 0; box < boxes; ++box)
      cp_async_bulk_tensor_3d(to + static_cast<unsigned>(box * box_bytes), map, box * elements, 0,
                              0, full);
  }

  static std::uint64_t descriptor(unsigned at) {
    constexpr std::uint64_t mode = span == 32 ? 3 : span == 64 ? 2 : 1;
    constexpr std::uint64_t leading = k_contiguous ? 0 : box_bytes, stride = 8 * span;
    return at >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
  }
};

template <int span, bool a_k, bool b_k>
static __global__ void multiply_swizzled(const __grid_constant__ CUtensorMap map_a,
                                         const __grid_constant__ CUtensorMap map_b, float* out) {
  using A = Swizzled<span, a_k>;
  using B = Swizzled<span, b_k>;
  __shared__ alignas(1024) Panel a, b;
  __shared__ alignas(8) std::uint64_t full;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&full), 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(shared_address(&full),
                              A::boxes * A::box_bytes + B::boxes * B::box_bytes);
    A::load(shared_address(&a), &map_a, shared_address(&full));
    B::load(shared_address(&b), &map_b, shared_address(&full));
  }
  __syncthreads();
  mbarrier_wait_parity(shared_address(&full), 0);
  float sum[32] = {};
  wgmma_fence();
  wgmma_64xn<__nv_bfloat16, 64, !a_k, !b_k>(sum, A::descriptor(shared_address(&a)),
                                            B::descriptor(shared_address(&b)));
  wgmma_commit_group();
  wgmma_wait_group<0>();
  store_sums(out, sum);
}

template <int span, bool a_k, bool b_k>
void expect_product() {
  Tensor a = a_k ? Tensor(64, 16, 2) : Tensor(16, 64, 2);
  Tensor b = b_k ? Tensor(64, 16, 5) : Tensor(16, 64, 5);
  const CUtensorMap map_a = Swizzled<span, a_k>::map(a), map_b = Swizzled<span, b_k>::map(b);
  std::vector<float> out(64 * 64);
  EXPECT_EQ(complaint([&] {
              multiply_swizzled<span, a_k, b_k><<<1, 128, 0, nullptr>>>(map_a, map_b, out.data());
            }),
            "");
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 64; ++column) {
      float sum = 0;
      for (int k = 0; k < 16; ++k)
        sum += (a_k ? a.at(row, k) : a.at(k, row)) * (b_k ? b.at(column, k) : b.at(k, column));
      ASSERT_EQ(out[static_cast<std::size_t>(row * 64 + column)], sum)
          << span << ' ' << a_k << b_k << ' ' << row << ' ' << column;
    }
}

template <int span>
void expect_products() {
  expect_product<span, true, true>();
  expect_product<span, true, false>();
  expect_product<span, false, true>();
  expect_product<span, false, false>();
}

TEST(Wgmma, ReadsEverySwizzleInEitherDirection) {
  expect_products<128>();
  expect_products<64>();
  expect_products<32>();
}

/// The operands come by threads, not by the copy engine.
template <bool fenced>
static __global__ void multiply_own(float* out) {
  __shared__ alignas(1024) Panel a;
  for (unsigned i = threadIdx.x; i < lines * line_elements; i += 128)
    a.element[i] = __float2bfloat16_rn(1);
  if constexpr (fenced) fence_proxy_async_shared();
  __syncthreads();
  float sum[32] = {};
  wgmma_fence();
  wgmma_64xn<__nv_bfloat16, 64, false, false>(sum, wgmma_descriptor(shared_address(&a), 0),
                                              wgmma_descriptor(shared_address(&a), 0));
  wgmma_commit_group();
  wgmma_wait_group<0>();
  out[threadIdx.x] = sum[31];
}

TEST(Wgmma, WhatThreadsWriteIsFencedForTheAsyncProxy) {
  std::vector<float> out(128);
  EXPECT_EQ(complaint([&] { multiply_own<true><<<1, 128, 0, nullptr>>>(out.data()); }), "");
  EXPECT_EQ(out[77], 16);
  EXPECT_THAT(complaint([&] { multiply_own<false><<<1, 128, 0, nullptr>>>(out.data()); }),
              HasSubstr("without a fence_proxy_async_shared"));
}

enum class Store { sound, no_fence, no_wait, overwritten };

template <Store kind>
static __global__ void store(const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(1024) Panel panel;
  for (int round = 0; round < 2; ++round) {
    for (unsigned i = threadIdx.x; i < lines * line_elements; i += 64) {
      const unsigned line = i / line_elements, x = i % line_elements;
      panel.element[line * line_elements + ((x / 8 ^ line % 8) * 8 + x % 8)] =
          __float2bfloat16_rn(static_cast<float>(i % 200));
    }
    if constexpr (kind != Store::no_fence) fence_proxy_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      cp_async_bulk_tensor_3d_store(&map, round * 64, 0, 0, shared_address(&panel));
      cp_async_bulk_commit_group();
      if constexpr (kind != Store::no_wait && kind != Store::overwritten)
        cp_async_bulk_wait_group_read<0>();
    }
    __syncthreads();
    if constexpr (kind == Store::no_wait) return;
  }
  if (threadIdx.x == 0) cp_async_bulk_wait_group<0>();
}

TEST(TensorStore, WritesWhatIsInsideAndReadsBeforeItsWait) {
  const Tensor matrix(50, 104);
  EXPECT_EQ(complaint([&] { store<Store::sound><<<1, 64, 0, nullptr>>>(matrix.map); }), "");
  for (int row = 0; row < 50; ++row)
    for (int column = 0; column < 104; ++column)
      ASSERT_EQ(__bfloat162float(matrix.data[row * 104 + column]),
                static_cast<float>((row * 64 + column % 64) % 200));
  EXPECT_THAT(complaint([&] { store<Store::no_fence><<<1, 64, 0, nullptr>>>(matrix.map); }),
              HasSubstr("without a fence_proxy_async_shared"));
  EXPECT_THAT(complaint([&] { store<Store::no_wait><<<1, 64, 0, nullptr>>>(matrix.map); }),
              HasSubstr("wait_group_read is missing"));
  EXPECT_THAT(complaint([&] { store<Store::overwritten><<<1, 64, 0, nullptr>>>(matrix.map); }),
              HasSubstr("may still read"));
}

// ---- clusters

enum class Multicast { sound, own_consumers_only, leaves_early };

/// Each of two blocks brings half of a panel to both, twice; all threads read it.
template <Multicast kind>
static __global__ void __cluster_dims__(2, 1, 1)
    multicast(const __grid_constant__ CUtensorMap map, float* out) {
  __shared__ alignas(1024) Panel panels[2];
  __shared__ alignas(8) std::uint64_t full, empty;
  const unsigned rank = cluster_rank();
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&full), 1);
    mbarrier_init(shared_address(&empty), kind == Multicast::own_consumers_only ? 1 : 2);
    fence_mbarrier_init();
  }
  cluster_sync();
  for (int round = 0; round < 2; ++round) {
    if (threadIdx.x == 0) {
      mbarrier_wait_parity(shared_address(&empty), round % 2 ^ 1);
      mbarrier_arrive_expect_tx(shared_address(&full), 2 * sizeof(Panel));
      cp_async_bulk_tensor_3d_multicast(shared_address(&panels[rank]), &map,
                                        round * 128 + static_cast<int>(rank) * 64, 0, 0,
                                        shared_address(&full), 3);
    }
    mbarrier_wait_parity(shared_address(&full), round % 2);
    for (unsigned i = threadIdx.x; i < 2 * lines * line_elements; i += 32)
      out[(blockIdx.x * 2 + round) * 2 * lines * line_elements + i] =
          __bfloat162float(panels[i / 4096].element[i % 4096]);
    __syncwarp();
    if (threadIdx.x < 2 && kind != Multicast::own_consumers_only)
      mbarrier_arrive_cluster(in_cluster(shared_address(&empty), threadIdx.x));
    if (threadIdx.x == 0 && kind == Multicast::own_consumers_only)
      mbarrier_arrive(shared_address(&empty));
  }
  if (kind != Multicast::leaves_early) cluster_sync();
}

TEST(Clusters, BothBlocksGetWhatEitherBrings) {
  const Tensor matrix(64, 256);
  std::vector<float> out(4 * 2 * lines * line_elements);
  EXPECT_EQ(complaint([&] {
              multicast<Multicast::sound><<<2, 32, 0, nullptr>>>(matrix.map, out.data());
            }),
            "");
  for (std::size_t half = 0; half < out.size() / 2; ++half)
    ASSERT_EQ(out[half], out[half + out.size() / 2]);
  EXPECT_EQ(out[0], matrix.at(0, 0));
  EXPECT_EQ(out[4096], matrix.at(0, 64));
}

TEST(Clusters, AStageIsEmptyWhenItIsInBothBlocks) {
  const Tensor matrix(64, 256);
  std::vector<float> out(4 * 2 * lines * line_elements);
  EXPECT_NE(complaint([&] {
              multicast<Multicast::own_consumers_only>
                  <<<2, 32, 0, nullptr>>>(matrix.map, out.data());
            }),
            "");
}

/// Each of two blocks multiplies 64 columns of A by the same B, 128 columns and so two panels wide.
static __global__ void __cluster_dims__(2, 1, 1)
    multiply_in_both(const __grid_constant__ CUtensorMap map_a,
                     const __grid_constant__ CUtensorMap map_b, float* out) {
  __shared__ alignas(1024) Panel a, b[2];
  __shared__ alignas(8) std::uint64_t full;
  const int rank = static_cast<int>(cluster_rank());
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&full), 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(shared_address(&full), 3 * sizeof(Panel));
    cp_async_bulk_tensor_3d(shared_address(&a), &map_a, rank * 64, 0, 0, shared_address(&full));
    for (int i = 0; i < 2; ++i)
      cp_async_bulk_tensor_3d(shared_address(&b[i]), &map_b, i * 64, 0, 0, shared_address(&full));
  }
  __syncthreads();
  mbarrier_wait_parity(shared_address(&full), 0);
  float sum[64] = {};
  wgmma_fence();
  for (unsigned k = 0; k < 64; k += 16)
    wgmma_64xn<__nv_bfloat16, 128, true, true>(
        sum, wgmma_descriptor(shared_address(&a) + k * 128, sizeof(Panel)),
        wgmma_descriptor(shared_address(&b) + k * 128, sizeof(Panel)));
  wgmma_commit_group();
  wgmma_wait_group<0>();
  store_sums(out + rank * 64 * 128, sum);
}

TEST(Clusters, ADescriptorLeavesOutTheRank) {
  const Tensor a(64, 128, 2), b(64, 128, 5);
  std::vector<float> out(128 * 128);
  EXPECT_EQ(complaint([&] { multiply_in_both<<<2, 128, 0, nullptr>>>(a.map, b.map, out.data()); }),
            "");
  for (int row = 0; row < 128; ++row)
    for (int column = 0; column < 128; ++column) {
      float sum = 0;
      for (int k = 0; k < 64; ++k) sum += a.at(k, row) * b.at(k, column);
      ASSERT_EQ(out[static_cast<std::size_t>(row * 128 + column)], sum) << row << ' ' << column;
    }
}

static __global__ void __cluster_dims__(2, 1, 1) addresses(unsigned* own, unsigned* of_rank_1) {
  __shared__ int given;
  own[cluster_rank()] = shared_address(&given);
  of_rank_1[cluster_rank()] = in_cluster(shared_address(&given), 1);
}

TEST(Clusters, AnAddressCarriesTheRank) {
  unsigned own[2], of_rank_1[2];
  addresses<<<2, 1, 0, nullptr>>>(own, of_rank_1);
  EXPECT_EQ(own[0] >> 18, 0u);
  EXPECT_NE(own[1] >> 18, 0u);
  EXPECT_EQ(own[1] & 0x3ffff, own[0]);
  EXPECT_EQ(of_rank_1[0], own[1]);
  EXPECT_EQ(of_rank_1[1], own[1]);
}

/// Runs of chance in which somebody complains.
int complaints(const std::function<void()>& run) {
  int count = 0;
  for (int schedule = 0; schedule < 100; ++schedule) try {
      run();
    } catch (const Violation&) {
      ++count;
    }
  return count;
}

TEST(Clusters, NobodyLeavesWhileAnotherBlockMayTellItSomething) {
  const Tensor matrix(64, 256);
  std::vector<float> out(4 * 2 * lines * line_elements);
  EXPECT_GT(complaints([&] {
              multicast<Multicast::leaves_early><<<2, 32, 0, nullptr>>>(matrix.map, out.data());
            }),
            10);
}

// ---- grids that overlap

enum class WaitForGrids { before_the_copy, after_the_copy, never_in_one_thread };

template <WaitForGrids when>
static __global__ void copy_under_the_last(const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(1024) Panel panel;
  __shared__ alignas(8) std::uint64_t full;
  griddepcontrol_launch_dependents();
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&full), 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  const bool waits = when != WaitForGrids::never_in_one_thread || threadIdx.x != 63;
  if (waits && when != WaitForGrids::after_the_copy) griddepcontrol_wait();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(shared_address(&full), sizeof(Panel));
    cp_async_bulk_tensor_3d(shared_address(&panel), &map, 0, 0, 0, shared_address(&full));
  }
  if (when == WaitForGrids::after_the_copy) griddepcontrol_wait();
  mbarrier_wait_parity(shared_address(&full), 0);
}

/// What is wrong where the grid may start under the one before it, or may not.
template <WaitForGrids when>
std::string complaint_of_copy(bool may_overlap) {
  const Tensor matrix(64, 64);
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = may_overlap;
  const cudaLaunchConfig_t config{dim3(2), dim3(64), 0, nullptr, &overlap, 1};
  return complaint([&] { cudaLaunchKernelEx(&config, copy_under_the_last<when>, matrix.map); });
}

TEST(OverlappingGrids, AreWaitedForBeforeACopyAndByEveryThread) {
  EXPECT_EQ(complaint_of_copy<WaitForGrids::before_the_copy>(true), "");
  EXPECT_THAT(complaint_of_copy<WaitForGrids::after_the_copy>(true),
              HasSubstr("cp_async_bulk_tensor_3d before griddepcontrol_wait"));
  EXPECT_THAT(complaint_of_copy<WaitForGrids::never_in_one_thread>(true),
              AllOf(HasSubstr("lane 31"), HasSubstr("ends without griddepcontrol_wait")));
}

TEST(OverlappingGrids, AreNotWaitedForWhereNoneOverlap) {
  EXPECT_EQ(complaint_of_copy<WaitForGrids::before_the_copy>(false), "");
  EXPECT_EQ(complaint_of_copy<WaitForGrids::after_the_copy>(false), "");
  EXPECT_EQ(complaint_of_copy<WaitForGrids::never_in_one_thread>(false), "");
}

}  // namespace
}  // namespace gemm::hazards
