#include "kernels/emulation/shared_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/emulation/machine.hpp"

namespace gemm::emulation {
namespace {

// The system has the first KiB. Variables lie apart, so that a step beyond one reaches no other.
constexpr unsigned first_address = 1 << 10, gap = 64;
// Dynamic memory is aligned as its declaration says, and to nothing more.
constexpr unsigned least_alignment = 16, most_alignment = 1 << 10;
constexpr unsigned rank_shift = 24;  // of the block, in every address: seen on an H200

constexpr unsigned rounded_up(unsigned x, unsigned to) { return (x + to - 1) / to * to; }

}  // namespace

SharedLayout* layout = nullptr;

SharedLayout::SharedLayout(unsigned dynamic_bytes)
    : dynamic_{"dynamic shared memory", 0, dynamic_bytes},
      static_end_(first_address + 2 * most_alignment + dynamic_bytes + gap) {}

const SharedVariable& SharedLayout::static_variable(std::string_view name, unsigned bytes,
                                                    unsigned alignment) {
  for (const SharedVariable& variable : statics_)
    if (variable.name == name && variable.bytes == bytes) return variable;
  static_bytes_ = rounded_up(static_bytes_, alignment) + bytes;
  if (static_bytes_ > most_static_shared_bytes)
    violation(std::to_string(static_bytes_) + " bytes of static shared memory, more than 48 KiB");
  if (static_bytes_ + dynamic_.bytes > most_shared_bytes)
    violation(std::to_string(static_bytes_) + " bytes of static and " +
              std::to_string(dynamic_.bytes) + " of dynamic shared memory, more than 227 KiB");
  // Aligned as declared and to nothing more.
  const unsigned at = rounded_up(static_end_, 2 * alignment) + alignment;
  static_end_ = at + bytes + gap;
  if (static_end_ > SharedMemory::window) violation("the window of shared memory is full");
  return statics_.emplace_back(SharedVariable{name, at, bytes});
}

const SharedVariable& SharedLayout::dynamic_array(unsigned alignment) {
  const unsigned wanted = alignment < least_alignment ? least_alignment : alignment;
  if (dynamic_alignment_ == 0) {
    dynamic_alignment_ = wanted;
    dynamic_.at = rounded_up(first_address, 2 * wanted) + wanted;
  }
  if (dynamic_alignment_ != wanted)
    violation("dynamic shared memory is declared with one alignment here, with another there");
  return dynamic_;
}

const SharedVariable* SharedLayout::variable_of(unsigned at, unsigned bytes) const {
  const auto holds = [&](const SharedVariable& variable) {
    return at >= variable.at && at + bytes <= variable.at + variable.bytes;
  };
  if (dynamic_alignment_ != 0 && holds(dynamic_)) return &dynamic_;
  for (const SharedVariable& variable : statics_)
    if (holds(variable)) return &variable;
  return nullptr;
}

SharedMemory::SharedMemory() : data_(static_cast<std::byte*>(std::aligned_alloc(window, window))) {
  if (!data_) throw std::bad_alloc();
  poison(data_, window);
}

void SharedMemory::renew() {
  poison(data_, end_);
  accesses.clear(end_);
  allocated_.clear();
  end_ = 0;
}

void SharedMemory::allocate(const SharedVariable& variable) {
  if (std::find(allocated_.begin(), allocated_.end(), variable.at) != allocated_.end()) return;
  allocated_.push_back(variable.at);
  end_ = std::max(end_, variable.at + variable.bytes);
  accesses.allocate(variable.at, variable.bytes);
}

SharedMemory::~SharedMemory() { std::free(data_); }

void poison(std::byte* from, std::size_t bytes) { std::memset(from, 0xff, bytes); }

Place place_of(unsigned address, unsigned bytes, unsigned alignment, const char* what) {
  const unsigned rank = address >> rank_shift, at = address & ((1u << rank_shift) - 1);
  const auto& blocks = self().block->cluster->blocks;
  if (rank >= blocks.size())
    violation(std::string(what) + ": there is no such block in the cluster");
  Block* const block = blocks[rank].get();
  if (at % alignment != 0)
    violation(std::string(what) + ": " + spelled(at) + " is not aligned to " +
              std::to_string(alignment) + " bytes");
  if (!layout->variable_of(at, bytes))
    violation(std::string(what) + ": " + std::to_string(bytes) + " bytes from " + spelled(at) +
              " are beyond what is allocated");
  if (block->over())
    violation(std::string(what) + ": block " + std::to_string(block->index.x) +
              " of the cluster has ended");
  return {block, at, block->memory->at(at)};
}

unsigned address_of(const void* pointer) {
  const SharedMemory& memory = *self().block->memory;
  if (!memory.holds(pointer)) violation("the address of something that is not in shared memory");
  return memory.offset_of(pointer) | self().block->rank << rank_shift;
}

unsigned address_in(unsigned address, unsigned rank) {
  if (rank >= self().block->cluster->blocks.size())
    violation("in_cluster: the cluster has no block " + std::to_string(rank));
  return (address & ((1u << rank_shift) - 1)) | rank << rank_shift;
}

std::string spelled(unsigned at) {
  if (const SharedVariable* variable = layout->variable_of(at, 1))
    return "byte " + std::to_string(at - variable->at) + " of (" + std::string(variable->name) +
           ")";
  return "shared address " + std::to_string(at);
}

}  // namespace gemm::emulation
