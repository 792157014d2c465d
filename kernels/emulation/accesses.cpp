#include "kernels/emulation/accesses.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>
#include <string>

#include "kernels/emulation/machine.hpp"

namespace gemm::emulation {
namespace {

// Cells of all three sizes, in one array.
constexpr unsigned cell_bytes[] = {16, 4, 2};
constexpr unsigned first_cell[] = {0, SharedMemory::window / 16,
                                   SharedMemory::window / 16 + SharedMemory::window / 4};
constexpr unsigned cells = first_cell[2] + SharedMemory::window / 2;

unsigned byte_of(unsigned cell) {
  const int level = cell >= first_cell[2] ? 2 : cell >= first_cell[1] ? 1 : 0;
  return (cell - first_cell[level]) * cell_bytes[level];
}

/// Zeros, of which only what is touched takes memory.
template <class T>
T* reserved(std::size_t count) {
  void* memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<T*>(memory);
}

const Thread* thread_of(Unit unit) {
  const Cluster& cluster = *running_cluster;
  const std::size_t threads = cluster.blocks.front()->threads.size();
  if (unit >= threads * cluster.blocks.size()) return nullptr;
  return &cluster.blocks[unit / threads]->threads[unit % threads];
}

std::string who(Unit unit) {
  if (const Thread* thread = thread_of(unit)) return name_of(*thread);
  const Cluster& cluster = *running_cluster;
  return cluster.helpers[unit - cluster.blocks.size() * cluster.blocks.front()->threads.size()];
}

}  // namespace

Accesses::Accesses()
    : cells_(reserved<Cell>(cells)),
      records_(reserved<Record>(std::size_t{cells} * most_readers)) {}

Accesses::~Accesses() {
  munmap(cells_, cells * sizeof(Cell));
  munmap(records_, std::size_t{cells} * most_readers * sizeof(Record));
}

void Accesses::clear(unsigned end) {
  for (int level = 0; level < 3; ++level)
    std::fill_n(cells_ + first_cell[level], end / cell_bytes[level] + 1, Cell{});
}

void Accesses::allocate(unsigned at, unsigned bytes) {
  const unsigned whole = (bytes + 1) / 2 * 2;
  for_each_cell(at, whole, [](unsigned, Cell& cell) { cell = {0, 0, Kind::empty, 0}; });
}

void Accesses::reserve(unsigned at, unsigned bytes) {
  for_each_cell(at, bytes, [](unsigned, Cell& cell) { cell = {0, 0, Kind::barrier, 0}; });
}

Accesses::Record& Accesses::record(unsigned reader, unsigned cell) const {
  return records_[std::size_t{reader} * cells + cell];
}

template <class Visit>
void Accesses::for_each_cell(unsigned at, unsigned bytes, Visit visit) const {
  visit_parts<0>(at / cell_bytes[0], at, at + bytes, visit);
}

/// Visits [at, end), from cell `first` of this level on.
template <int level, class Visit>
void Accesses::visit_parts(unsigned first, unsigned at, unsigned end, Visit& visit) const {
  constexpr unsigned size = cell_bytes[level];
  for (unsigned i = first; i * size < end; ++i) {
    const unsigned index = first_cell[level] + i, begin = i * size;
    if constexpr (level < 2) {
      if (cells_[index].kind != Kind::split && (at > begin || end < begin + size)) split<level>(i);
      if (cells_[index].kind == Kind::split) {
        const unsigned from = std::max(at, begin);
        visit_parts<level + 1>(from / cell_bytes[level + 1], from, std::min(end, begin + size),
                               visit);
        continue;
      }
    }
    visit(index, cells_[index]);
  }
}

template <int level>
void Accesses::split(unsigned i) const {
  constexpr unsigned parts = cell_bytes[level] / cell_bytes[level + 1];
  Cell& whole = cells_[first_cell[level] + i];
  for (unsigned part = 0; part < parts; ++part) {
    const unsigned to = first_cell[level + 1] + i * parts + part;
    cells_[to] = whole;
    for (std::uint64_t left = whole.readers; left != 0; left &= left - 1) {
      const auto reader = static_cast<unsigned>(std::countr_zero(left));
      record(reader, to) = record(reader, first_cell[level] + i);
    }
  }
  whole = {0, 0, Kind::split, 0};
}

void Accesses::complain(const char* doing, unsigned cell, const std::string& why) const {
  violation(std::string(doing) + " " + spelled(byte_of(cell)) + why);
}

void Accesses::check_last_write(unsigned at, const Cell& cell, const Present& by, bool async,
                                const char* doing) const {
  switch (cell.kind) {
    case Kind::empty:
      return;
    case Kind::outside:
      complain(doing, at, ", beyond what is allocated");
    case Kind::barrier:
      complain(doing, at, ", which is an mbarrier");
    case Kind::copy:
      complain(doing, at,
               ", to which cp.async of " + who(cell.unit) +
                   " is still on its way: that thread's cp_async_wait_group is missing");
    case Kind::thread:
    case Kind::engine:
    case Kind::split:
      break;
  }
  if (!by.knows(cell.unit, cell.time))
    complain(doing, at,
             ", which " + who(cell.unit) + " wrote: nothing orders the one after the other");
  if (async && cell.kind == Kind::thread && thread_of(cell.unit)->present.fenced < cell.time)
    complain(doing, at,
             ", which " + who(cell.unit) + " wrote without a fence_proxy_async_shared after it");
}

void Accesses::check_reads(unsigned at, const Cell& cell, const Present& by, const Block& block,
                           const char* doing) const {
  for (std::uint64_t left = cell.readers; left != 0; left &= left - 1) {
    const auto reader = static_cast<unsigned>(std::countr_zero(left));
    const Record& read = record(reader, at);
    if (reader >= block.warps.size()) {
      const auto helper = static_cast<Unit>(read.segment);
      if (!by.knows(helper, read.time))
        complain(doing, at, ", which " + who(helper) + " may still read");
      continue;
    }
    for (std::uint32_t lanes = read.lanes; lanes != 0; lanes &= lanes - 1) {
      const Thread& thread = block.warps[reader].threads[std::countr_zero(lanes)];
      if (!by.knows(thread.present.unit, read.time))
        complain(doing, at,
                 ", which " + name_of(thread) + " read: nothing orders the one after the other");
    }
  }
}

void Accesses::read(unsigned at, unsigned bytes) {
  const Thread& thread = self();
  const Present& by = thread.present;
  const std::uint64_t bit = std::uint64_t{1} << thread.warp->number;
  const std::uint32_t lane = 1u << thread.lane, segment = by.known.identity();
  Record* const records = &record(thread.warp->number, 0);
  for_each_cell(at, bytes, [&](unsigned i, Cell& cell) {
    if (cell.kind != Kind::thread || !by.knows(cell.unit, cell.time))
      check_last_write(i, cell, by, false, "reads");
    Record& read = records[i];
    if (!(cell.readers & bit) || read.segment != segment) {
      cell.readers |= bit;
      read = {segment, by.now, lane};
    } else {
      read.lanes |= lane;
      read.time = std::min(read.time, by.now);
    }
  });
}

void Accesses::overwrite(const Block& block, unsigned at, unsigned bytes, const Present& by,
                         const Ordered& as, Kind kind, const char* doing) {
  for_each_cell(at, bytes, [&](unsigned i, Cell& cell) {
    check_last_write(i, cell, by, kind == Kind::engine, doing);
    if (cell.readers != 0) check_reads(i, cell, by, block, doing);
    cell = {as.time, as.unit, kind, 0};
  });
}

void Accesses::write(unsigned at, unsigned bytes) {
  const Present& by = self().present;
  overwrite(*self().block, at, bytes, by, {by.unit, by.now}, Kind::thread, "writes");
}

void Accesses::start_copy(unsigned at, unsigned bytes) {
  const Present& by = self().present;
  overwrite(*self().block, at, bytes, by, {by.unit, by.now}, Kind::copy, "starts a copy to");
}

void Accesses::land_copy(unsigned at, unsigned bytes) {
  const Present& by = self().present;
  for_each_cell(at, bytes, [&](unsigned, Cell& cell) {
    cell = {by.now, by.unit, Kind::thread, 0};
  });
}

void Accesses::async_write(const Block& block, unsigned at, unsigned bytes, const Ordered& until) {
  overwrite(block, at, bytes, self().present, until, Kind::engine, "starts a copy to");
}

void Accesses::async_read(unsigned at, unsigned bytes, const Present& by, const Ordered& until,
                          unsigned reader, const char* doing) {
  const std::uint64_t bit = std::uint64_t{1} << reader;
  for_each_cell(at, bytes, [&](unsigned i, Cell& cell) {
    check_last_write(i, cell, by, true, doing);
    cell.readers |= bit;
    record(reader, i) = {until.unit, until.time, 0};
  });
}

}  // namespace gemm::emulation
