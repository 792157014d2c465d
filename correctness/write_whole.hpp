// Files that are there as a whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace gemm {

/// Writes under a temporary name and renames. Throws std::runtime_error that names the file.
void write_whole(const std::filesystem::path& file, std::string_view text);

}  // namespace gemm
