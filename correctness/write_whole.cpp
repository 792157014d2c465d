#include "correctness/write_whole.hpp"

#include <fstream>
#include <stdexcept>

namespace gemm {

void write_whole(const std::filesystem::path& file, std::string_view text) {
  const std::filesystem::path partial = file.string() + ".partial";
  {
    std::ofstream out(partial);
    out << text;
    if (!out.flush()) throw std::runtime_error(partial.string() + ": cannot be written");
  }
  std::filesystem::rename(partial, file);
}

}  // namespace gemm
