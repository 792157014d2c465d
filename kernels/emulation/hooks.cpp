// Accesses to memory as the compiler reports them: translated sources are compiled as for the
// thread sanitizer, whose runtime this file stands in for.
#include <cstddef>
#include <cstdint>

#include "kernels/emulation/machine.hpp"

namespace {

using namespace gemm::emulation;

inline void access(void* pointer, unsigned bytes, bool write) {
  if (!running_thread) return;  // the host's part of a rung
  SharedMemory& memory = *running_thread->block->memory;
  const auto offset = static_cast<std::uintptr_t>(static_cast<std::byte*>(pointer) - memory.at(0));
  if (offset >= SharedMemory::window) return check_registers(pointer);
  const auto at = static_cast<unsigned>(offset);
  write ? memory.accesses.write(at, bytes) : memory.accesses.read(at, bytes);
}

}  // namespace

// The names are the compiler's.
// NOLINTBEGIN(bugprone-reserved-identifier)
#define GEMM_HOOKS(BYTES)                                                 \
  void __tsan_read##BYTES(void* p) { access(p, BYTES, false); }           \
  void __tsan_write##BYTES(void* p) { access(p, BYTES, true); }           \
  void __tsan_unaligned_read##BYTES(void* p) { access(p, BYTES, false); } \
  void __tsan_unaligned_write##BYTES(void* p) { access(p, BYTES, true); }

extern "C" {
GEMM_HOOKS(1)
GEMM_HOOKS(2)
GEMM_HOOKS(4)
GEMM_HOOKS(8)
GEMM_HOOKS(16)
void __tsan_read_range(void* p, unsigned long bytes) {
  access(p, static_cast<unsigned>(bytes), false);
}
void __tsan_write_range(void* p, unsigned long bytes) {
  access(p, static_cast<unsigned>(bytes), true);
}
void __tsan_init() {}

// Of the host's part of a source: objects with virtual functions, counts of references, statics.
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
std::uint8_t __tsan_atomic8_load(const volatile std::uint8_t* from, int) {
  return __atomic_load_n(from, __ATOMIC_SEQ_CST);
}
int __tsan_atomic32_fetch_add(volatile int* at, int by, int) {
  return __atomic_fetch_add(at, by, __ATOMIC_SEQ_CST);
}
int __tsan_atomic32_fetch_sub(volatile int* at, int by, int) {
  return __atomic_fetch_sub(at, by, __ATOMIC_SEQ_CST);
}
}
// NOLINTEND(bugprone-reserved-identifier)
