"""Expectations: worked by hand from the limits of compute capability 9.0 and 8.0."""

import pytest

from ci.resources.listing import DeviceFunction
from ci.resources.occupancy import resident_warps


@pytest.mark.parametrize(
    ("registers", "threads", "shared", "warps"),
    [
        (32, 1024, 0, 64),  # 2 blocks: all 64 warps; 64 * 32 * 32 registers are all of them
        (33, 1024, 0, 32),  # 40 a thread are allotted: 51 warps, and blocks of 32
        (40, 256, 0, 48),  # 51 warps, rounded to 48: 6 blocks of 8
        (255, 256, 0, 8),  # 8 warps of 256 * 32 registers
        (168, 384, 0, 12),  # 12.19 warps: one block
        (16, 32, 0, 32),  # as many blocks as may be
        (32, 256, 100 << 10, 16),  # 2 blocks' shared memory
    ],
)
def test_the_scarcest_resource_decides(
    registers: int, threads: int, shared: int, warps: int
) -> None:
    function = DeviceFunction("f", "sm_90a", registers, 0, shared, threads)
    assert resident_warps(function) == warps


def test_shared_memory_is_that_of_the_architecture() -> None:
    function = DeviceFunction("f", "sm_80", 32, 0, 100 << 10, 256)
    assert resident_warps(function) == 8  # 164 KiB hold one block of 100


def test_what_is_not_known_is_zero() -> None:
    assert resident_warps(DeviceFunction("f", "sm_90", 32, 0, 0, 0)) == 0
    assert resident_warps(DeviceFunction("f", "sm_75", 32, 0, 0, 256)) == 0
