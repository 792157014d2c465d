#include "correctness/mask_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "correctness/write_whole.hpp"

namespace gemm {
namespace {

/// A folder of its own, gone with the test.
struct Folder {
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  const std::filesystem::path path = [] {
    std::string name = testing::TempDir() + "gemmwatch-XXXXXX";
    return std::filesystem::path(mkdtemp(name.data()));
  }();
};

TEST(MaskFile, HoldsTheMaskAndWhatItIsOf) {
  const Folder folder;
  const Subject subject{{.shape = {3, 2, 4}, .batch = 2}, Regime::one_hot, 7};
  const Mask mask{.batch = 1,
                  .rows = 3,
                  .columns = 2,
                  .cell_rows = 2,
                  .cell_columns = 1,
                  .wrong = {{0, 2}, {1, 0}}};
  const auto file = write_mask(folder.path / "new", "tiled", subject, mask);
  EXPECT_EQ(file, folder.path / "new" / "tiled-fp32_nn_3x2x4_batch=2-one_hot.json");
  std::ifstream in(file);
  EXPECT_EQ(nlohmann::json::parse(in), nlohmann::json::parse(R"({
    "schema": 1, "kernel": "tiled", "problem": "fp32/nn/3x2x4/batch=2", "regime": "one_hot",
    "seed": 7, "batch": 1, "rows": 3, "columns": 2, "cell_rows": 2, "cell_columns": 1,
    "wrong": [[0, 2], [1, 0]]})"));
}

TEST(WriteWhole, ReplacesAFileAndNamesOneThatItCannotWrite) {
  const Folder folder;
  const std::filesystem::path file = folder.path / "file";
  write_whole(file, "first");
  write_whole(file, "second");
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1);
  EXPECT_THROW(write_whole(folder.path / "none" / "file", ""), std::runtime_error);
}

}  // namespace
}  // namespace gemm
