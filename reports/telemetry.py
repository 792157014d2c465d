"""What the machine did during each trial."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median

from reports.model import Measured, Sample


@dataclass(frozen=True)
class Spread:
    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Trial:
    """The conditions of one trial; what the machine does not report is absent."""

    number: int
    points: int
    spreads: Mapping[str, Spread]  # over the points, by counter
    shares: Mapping[str, float]  # mean over the points, by counter
    seconds: Mapping[str, float]  # sum over the points, by counter


SPREADS = {
    "sm_mhz": "SM clock, MHz",
    "mem_mhz": "memory clock, MHz",
    "power_w": "power, W",
    "temperature_c": "temperature, °C",
}
SHARES = {"throttled": "throttled", "power_capped": "at the power limit"}
SECONDS = {"check_s": "checking, s", "timed_s": "timing, s", "point_s": "in all, s"}


def trials(measured: Measured) -> list[Trial]:
    by_trial: dict[int, list[Sample]] = defaultdict(list)
    for point in measured.points:
        for sample in point.performance.samples if point.performance else ():
            by_trial[sample.trial].append(sample)
    return [_trial(number, by_trial[number]) for number in sorted(by_trial)]


def _trial(number: int, samples: list[Sample]) -> Trial:
    seen: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        for name, value in sample.counters.items():
            seen[name].append(value)
    return Trial(
        number=number,
        points=len(samples),
        spreads={
            name: Spread(min(seen[name]), median(seen[name]), max(seen[name]))
            for name in SPREADS
            if name in seen
        },
        shares={name: fmean(seen[name]) for name in SHARES if name in seen},
        seconds={name: sum(seen[name]) for name in SECONDS if name in seen},
    )
