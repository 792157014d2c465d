// wgmma: four warps start a product of operands in shared memory, and wait for it.
#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/emulation/element.hpp"
#include "kernels/emulation/machine.hpp"
#include "kernels/emulation/ptx.hpp"

namespace gemm::emulation {
namespace {

constexpr int rows = 64, warp_rows = 16, k_bytes = 32, chunk_bytes = 16;
constexpr unsigned warpgroup_threads = 128;

/// The fields of a matrix descriptor. Bytes, but for the swizzle.
struct Descriptor {
  unsigned start, leading, stride, base_offset, swizzle;

  explicit Descriptor(std::uint64_t bits)
      : start((bits & 0x3fff) << 4),
        leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4),
        base_offset(bits >> 49 & 7),
        swizzle(bits >> 62) {}

  /// Of the lines that are swizzled, in bytes; 0: none.
  unsigned span() const { return swizzle == 0 ? 0 : 256u >> swizzle; }
};

/// An operand in shared memory, as its descriptor says: lines along the contiguous direction.
class Operand {
 public:
  Operand(const WgmmaShape& shape, bool is_a)
      : descriptor_(is_a ? shape.a : shape.b),
        k_contiguous_(is_a ? !shape.a_m_contiguous : !shape.b_n_contiguous),
        element_bytes_(shape.element == Element::tf32 ? 4 : 2),
        outer_(is_a ? rows : static_cast<unsigned>(shape.n)) {
    if (descriptor_.base_offset != 0)
      violation("wgmma: the emulator knows descriptors of base offset 0 only");
  }

  unsigned elements_of_chunk() const { return chunk_bytes / element_bytes_; }
  unsigned outer() const { return outer_; }
  bool k_contiguous() const { return k_contiguous_; }

  /// Calls visit(where a chunk of 16 bytes lies, its first element along a line, the line).
  template <class Visit>
  void for_each_chunk(Visit visit) const {
    const unsigned k = k_bytes / element_bytes_;
    const unsigned lines = k_contiguous_ ? outer_ : k, length = k_contiguous_ ? k : outer_;
    for (unsigned line = 0; line < lines; ++line)
      for (unsigned x = 0; x < length; x += elements_of_chunk())
        visit(place(x * element_bytes_, line), x, line);
  }

 private:
  unsigned place(unsigned byte, unsigned line) const {
    const auto& [start, leading, stride, offset, swizzle] = descriptor_;
    const unsigned span = descriptor_.span();
    if (span == 0) {
      // Pieces of 8 lines of 16 bytes, one behind the other.
      const unsigned along = byte / chunk_bytes, across = line / 8;
      return start + line % 8 * chunk_bytes +
             (k_contiguous_ ? along * leading + across * stride
                            : along * stride + across * leading);
    }
    // Pieces of 8 lines as long as the span. Along k an operand is no longer than one.
    return swizzled(
        start + byte / span * leading + byte % span + line % 8 * span + line / 8 * stride, span);
  }

  Descriptor descriptor_;
  bool k_contiguous_;
  unsigned element_bytes_, outer_;
};

/// The operand as outer x k numbers: value[k * outer + o].
void read_operand(const Block& block, const WgmmaShape& shape, bool is_a, float* value) {
  const Operand operand(shape, is_a);
  const unsigned outer = operand.outer();
  operand.for_each_chunk([&](unsigned at, unsigned x, unsigned line) {
    std::uint32_t chunk[4];
    std::memcpy(chunk, block.memory->at(at), chunk_bytes);
    for (unsigned e = 0; e < operand.elements_of_chunk(); ++e)
      value[operand.k_contiguous() ? (x + e) * outer + line : line * outer + x + e] =
          shape.element == Element::tf32
              ? value_of_tf32(chunk[e])
              : value_of_bits16(shape.element,
                                static_cast<std::uint16_t>(chunk[e / 2] >> e % 2 * 16));
  });
}

/// The operands are read from now on, until `number` products are known to be over.
void start_reading(const Block& block, const Warpgroup& group, const WgmmaShape& shape,
                   const Knowledge& known, std::size_t number) {
  constexpr Unit nobody = ~Unit{0};
  const Present by{.unit = nobody, .known = known};
  const Ordered until{group.unit, static_cast<Time>(number)};
  for (const bool is_a : {true, false})
    Operand(shape, is_a).for_each_chunk([&](unsigned at, unsigned, unsigned) {
      block.memory->accesses.async_read(at, chunk_bytes, by, until, group.reader, "wgmma reads");
    });
}

void multiply(const Block& block, const Wgmma& product) {
  static float a[k_bytes / 2 * rows], b[k_bytes / 2 * 256];
  read_operand(block, product.shape, true, a);
  read_operand(block, product.shape, false, b);
  const int n = product.shape.n, k = product.shape.element == Element::tf32 ? 8 : 16;
  for (int row = 0; row < rows; ++row) {
    float* __restrict sum = &product.sum->value[row * n];
    for (int kk = 0; kk < k; ++kk) {
      const float x = a[kk * rows + row];
      const float* __restrict y = b + kk * n;
      for (int column = 0; column < n; ++column) sum[column] += x * y[column];
    }
  }
}

/// Calls visit(thread of the warpgroup, register, element of the 64 x n accumulators) for a warp's.
template <class Visit>
void for_each_register(unsigned warp, int n, Visit visit) {
  for (unsigned lane = 0; lane < warp_size; ++lane)
    for (int j = 0; j < n / 8; ++j)
      for (int i = 0; i < 4; ++i)
        visit(warp * warp_size + lane, j * 4 + i,
              (static_cast<int>(warp * warp_rows + lane / 4) + i / 2 * 8) * n + j * 8 +
                  static_cast<int>(lane % 4) * 2 + i % 2);
}

unsigned place_in_group(const Warp& warp) { return warp.number % warpgroup_warps; }
Warpgroup& group_of(const Warp& warp) {
  if (warp.block->threads.size() % warpgroup_threads != 0)
    violation("wgmma: the block has no whole warpgroups");
  return warp.block->warpgroups[warp.number / warpgroup_warps];
}

/// Takes the registers of a warp: NaN lies in them until they are given back.
void take(Accumulators& sum, Warp& warp, float* const* registers) {
  const unsigned place = place_in_group(warp);
  if (!warp.wgmma.fenced)
    violation("wgmma takes registers that the thread had for itself: wgmma_fence is missing");
  std::copy_n(registers, warp_size, sum.registers + place * warp_size);
  for_each_register(place, sum.n, [&](unsigned thread, int i, int at) {
    sum.value[at] = sum.registers[thread][i];
  });
  for (unsigned lane = 0; lane < warp_size; ++lane)
    poison(reinterpret_cast<std::byte*>(registers[lane]), sum.n / 2 * sizeof(float));
  sum.taken[place] = true;
}

void give_back(Accumulators& sum, Warp& warp) {
  const unsigned place = place_in_group(warp);
  for_each_register(place, sum.n, [&](unsigned thread, int i, int at) {
    sum.registers[thread][i] = sum.value[at];
  });
  sum.given_back[place] = true;
  warp.wgmma.fenced = false;
}

/// The accumulators that already hold this warp's registers, or null.
std::shared_ptr<Accumulators> held(const Warp& warp, const float* first_register) {
  for (const auto& sum : warp.wgmma.sums)
    if (sum->registers[place_in_group(warp) * warp_size] == first_register) return sum;
  return nullptr;
}

/// What every lane of the warp knows.
Knowledge known_to_all(const Warp& warp) {
  Knowledge known = warp.threads[0].present.known;
  for (unsigned lane = 1; lane < warp_size; ++lane)
    known = known.common(warp.threads[lane].present.known);
  return known;
}

void start(Warp& warp, const WgmmaShape& shape, float* const* registers) {
  Warpgroup& group = group_of(warp);
  if (group.started.empty()) {
    group.unit = warp.block->cluster->new_helper(
        "wgmma of warpgroup " + std::to_string(warp.number / warpgroup_warps) + " of block " +
        std::to_string(warp.block->index.x));
    group.reader = new_reader(*warp.block);
  }
  const std::size_t number = warp.wgmma.started++;
  std::shared_ptr<Accumulators> sum = held(warp, registers[0]);
  if (number == group.started.size()) {
    if (!sum) {
      sum = std::make_shared<Accumulators>();
      sum->n = shape.n;
      sum->value.resize(rows * shape.n);
    }
    group.started.push_back({shape, sum, {}});
  }
  Wgmma& product = group.started[number];
  if (product.shape != shape) violation("wgmma: the warps of a warpgroup start different products");
  const Knowledge known = known_to_all(warp);
  if (!known.same_as(product.started_by) || place_in_group(warp) == 0)
    start_reading(*warp.block, group, shape, known, number + 1);
  product.started_by = known;
  if (sum && (sum != product.sum || sum->n != shape.n))
    violation("wgmma: the warps of a warpgroup accumulate in different registers");
  if (!sum) {
    sum = product.sum;
    if (sum->taken[place_in_group(warp)])
      violation("wgmma: the warps of a warpgroup accumulate in different registers");
  }
  if (!sum->taken[place_in_group(warp)]) {
    take(*sum, warp, registers);
    warp.wgmma.sums.push_back(sum);
  }
  sum->last_use[place_in_group(warp)] = number;
}

/// Products that all four warps have committed.
std::size_t committed_by_all(const Block& block, const Warpgroup& group) {
  const auto first = static_cast<std::size_t>(&group - block.warpgroups.data()) * warpgroup_warps;
  std::size_t least = group.started.size();
  for (unsigned i = 0; i < warpgroup_warps; ++i) {
    const auto& committed = block.warps[first + i].wgmma.committed;
    least = std::min(least, committed.empty() ? 0 : committed.back());
  }
  return least;
}

void carry_out(const Block& block, Warpgroup& group, std::size_t until) {
  for (; group.done < until; ++group.done) {
    Wgmma& product = group.started[group.done];
    multiply(block, product);
    product.sum.reset();
  }
}

}  // namespace

void check_registers(const void* pointer) {
  const Thread& thread = self();
  for (const auto& sum : thread.warp->wgmma.sums) {
    const float* first = sum->registers[place_in_group(*thread.warp) * warp_size + thread.lane];
    if (pointer >= first && pointer < first + sum->n / 2)
      violation("an accumulator is accessed that wgmma still holds: wgmma_wait_group is missing");
  }
}

void wgmma_fence() {
  together("wgmma_fence", whole_warp("wgmma_fence"), static_cast<void*>(nullptr),
           [](auto) { self().warp->wgmma.fenced = true; });
}

void wgmma(const WgmmaShape& shape, float* d) {
  struct Operands {
    const WgmmaShape& shape;
    float* d;
  } mine{shape, d};
  together("wgmma", whole_warp("wgmma"), &mine, [&](Operands* const* lanes) {
    float* registers[warp_size];
    for (unsigned lane = 0; lane < warp_size; ++lane) {
      if (lanes[lane]->shape != shape) violation("wgmma: the lanes of a warp differ in an operand");
      registers[lane] = lanes[lane]->d;
    }
    start(*self().warp, shape, registers);
  });
}

void wgmma_commit_group() {
  together("wgmma_commit_group", whole_warp("wgmma_commit_group"), static_cast<void*>(nullptr),
           [](auto) {
             Warp& warp = *self().warp;
             Warpgroup& group = group_of(warp);
             warp.wgmma.committed.push_back(warp.wgmma.started);
             wake_all(warp.wgmma.waiting);
             later([block = warp.block, &group] {
               const std::size_t all = committed_by_all(*block, group);
               if (all > group.done)
                 carry_out(*block, group, group.done + 1 + luck.below(all - group.done));
             });
           });
}

void wgmma_wait_group(int pending) {
  Warp& warp = *self().warp;
  together("wgmma_wait_group", whole_warp("wgmma_wait_group"), static_cast<void*>(nullptr),
           [&](auto) {
             Warpgroup& group = group_of(warp);
             const auto& committed = warp.wgmma.committed;
             if (committed.size() <= static_cast<std::size_t>(pending)) return;
             const std::size_t until = committed[committed.size() - 1 - pending];
             for (unsigned i = 0; i < warpgroup_warps; ++i) {
               Warp& other = warp.block->warps[warp.number / warpgroup_warps * warpgroup_warps + i];
               const auto& of_other = other.wgmma.committed;
               while (of_other.empty() || of_other.back() < until) {
                 other.wgmma.waiting.push_back(&self());
                 stand_still([&other] {
                   return "warp " + std::to_string(other.number) +
                          " of the warpgroup to start and commit the same wgmma";
                 });
               }
             }
             carry_out(*warp.block, group, until);
             group.over.add(group.unit, static_cast<Time>(until));
             for (unsigned lane = 0; lane < warp_size; ++lane)
               group.lesson.teach(warp.threads[lane].present, group.over.known());
             std::erase_if(warp.wgmma.sums, [&](const std::shared_ptr<Accumulators>& sum) {
               if (sum->last_use[place_in_group(warp)] >= until) return false;
               give_back(*sum, warp);
               return true;
             });
           });
  pause();
}

}  // namespace gemm::emulation
