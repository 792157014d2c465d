#include "kernels/emulation/tensor_map.hpp"

#include <cstring>
#include <string>

#include "kernels/emulation/machine.hpp"

namespace gemm::emulation {
namespace {

// What the driver documents of cuTensorMapEncodeTiled.
constexpr std::uint64_t most_elements = std::uint64_t{1} << 32,
                        most_stride = std::uint64_t{1} << 40;
constexpr unsigned most_box = 256, map_alignment = 64, data_alignment = 16;

int bytes_of(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
      return 4;
    default:
      violation("cuTensorMapEncodeTiled: the emulator knows FLOAT16, BFLOAT16 and FLOAT32, not " +
                std::to_string(type));
  }
}

int span_of(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
      return 0;
    case CU_TENSOR_MAP_SWIZZLE_32B:
      return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B:
      return 64;
    case CU_TENSOR_MAP_SWIZZLE_128B:
      return 128;
    default:
      violation("cuTensorMapEncodeTiled: the emulator does not know swizzle " +
                std::to_string(swizzle));
  }
}

bool aligned(const void* pointer, std::uintptr_t to) {
  return reinterpret_cast<std::uintptr_t>(pointer) % to == 0;
}

}  // namespace

std::size_t TensorMap::box_bytes() const {
  std::size_t bytes = element_bytes;
  for (int d = 0; d < dimensions; ++d) bytes *= box[d];
  return bytes;
}

TensorMap decoded(const CUtensorMap* map) {
  TensorMap found;
  std::memcpy(&found, map, sizeof found);
  if (!aligned(map, map_alignment) || found.mark != TensorMap::made_by_encoder)
    violation("what is given as a tensor map was not made by cuTensorMapEncodeTiled");
  return found;
}

CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* data,
                      const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                      CUtensorMapFloatOOBfill fill) {
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
    violation("cuTensorMapEncodeTiled: the emulator knows neither interleaving nor NaN fill");
  if (!aligned(map, map_alignment) || !aligned(data, data_alignment) || rank < 1 ||
      rank > TensorMap::most_dimensions)
    return CUDA_ERROR_INVALID_VALUE;

  TensorMap made{};
  made.mark = TensorMap::made_by_encoder;
  made.dimensions = static_cast<std::uint8_t>(rank);
  made.element_bytes = static_cast<std::uint8_t>(bytes_of(type));
  made.swizzle_span = static_cast<std::uint8_t>(span_of(swizzle));
  made.data = static_cast<char*>(data);
  for (unsigned d = 0; d < rank; ++d) {
    if (sizes[d] < 1 || sizes[d] > most_elements || box[d] < 1 || box[d] > most_box)
      return CUDA_ERROR_INVALID_VALUE;
    if (element_strides[d] != 1)
      violation("cuTensorMapEncodeTiled: the emulator knows element strides of 1 only");
    made.sizes[d] = static_cast<std::uint32_t>(sizes[d] - 1);
    made.box[d] = static_cast<std::uint16_t>(box[d]);
  }
  for (unsigned d = 0; d + 1 < rank; ++d) {
    if (strides[d] % 16 != 0 || strides[d] >= most_stride) return CUDA_ERROR_INVALID_VALUE;
    made.strides[d] = strides[d];
  }
  const unsigned line = made.box[0] * made.element_bytes;
  if (line % 16 != 0 || (made.swizzle_span != 0 && line > made.swizzle_span))
    return CUDA_ERROR_INVALID_VALUE;
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &made, sizeof made);
  return CUDA_SUCCESS;
}

}  // namespace gemm::emulation
