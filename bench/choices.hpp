// Which variant of a tuned kernel a run uses for which problem. Chosen once a run, in its first
// trial, and kept in a file: a choice made anew in every trial would be noise in every comparison.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "kernels/gemm.hpp"

namespace gemm {

class Choices {
 public:
  /// Reads the file if it is there. An empty name keeps the choices in memory. Throws
  /// std::invalid_argument that names a file which cannot be read.
  explicit Choices(std::string file);

  /// The variant of the kernel for the problem; `tune` decides it if nothing is known yet, and the
  /// file is rewritten then. 0 for a kernel without variants.
  int variant(const Kernel& kernel, const Problem& problem,
              const std::function<int(int count)>& tune);

 private:
  void save() const;
  std::string file_;
  std::map<std::string, int> chosen_;
};

}  // namespace gemm
