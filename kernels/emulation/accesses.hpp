// Who accessed which bytes of a block's shared memory last, and whether that is ordered before the
// access that comes now. What is not ordered is an error, even if it went well in this run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/emulation/order.hpp"

namespace gemm::emulation {

struct Block;

/// Accesses that others have started: who is told when they are over.
struct Ordered {
  Unit unit;
  Time time;
};

class Accesses {
 public:
  Accesses();
  ~Accesses();
  Accesses(const Accesses&) = delete;
  Accesses& operator=(const Accesses&) = delete;

  /// Nothing exists from 0 to `end`.
  void clear(unsigned end);
  /// Bytes of a variable exist, and hold nothing.
  void allocate(unsigned at, unsigned bytes);
  /// Bytes of an mbarrier, which is no data.
  void reserve(unsigned at, unsigned bytes);

  // By the running thread, itself.
  void read(unsigned at, unsigned bytes);
  void write(unsigned at, unsigned bytes);
  /// cp.async on its way: nobody may touch the bytes until `land`, in the wait of the thread.
  void start_copy(unsigned at, unsigned bytes);
  void land_copy(unsigned at, unsigned bytes);

  // By the async proxy: over for those who know `until`. A write is started by the running thread,
  // a read by whoever knows what `by` does.
  void async_write(const Block&, unsigned at, unsigned bytes, const Ordered& until);
  void async_read(unsigned at, unsigned bytes, const Present& by, const Ordered& until,
                  unsigned reader, const char* doing);

  /// Warps, and behind them what reads for them.
  static constexpr unsigned most_readers = 64;

 private:
  enum class Kind : std::uint8_t { outside, empty, thread, copy, engine, barrier, split };
  /// Bytes of which each access so far has had all or none: 16 of them, until an access has less
  /// and they are split, into 4 by 4 and 2 by 2 bytes.
  struct Cell {
    Time time;  ///< of the last write
    Unit unit;
    Kind kind;
    std::uint64_t readers;  ///< since then: bits of records that are valid
  };
  /// What one warp read of a cell. Lanes that knew the same count as one. Of another reader: its
  /// unit, and when it is over.
  struct Record {
    std::uint32_t segment;
    Time time;
    std::uint32_t lanes;
  };

  Record& record(unsigned reader, unsigned cell) const;
  template <class Visit>
  void for_each_cell(unsigned at, unsigned bytes, Visit visit) const;
  template <int level, class Visit>
  void visit_parts(unsigned first, unsigned at, unsigned end, Visit& visit) const;
  template <int level>
  void split(unsigned index) const;
  [[noreturn]] void complain(const char* doing, unsigned cell, const std::string& why) const;
  void check_last_write(unsigned at, const Cell& cell, const Present& by, bool async,
                        const char* doing) const;
  void check_reads(unsigned at, const Cell& cell, const Present& by, const Block& block,
                   const char* doing) const;
  void overwrite(const Block& block, unsigned at, unsigned bytes, const Present& by,
                 const Ordered& as, Kind kind, const char* doing);

  Cell* cells_;
  Record* records_;
};

}  // namespace gemm::emulation
