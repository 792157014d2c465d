"""The roofline: what a machine could do at most, and which of its limits a point is near.

A problem of few operations a byte cannot be faster than the memory delivers its operands, one of
many no faster than the arithmetic: S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52(4),
2009. The arithmetic is that of the clock which the point was measured at: a data sheet's rate holds
at the boost clock, and a card at its power limit runs slower. The memory keeps its own clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from reports.model import Measured, Performance, Problem

Bound = Literal["compute", "memory", "latency"]

# A point is bound by a limit of which it reaches this share; Nsight Compute's guided analysis has
# the same threshold. Below it for both, time goes into waiting, in the kernel or for its launch.
NEAR = 0.6

# MHz at which the peak rates of the data sheet hold: NVIDIA's H100 white paper gives tensor cores a
# boost clock of their own. They agree with the rates, at 128 FMAs a cycle and SM in FP32 and on the
# tensor cores 1024 in TF32, 2048 in FP16 and BF16, on 132 SMs.
PEAK_MHZ: Mapping[str, Mapping[str, float]] = {
    "NVIDIA H200": {"fp32": 1980, "tf32": 1830, "fp16": 1830, "bf16": 1830}
}


@dataclass(frozen=True)
class Roof:
    """What is to be had at an arithmetic intensity, in FLOP/byte."""

    peak: float  # TFLOP/s
    bandwidth: float  # GB/s
    mhz: float | None = None  # the clock of the peak; None: as the data sheet has it

    def at(self, intensity: float) -> float:
        """TFLOP/s."""
        return min(self.peak, intensity * self.bandwidth * 1e-3)

    @property
    def ridge(self) -> float:
        """The intensity from which on the peak is the lower limit."""
        return self.peak / self.bandwidth * 1e3


@dataclass(frozen=True)
class Placement:
    """Where a point stands under its roof."""

    roof: Roof
    compute_share: float  # of the peak rate
    memory_share: float  # of the peak bandwidth, for bytes that must be moved at least

    @property
    def share(self) -> float:
        """Of what is to be had at the point's intensity."""
        return max(self.compute_share, self.memory_share)

    @property
    def bound(self) -> Bound:
        if self.share < NEAR:
            return "latency"
        return "compute" if self.compute_share >= self.memory_share else "memory"


def intensity(problem: Problem) -> float:
    """FLOP/byte, each operand moved once."""
    return problem.flops / problem.bytes


def roof(measured: Measured, precision: str, mhz: float | None = None) -> Roof | None:
    """At that SM clock, or at the data sheet's if a clock is unknown; None without a peak."""
    peak, bandwidth = measured.peaks.get(precision), measured.peaks.get("bandwidth_gb_s")
    if not peak or not bandwidth:
        return None
    peak_mhz = PEAK_MHZ.get(measured.machine, {}).get(precision)
    if mhz is None or peak_mhz is None:
        return Roof(peak, bandwidth)
    return Roof(peak * mhz / peak_mhz, bandwidth, mhz)


def place(performance: Performance, under: Roof) -> Placement:
    return Placement(
        roof=under,
        compute_share=performance.tflops / under.peak,
        memory_share=performance.gbytes_per_s / under.bandwidth,
    )


def placement(measured: Measured, performance: Performance) -> Placement | None:
    """Under the roof of the clock that the point was measured at."""
    under = roof(measured, performance.problem.precision, performance.counter("sm_mhz"))
    return place(performance, under) if under else None
