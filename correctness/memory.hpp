// Memory in either space, owned. The one place that knows cudaMalloc from malloc.
#pragma once

#include <cstddef>

#include "kernels/gemm.hpp"

namespace gemm {

/// Bytes in one space, freed on destruction. Base alignment is 256 bytes. Throws
/// std::runtime_error that says how much was asked of which space.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Space space, std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Space space() const { return space_; }

 private:
  Space space_ = Space::host;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Sets every byte. Ordered before later work on the default stream; host memory at once.
void fill(const Buffer& buffer, unsigned char byte);

/// Copies `bytes` between any two spaces; complete on return, except GPU to GPU (stream order).
void copy(void* to, Space to_space, const void* from, Space from_space, std::size_t bytes);

/// Waits for all work of the space and throws std::runtime_error with the device's own words if any
/// of it failed.
void synchronize(Space space);

/// GPU memory that is not allocated. Throws std::runtime_error in a build without CUDA.
std::size_t free_gpu_bytes();

/// The GPU that this process measures, or the host when `want_gpu` is false or there is none;
/// `why_host` then says which (no CUDA in this build, no driver, no device, too old).
struct DeviceChoice {
  Device device;
  const char* why_host = nullptr;
};
DeviceChoice choose_device(bool want_gpu);

}  // namespace gemm
