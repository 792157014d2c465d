#include "correctness/mask_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "correctness/write_whole.hpp"

namespace gemm {

std::filesystem::path write_mask(const std::filesystem::path& directory, std::string_view kernel,
                                 const Subject& subject, const Mask& mask) {
  const nlohmann::ordered_json json{{"schema", 1},
                                    {"kernel", kernel},
                                    {"problem", subject.problem.id()},
                                    {"regime", name(subject.regime)},
                                    {"seed", subject.seed},
                                    {"batch", mask.batch},
                                    {"rows", mask.rows},
                                    {"columns", mask.columns},
                                    {"cell_rows", mask.cell_rows},
                                    {"cell_columns", mask.cell_columns},
                                    {"wrong", mask.wrong}};
  std::string stem =
      std::string(kernel) + "-" + subject.problem.id() + "-" + std::string(name(subject.regime));
  std::replace(stem.begin(), stem.end(), '/', '_');
  std::filesystem::create_directories(directory);
  const std::filesystem::path file = directory / (stem + ".json");
  write_whole(file, json.dump() + "\n");
  return file;
}

}  // namespace gemm
