// A mask on disk, for `gemmwatch wrong` to draw.
#pragma once

#include <filesystem>
#include <string_view>

#include "correctness/expected.hpp"
#include "correctness/fuzz.hpp"

namespace gemm {

/// Writes DIR/<kernel>-<problem>-<regime>.json and returns its path; makes the directory.
std::filesystem::path write_mask(const std::filesystem::path& directory, std::string_view kernel,
                                 const Subject& subject, const Mask& mask);

}  // namespace gemm
