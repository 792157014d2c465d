#include "correctness/guarded.hpp"

#include <utility>

#include "correctness/engine.hpp"

namespace gemm {
namespace {

constexpr std::size_t chunks_of_a_band = Guarded::band_bytes / Bands::chunk;
static_assert(chunks_of_a_band * Bands::chunk == Guarded::band_bytes);

/// Of each operand the band before it, then the band behind it.
Bands bands(const std::vector<Guards::Operand>& operands) {
  Bands bands{.chunks = chunks_of_a_band};
  for (const auto& [memory, name] : operands) {
    auto* data = static_cast<unsigned char*>(memory->data());
    bands.begin[bands.count++] = data - Guarded::band_bytes;
    bands.begin[bands.count++] = data + memory->bytes();
  }
  return bands;
}

}  // namespace

Guarded::Guarded(Space space, std::size_t bytes, bool bands)
    : bytes_(bytes), band_(bands ? band_bytes : 0), memory_(space, bytes + 2 * band_) {}

Guards::Guards(std::vector<Operand> operands) : operands_(std::move(operands)) {
  std::erase_if(operands_, [](const Operand& operand) { return !operand.memory->has_bands(); });
}

void Guards::set(unsigned char byte) const {
  if (!operands_.empty()) engine(operands_.front().memory->space()).set(bands(operands_), byte);
}

std::string Guards::changed(unsigned char byte) const {
  if (operands_.empty()) return {};
  const Tally tally =
      engine(operands_.front().memory->space()).count_changed(bands(operands_), byte);
  if (tally.wrong == 0) return {};
  const std::size_t band = tally.first / chunks_of_a_band;
  return std::string("bytes ") + (band % 2 == 0 ? "before " : "behind ") +
         operands_[band / 2].name + " changed";
}

}  // namespace gemm
