#include "kernels/emulation/order.hpp"

#include <algorithm>

namespace gemm::emulation {
namespace {

void join(std::vector<Time>& into, const std::vector<Time>& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

void set(std::vector<Time>& known, Unit unit, Time time) {
  if (known.size() <= unit) known.resize(unit + 1u);
  known[unit] = std::max(known[unit], time);
}

}  // namespace

Time latest_time = 1;

Knowledge Knowledge::joined(const Knowledge& other) const {
  if (!other.known_ || same_as(other)) return *this;
  if (!known_) return other;
  auto both = std::make_shared<std::vector<Time>>(*known_);
  join(*both, *other.known_);
  Knowledge made;
  made.known_ = std::move(both);
  return made;
}

Knowledge Knowledge::common(const Knowledge& other) const {
  if (!known_ || same_as(other)) return *this;
  if (!other.known_) return other;
  auto both = std::make_shared<std::vector<Time>>(*known_);
  both->resize(std::min(both->size(), other.known_->size()));
  for (std::size_t i = 0; i < both->size(); ++i)
    (*both)[i] = std::min((*both)[i], (*other.known_)[i]);
  Knowledge made;
  made.known_ = std::move(both);
  return made;
}

Knowledge Knowledge::with(Unit unit, Time time) const {
  if (reaches(unit, time)) return *this;
  auto more =
      known_ ? std::make_shared<std::vector<Time>>(*known_) : std::make_shared<std::vector<Time>>();
  set(*more, unit, time);
  Knowledge made;
  made.known_ = std::move(more);
  return made;
}

void Meeting::arrive(Present& thread) {
  if (thread.known.known_ && !thread.known.same_as(last_)) {
    join(known_, *thread.known.known_);
    last_ = thread.known;
  }
  add(thread.unit, thread.now);
  thread.now = ++latest_time;
}

void Meeting::add(Unit unit, Time time) {
  if (unit < known_.size() && known_[unit] >= time) return;
  set(known_, unit, time);
  changed_ = true;
}

Knowledge Meeting::known() const {
  if (changed_) {
    copy_.known_ = std::make_shared<const std::vector<Time>>(known_);
    changed_ = false;
  }
  return copy_;
}

void Meeting::clear() { *this = {}; }

void Lesson::teach(Present& pupil, const Knowledge& told) {
  if (!before_.same_as(pupil.known) || !told_.same_as(told)) {
    before_ = pupil.known;
    told_ = told;
    after_ = pupil.known.joined(told);
  }
  pupil.known = after_;
}

}  // namespace gemm::emulation
