// What else a device does while a launch is repeated: a kernel must give the same bits on a busy
// device, from another stream and with a cold cache.
#pragma once

#include "kernels/gemm.hpp"

namespace gemm {

class Load {
 public:
  virtual ~Load() = default;

  /// A cudaStream_t that does not wait for the default stream, for the launch; null on the host.
  virtual void* stream() const = 0;

  /// Empties the caches and starts other work, which ends by itself within about a millisecond.
  virtual void begin() = 0;
};

/// One for the process. On the host it does nothing.
Load& load(Space);

}  // namespace gemm
