#include "correctness/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace gemm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Buffer, IsAlignedAsOperandsArePromisedToBe) {
  for (const std::size_t bytes : {0u, 1u, 255u, 4097u}) {
    const Buffer buffer(Space::host, bytes);
    ASSERT_NE(buffer.data(), nullptr) << "an empty matrix still has an address";
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0u);
    EXPECT_EQ(buffer.bytes(), bytes);
  }
}

TEST(Buffer, MovesItsMemory) {
  Buffer from(Space::host, 16);
  void* const data = from.data();
  Buffer to(std::move(from));
  EXPECT_EQ(to.data(), data);
  Buffer assigned;
  assigned = std::move(to);
  EXPECT_EQ(assigned.data(), data);
  EXPECT_EQ(assigned.bytes(), 16u);
}

TEST(Buffer, SaysHowMuchOfWhichSpaceCouldNotBeHad) {
  const std::size_t too_much = std::numeric_limits<std::size_t>::max() / 2;
  EXPECT_THAT([&] { Buffer(Space::host, too_much); },
              ThrowsMessage<std::runtime_error>(
                  AllOf(HasSubstr("host"), HasSubstr(std::to_string(too_much)))));
}

TEST(Memory, FillsEveryByteAndCopies) {
  const Buffer buffer(Space::host, 1000);
  fill(buffer, 0xab);
  std::vector<unsigned char> bytes(1000);
  copy(bytes.data(), Space::host, buffer.data(), Space::host, bytes.size());
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 0xab), 1000);
}

TEST(ChooseDevice, TheHostIsSaidToBeTheHost) {
  const DeviceChoice choice = choose_device(false);
  EXPECT_EQ(choice.device.space, Space::host);
  EXPECT_THAT(choice.why_host, HasSubstr("asked for"));
}

TEST(ChooseDevice, GivesAGpuOrAReason) {
  const DeviceChoice choice = choose_device(true);
  if (choice.device.space == Space::gpu) {
    EXPECT_GE(choice.device.compute_capability, 80);
    EXPECT_EQ(choice.why_host, nullptr);
  } else {
    ASSERT_NE(choice.why_host, nullptr);
    EXPECT_GT(std::string_view(choice.why_host).size(), 5u);
  }
}

}  // namespace
}  // namespace gemm
