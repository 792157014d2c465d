#include "kernels/emulation/element.hpp"

#include <cuda_fp16.h>

#include <vector>

namespace gemm::emulation {
namespace {

const std::vector<float> table = [] {
  std::vector<float> values(1 << 16);
  for (std::uint32_t bits = 0; bits < values.size(); ++bits)
    values[bits] = __half2float(std::bit_cast<__half>(static_cast<std::uint16_t>(bits)));
  return values;
}();

}  // namespace

const float* const fp16_values = table.data();

}  // namespace gemm::emulation
