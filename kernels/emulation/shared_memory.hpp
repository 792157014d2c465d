// The shared memory of one block, and what its addresses mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/emulation/accesses.hpp"

namespace gemm::emulation {

struct Block;

inline constexpr unsigned most_shared_bytes = 227 << 10;        ///< of a block, after opting in
inline constexpr unsigned most_static_shared_bytes = 48 << 10;  ///< and without

/// A variable in shared memory. All blocks of a launch have it at the same place.
struct SharedVariable {
  std::string_view name;
  unsigned at = 0, bytes = 0;
};

/// Where variables lie, the same in all blocks of a launch.
class SharedLayout {
 public:
  /// Throws Violation if there is no room.
  explicit SharedLayout(unsigned dynamic_bytes);
  const SharedVariable& static_variable(std::string_view name, unsigned bytes, unsigned alignment);
  const SharedVariable& dynamic_array(unsigned alignment);
  /// The variable in which all of these bytes lie, or null.
  const SharedVariable* variable_of(unsigned at, unsigned bytes) const;

 private:
  SharedVariable dynamic_;
  unsigned dynamic_alignment_ = 0, static_end_, static_bytes_ = 0;
  std::vector<SharedVariable> statics_;
};

class SharedMemory {
 public:
  static constexpr unsigned window = 256 << 10;  ///< addresses of one block: 18 bits

  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* at(unsigned offset) const { return data_ + offset; }
  bool holds(const void* pointer) const { return pointer >= data_ && pointer < data_ + window; }
  unsigned offset_of(const void* pointer) const {
    return static_cast<unsigned>(static_cast<const std::byte*>(pointer) - data_);
  }

  /// As at the start of a block: nothing exists, and poison lies everywhere.
  void renew();
  /// The variable exists from now on.
  void allocate(const SharedVariable&);

  Accesses accesses;

 private:
  std::vector<unsigned> allocated_;  ///< variables, by their places
  unsigned end_ = 0;                 ///< of the last of them
  std::byte* data_;
};

/// NaN, whatever the type.
void poison(std::byte* from, std::size_t bytes);

/// A place in the shared memory of a block of the cluster.
struct Place {
  Block* block;
  unsigned at;
  std::byte* data;
};

/// What an address of PTX means: of the running thread's block, or of another of the cluster as
/// in_cluster gives it. Throws Violation, which begins with `what`, if the bytes are not of one
/// variable, are not aligned, or are of a block that has ended.
Place place_of(unsigned address, unsigned bytes, unsigned alignment, const char* what);

/// The address of an object in the running thread's block. As on the device, bits above the window
/// are the block's rank in its cluster: a matrix descriptor must not take them in.
unsigned address_of(const void* pointer);
/// The same place in another block of the cluster.
unsigned address_in(unsigned address, unsigned rank);

/// For messages: the variable, and where in it.
std::string spelled(unsigned at);

extern SharedLayout* layout;  ///< of the launch that runs

/// Of the 16-byte chunks of a swizzled line, each moves with the line's number: the tensor copy and
/// wgmma exchange address bits alike. span is 128, 64, 32, or 0 for no swizzle.
constexpr unsigned swizzled(unsigned at, unsigned span) {
  return span == 0 ? at : at ^ ((at >> 7 & (span / 16 - 1)) << 4);
}

}  // namespace gemm::emulation
