"""How many warps of a function fit a multiprocessor, by what is known before it is launched."""

from __future__ import annotations

from dataclasses import dataclass

from ci.resources.listing import DeviceFunction


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """Limits of a compute capability, from the CUDA C++ programming guide's table of them."""

    warps: int
    blocks: int
    shared_bytes: int
    registers: int = 64 << 10
    registers_granule: int = 256  # a warp's registers are allotted in multiples of this
    warps_granule: int = 4  # and a block's warps spread over the four partitions


_BY_CAPABILITY = {
    "80": Multiprocessor(warps=64, blocks=32, shared_bytes=164 << 10),
    "90": Multiprocessor(warps=64, blocks=32, shared_bytes=228 << 10),
}
WARP = 32


def resident_warps(function: DeviceFunction) -> int:
    """Upper bound: dynamic shared memory, which only a launch tells, may allow fewer.

    0 for an architecture whose limits are not listed, or if no bound of the block is known.
    """
    limits = _BY_CAPABILITY.get(function.arch.removeprefix("sm_").rstrip("a"))
    if limits is None or function.max_threads == 0:
        return 0
    warps = -(-function.max_threads // WARP)
    of_a_warp = _up(max(function.registers, 1) * WARP, limits.registers_granule)
    by_registers = limits.registers // of_a_warp // limits.warps_granule * limits.warps_granule
    blocks = min(limits.blocks, limits.warps // warps, by_registers // warps)
    if function.shared_bytes:
        blocks = min(blocks, limits.shared_bytes // function.shared_bytes)
    return blocks * warps


def _up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
