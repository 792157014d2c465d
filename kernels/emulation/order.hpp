// Who knows what of whom: what has happened before something else, and what has merely happened
// earlier in this run.
//
// A unit is whoever accesses shared memory: a thread, or what works for it beside it (the copy
// engine for one mbarrier, wgmma for one warpgroup, the bulk stores of one thread). Each has a time
// of its own. Knowledge says of each unit up to which time its accesses are known to be over. It is
// handed on where threads synchronise, and nowhere else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gemm::emulation {

using Unit = std::uint16_t;
using Time = std::uint32_t;

class Knowledge {
 public:
  bool reaches(Unit unit, Time time) const {
    return known_ && unit < known_->size() && (*known_)[unit] >= time;
  }
  bool same_as(const Knowledge& other) const { return known_ == other.known_; }
  /// Equal only if it is the same; 32 bits of an address are enough to tell what is alive apart.
  std::uint32_t identity() const {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(known_.get()) >> 4);
  }
  Knowledge joined(const Knowledge& other) const;
  /// What both know.
  Knowledge common(const Knowledge& other) const;
  Knowledge with(Unit unit, Time time) const;

 private:
  friend class Meeting;
  std::shared_ptr<const std::vector<Time>> known_;
};

/// The present of a thread.
struct Present {
  Unit unit = 0;
  Time now = 1;
  Knowledge known;
  Time fenced = 0;  ///< up to when its writes are published to the async proxy

  bool knows(Unit other, Time time) const { return other == unit || known.reaches(other, time); }
};

/// Moments of all units, counted together so that lanes that synchronise have the same time again.
extern Time latest_time;

/// What those know together who arrive: at a barrier, in one phase or over several.
class Meeting {
 public:
  /// Hands on what the thread knows and has done; what it does next is not part of that.
  void arrive(Present&);
  void add(Unit unit, Time time);
  Knowledge known() const;
  void clear();

 private:
  std::vector<Time> known_;
  Knowledge last_;  ///< is part of known_ already
  mutable Knowledge copy_;
  mutable bool changed_ = false;
};

/// From here on the thread knows what it is told, besides what it knew.
class Lesson {
 public:
  void teach(Present& pupil, const Knowledge& told);

 private:
  Knowledge before_, told_, after_;  ///< of the last pupil: many have the same to learn
};

}  // namespace gemm::emulation
