// Tensor maps as the emulator keeps them in the 128 bytes of a CUtensorMap.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace gemm::emulation {

struct TensorMap {
  static constexpr int most_dimensions = 5;
  static constexpr std::uint32_t made_by_encoder = 0x7e50a9;

  std::uint32_t mark;
  std::uint8_t dimensions, element_bytes, swizzle_span;  ///< bytes; 0: not swizzled
  char* data;
  std::uint32_t sizes[most_dimensions];        ///< elements; up to 2^32, kept as size - 1
  std::uint16_t box[most_dimensions];          ///< elements
  std::uint64_t strides[most_dimensions - 1];  ///< bytes, of all dimensions but the first

  std::int64_t size(int d) const { return static_cast<std::int64_t>(sizes[d]) + 1; }
  std::size_t box_bytes() const;
};
static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));

/// The map at this address. Throws Violation if no encoder made it.
TensorMap decoded(const CUtensorMap* map);

/// cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE for what the driver documents as invalid, and a
/// Violation that says what for what the emulator does not know.
CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* data,
                      const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                      CUtensorMapFloatOOBfill fill);

}  // namespace gemm::emulation
