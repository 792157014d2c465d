#include "bench/choices.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace gemm {

Choices::Choices(std::string file) : file_(std::move(file)) {
  if (file_.empty() || !std::filesystem::exists(file_)) return;
  std::ifstream in(file_);
  try {
    chosen_ = nlohmann::json::parse(in).get<std::map<std::string, int>>();
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(file_ + ": not a table of choices (" + error.what() +
                                "); delete it to choose anew");
  }
}

int Choices::variant(const Kernel& kernel, const Problem& problem,
                     const std::function<int(int count)>& tune) {
  if (!kernel.variants) return 0;
  const std::string id = Point{&kernel, problem}.id();
  if (const auto known = chosen_.find(id); known != chosen_.end()) return known->second;
  const int count = kernel.variants(problem);
  if (count == 0)
    throw std::runtime_error(std::string(kernel.name) + " offers no algorithm for this problem");
  const int best = count == 1 ? 0 : tune(count);
  chosen_[id] = best;
  save();
  return best;
}

void Choices::save() const {
  if (file_.empty()) return;
  const std::string partial = file_ + ".partial";
  {
    std::ofstream out(partial);
    out << nlohmann::json(chosen_).dump(1) << '\n';
    if (!out.flush()) throw std::runtime_error(partial + ": cannot be written");
  }
  std::filesystem::rename(partial, file_);
}

}  // namespace gemm
