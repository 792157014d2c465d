// Copies that threads start and do not perform: cp.async, and the tensor copies of the copy engine.
#include "kernels/emulation/copies.hpp"

#include <cstring>
#include <string>

#include "kernels/emulation/machine.hpp"
#include "kernels/emulation/ptx.hpp"
#include "kernels/emulation/tensor_map.hpp"

namespace gemm::emulation {
namespace {

constexpr int chunk_bytes = 16;

void land(AsyncCopies::Copy& copy) {
  if (copy.landed) return;
  copy.landed = true;
  std::memcpy(copy.to, copy.from, copy.valid);
  std::memset(copy.to + copy.valid, 0, copy.bytes - copy.valid);
}

/// A box of a tensor at these coordinates.
struct Box {
  TensorMap map;
  std::int64_t origin[TensorMap::most_dimensions];

  /// Calls visit(offset in shared memory, address in global memory or null beyond the edges, bytes)
  /// for pieces of lines that are within 16 bytes of shared memory.
  template <class Visit>
  void for_each_piece(Visit visit) const {
    std::int64_t at[TensorMap::most_dimensions] = {};
    unsigned offset = 0;
    const unsigned line_bytes = map.box[0] * map.element_bytes;
    for (;;) {
      char* line = map.data;
      bool inside = true;
      for (int d = 1; d < map.dimensions; ++d) {
        const std::int64_t index = origin[d] + at[d];
        inside = inside && index >= 0 && index < map.size(d);
        line += index * static_cast<std::int64_t>(map.strides[d - 1]);
      }
      for (unsigned byte = 0; byte < line_bytes; byte += chunk_bytes) {
        const std::int64_t first = origin[0] + byte / map.element_bytes;
        const int elements = chunk_bytes / map.element_bytes;
        if (inside && first >= 0 && first + elements <= map.size(0)) {
          visit(offset + byte, line + first * map.element_bytes, chunk_bytes);
          continue;
        }
        for (int e = 0; e < elements; ++e) {
          const bool there = inside && first + e >= 0 && first + e < map.size(0);
          visit(offset + byte + e * map.element_bytes,
                there ? line + (first + e) * map.element_bytes : nullptr, map.element_bytes);
        }
      }
      offset += line_bytes;
      int d = 1;
      while (d < map.dimensions && ++at[d] == map.box[d]) at[d++] = 0;
      if (d == map.dimensions) return;
    }
  }
};

Box box_of(const CUtensorMap* map, int along, int line, int batch, const char* what) {
  if (geometry.may_overlap && !self().waited_for_grids)
    violation(std::string(what) + " before griddepcontrol_wait: the grid may overlap the last");
  const Box box{decoded(map), {along, line, batch}};
  if (box.map.dimensions != 3)
    violation(std::string(what) + ": the tensor map has " + std::to_string(box.map.dimensions) +
              " dimensions, not 3");
  return box;
}

/// Swizzled boxes start on 128 bytes, or their lines would be moved by bits that are not theirs.
constexpr unsigned box_alignment = 128;

void land(const Box& box, const Place& to) {
  if (to.block->over()) violation("cp_async_bulk_tensor: the block into which it copies has ended");
  box.for_each_piece([&](unsigned offset, const char* from, unsigned bytes) {
    std::byte* element = to.block->memory->at(swizzled(to.at + offset, box.map.swizzle_span));
    if (from)
      std::memcpy(element, from, bytes);
    else
      std::memset(element, 0, bytes);
  });
}

/// Starts a load whose bytes and whose barrier are in one block.
void load(const Box& box, const Place& to, const Place& barrier, const Ordered& until) {
  const auto bytes = static_cast<unsigned>(box.map.box_bytes());
  to.block->memory->accesses.async_write(*to.block, to.at, bytes, until);
  poison(to.data, bytes);
  later([=] {
    land(box, to);
    complete_bytes(*barrier.block, barrier.at, bytes);
  });
}

}  // namespace

struct AsyncCopies::Store {
  Store(const Box& box, const Place& from, Time number) : box(box), from(from), number(number) {}

  Box box;
  Place from;
  Time number;  ///< of those of its thread
  bool read = false, written = false;
  std::vector<std::byte> bytes;  ///< what was read, until it is written

  void read_now() {
    if (read) return;
    read = true;
    bytes.resize(box.map.box_bytes());
    for (unsigned offset = 0; offset < bytes.size(); ++offset)
      bytes[offset] = *from.block->memory->at(swizzled(from.at + offset, box.map.swizzle_span));
  }
  void write_now() {
    if (written) return;
    read_now();
    written = true;
    box.for_each_piece([&](unsigned offset, char* to, unsigned count) {
      if (to) std::memcpy(to, &bytes[offset], count);
    });
  }
};

void cp_async(unsigned to, const void* from, int bytes, int valid) {
  const Place place = place_of(to, bytes, bytes, "cp_async");
  if (valid < 0 || valid > bytes)
    violation("cp_async: of " + std::to_string(bytes) + " bytes, not " + std::to_string(valid));
  if (reinterpret_cast<std::uintptr_t>(from) % bytes != 0)
    violation("cp_async: the source is not aligned to " + std::to_string(bytes) + " bytes");
  place.block->memory->accesses.start_copy(place.at, bytes);
  poison(place.data, bytes);
  AsyncCopies::Copy& copy = self().copies.open.emplace_back(
      AsyncCopies::Copy{place.at, place.data, static_cast<const std::byte*>(from), bytes, valid});
  if (luck.chance(early_copies())) land(copy);
}

void cp_async_commit_group() {
  AsyncCopies& copies = self().copies;
  copies.committed.push_back(std::move(copies.open));
  copies.open.clear();
}

void cp_async_wait_group(int pending) {
  AsyncCopies& copies = self().copies;
  while (copies.committed.size() > static_cast<std::size_t>(pending)) {
    for (AsyncCopies::Copy& copy : copies.committed.front()) {
      land(copy);
      self().block->memory->accesses.land_copy(copy.at, copy.bytes);
    }
    copies.committed.erase(copies.committed.begin());
  }
  pause();
}

void tensor_load_3d(unsigned to, const CUtensorMap* map, int along, int line, int batch,
                    unsigned barrier) {
  const char* const what = "cp_async_bulk_tensor_3d";
  const Box box = box_of(map, along, line, batch, what);
  const Ordered until = end_of_copy(barrier);
  load(box, place_of(to, static_cast<unsigned>(box.map.box_bytes()), box_alignment, what),
       place_of(barrier, 8, 8, what), until);
  pause();
}

void tensor_load_3d_multicast(unsigned to, const CUtensorMap* map, int along, int line, int batch,
                              unsigned barrier, std::uint16_t blocks) {
  const char* const what = "cp_async_bulk_tensor_3d_multicast";
  const Box box = box_of(map, along, line, batch, what);
  if (blocks == 0) violation(std::string(what) + ": to no block");
  for (unsigned rank = 0; rank < 16; ++rank) {
    if (!(blocks >> rank & 1)) continue;
    const Ordered until = end_of_copy(address_in(barrier, rank));
    load(box,
         place_of(address_in(to, rank), static_cast<unsigned>(box.map.box_bytes()), box_alignment,
                  what),
         place_of(address_in(barrier, rank), 8, 8, what), until);
  }
  pause();
}

void tensor_store_3d(const CUtensorMap* map, int along, int line, int batch, unsigned from) {
  const char* const what = "cp_async_bulk_tensor_3d_store";
  const Box box = box_of(map, along, line, batch, what);
  const auto bytes = static_cast<unsigned>(box.map.box_bytes());
  const Place place = place_of(from, bytes, box_alignment, what);
  Thread& thread = self();
  AsyncCopies& copies = thread.copies;
  if (copies.stores_started == 0) {
    copies.stores = thread.block->cluster->new_helper("a bulk store of " + name_of(thread));
    copies.reader = new_reader(*thread.block);
  }
  auto store = std::make_shared<AsyncCopies::Store>(box, place, ++copies.stores_started);
  place.block->memory->accesses.async_read(place.at, bytes, thread.present,
                                           {copies.stores, store->number}, copies.reader,
                                           "a bulk store reads");
  copies.open_stores.push_back(store);
  later([store] { store->read_now(); });
  later([store] { store->write_now(); });
  pause();
}

void bulk_commit_group() {
  AsyncCopies& copies = self().copies;
  copies.committed_stores.push_back(std::move(copies.open_stores));
  copies.open_stores.clear();
}

void bulk_wait_group(int pending, bool only_read) {
  AsyncCopies& copies = self().copies;
  Knowledge& known = self().present.known;
  while (copies.committed_stores.size() > static_cast<std::size_t>(pending)) {
    for (const auto& store : copies.committed_stores.front()) {
      only_read ? store->read_now() : store->write_now();
      known = known.with(copies.stores, store->number);
    }
    copies.committed_stores.erase(copies.committed_stores.begin());
  }
  pause();
}

}  // namespace gemm::emulation
