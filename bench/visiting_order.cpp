#include "bench/visiting_order.hpp"

#include <algorithm>
#include <string>
#include <tuple>

namespace gemm {
namespace {

/// A number that looks random and depends on every bit of both: FNV-1a over the text, then the
/// finalizer of SplitMix64.
std::uint64_t place(std::uint64_t seed, const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

}  // namespace

void put_in_visiting_order(std::vector<Point>& points, std::uint64_t seed) {
  std::vector<std::tuple<std::uint64_t, std::string, std::uint64_t, Point>> placed;
  for (const Point& point : points)
    placed.emplace_back(place(seed, point.problem.id()), point.problem.id(),
                        place(seed, point.id()), point);
  std::sort(placed.begin(), placed.end(), [](const auto& x, const auto& y) {
    const auto key = [](const auto& one) {
      return std::tie(std::get<0>(one), std::get<1>(one), std::get<2>(one));
    };
    return key(x) < key(y);
  });
  std::transform(placed.begin(), placed.end(), points.begin(),
                 [](const auto& one) { return std::get<Point>(one); });
}

}  // namespace gemm
