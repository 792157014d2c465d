// cp.async of a thread: what is on its way.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/emulation/order.hpp"

namespace gemm::emulation {

/// Copies that a thread has started, in groups. Each lands when chance wants it to, at
/// the latest in the wait that makes it necessary.
struct AsyncCopies {
  struct Copy {
    unsigned at;  ///< in shared memory
    std::byte* to;
    const std::byte* from;
    int bytes, valid;  ///< how many are written, and read: the rest becomes zero
    bool landed = false;
  };
  using Group = std::vector<Copy>;
  Group open;
  std::vector<Group> committed;

  struct Store;
  /// cp.async.bulk stores, in groups.
  std::vector<std::shared_ptr<Store>> open_stores;
  std::vector<std::vector<std::shared_ptr<Store>>> committed_stores;
  Unit stores = 0;  ///< the unit that reads for them; its time counts them
  unsigned reader = 0;
  Time stores_started = 0;
};

}  // namespace gemm::emulation
