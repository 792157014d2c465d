#include "bench/rotation.hpp"

#include <algorithm>
#include <cstdint>

namespace gemm {
namespace {

constexpr std::size_t alignment = 256;  // what Operands promises

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// The process's arena: at least `bytes`, contents unspecified.
std::byte* arena(Space space, std::size_t bytes) {
  static Buffer buffer;
  if (buffer.space() != space || buffer.bytes() < bytes) {
    buffer = Buffer();  // first give back, then take: both at once may not fit
    buffer = Buffer(space, bytes);
  }
  return static_cast<std::byte*>(buffer.data());
}

std::size_t arena_bytes(const SetLayout& layout) {
  return workspace_bytes + static_cast<std::size_t>(layout.sets) * layout.bytes;
}

}  // namespace

SetLayout::SetLayout(std::size_t a_bytes, std::size_t b_bytes, std::size_t c_bytes,
                     std::size_t footprint)
    : b_offset(aligned(a_bytes)),
      c_offset(b_offset + aligned(b_bytes)),
      bytes(std::max(c_offset + aligned(c_bytes), alignment)),
      sets(std::max<std::int64_t>(2, static_cast<std::int64_t>(footprint / bytes) + 1)) {}

void reserve_arena(Space space, const std::vector<Point>& points, std::size_t footprint) {
  // The rest is for inputs, oracle and kernels. A problem that is larger asks when it comes.
  const std::size_t room = space == Space::gpu ? free_gpu_bytes() / 2 : SIZE_MAX;
  std::size_t largest = 0;
  for (const Point& point : points) {
    const Problem& problem = point.problem;
    const auto bytes = [&](std::int64_t stride) {
      return static_cast<std::size_t>(problem.batch * stride) * element_bytes(problem.precision);
    };
    const std::size_t needed =
        arena_bytes(SetLayout(bytes(problem.a_stride()), bytes(problem.b_stride()),
                              bytes(problem.c_stride()), footprint));
    if (needed <= room) largest = std::max(largest, needed);
  }
  if (largest > 0) arena(space, largest);
}

Rotation::Rotation(const Inputs& inputs, std::size_t footprint)
    : layout_(inputs.a.bytes(), inputs.b.bytes(), inputs.c.bytes(), footprint) {
  const Space space = inputs.a.space();
  const auto count = static_cast<std::size_t>(layout_.sets);
  std::byte* base = arena(space, arena_bytes(layout_));
  workspace_ = base;
  sets_begin_ = base + workspace_bytes;

  copy(sets_begin_, space, inputs.a.data(), space, inputs.a.bytes());
  copy(sets_begin_ + layout_.b_offset, space, inputs.b.data(), space, inputs.b.bytes());
  copy(sets_begin_ + layout_.c_offset, space, inputs.c.data(), space, inputs.c.bytes());
  // Doubling: few large copies in place of one a matrix.
  for (std::size_t done = 1; done < count;) {
    const std::size_t more = std::min(done, count - done);
    copy(sets_begin_ + done * layout_.bytes, space, sets_begin_, space, more * layout_.bytes);
    done += more;
  }
  synchronize(space);
}

Operands Rotation::operands(std::int64_t i) const {
  std::byte* set = sets_begin_ + static_cast<std::size_t>(i % layout_.sets) * layout_.bytes;
  return {
      .a = set, .b = set + layout_.b_offset, .c = set + layout_.c_offset, .workspace = workspace_};
}

}  // namespace gemm
