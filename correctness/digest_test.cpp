#include "correctness/digest.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace gemm {
namespace {

TEST(Digest, IsOfAllBytesAndOfTheirOrder) {
  const std::size_t bytes = 21;  // not whole words
  const auto digest_with = [&](std::size_t at, unsigned char value) {
    const Buffer buffer(Space::host, bytes);
    fill(buffer, 0x5a);
    static_cast<unsigned char*>(buffer.data())[at] = value;
    return digest(buffer);
  };
  std::set<std::uint64_t> found{digest_with(0, 0x5a)};
  for (std::size_t at = 0; at < bytes; ++at)
    for (const unsigned char value : {0x5b, 0xda, 0x00}) found.insert(digest_with(at, value));
  EXPECT_EQ(found.size(), 1 + 3 * bytes) << "each single change is another digest";
  EXPECT_EQ(digest_with(4, 0x5a), digest_with(9, 0x5a)) << "of equal bytes";
  EXPECT_LT(*found.rbegin(), std::uint64_t{1} << 53) << "a double holds it whole";
}

TEST(Digest, TellsLengthsOfZerosApart) {
  std::set<std::uint64_t> found;
  for (const std::size_t bytes : {0u, 1u, 7u, 8u, 9u, 64u}) {
    const Buffer buffer(Space::host, bytes);
    fill(buffer, 0);
    found.insert(digest(buffer));
  }
  EXPECT_EQ(found.size(), 6u);
}

TEST(Digest, WordsThatChangePlacesAreOther) {
  const Buffer buffer(Space::host, 32);
  auto* words = static_cast<std::uint64_t*>(buffer.data());
  for (std::uint64_t i = 0; i < 4; ++i) words[i] = i;
  const std::uint64_t before = digest(buffer);
  std::swap(words[1], words[3]);
  EXPECT_NE(digest(buffer), before);
}

}  // namespace
}  // namespace gemm
