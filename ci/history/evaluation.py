"""`gemmwatch history evaluate`: what the change points are worth, on series whose truth is known.

Synthetic: a year of nights with normal noise, two steps at random nights, lone spikes, against
series without any step. Recorded: the ratios that real processes gave, in the order in which they
were measured, a process a night; a step is put on them by hand in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log1p

import numpy as np

from ci.estimate import Array
from ci.evidence.record import load_records
from ci.history.change_points import Kind, find_changes
from ci.policy import GPU

_FLOOR = log1p(GPU.tau)
_SIZES = (0.01, 0.02, 0.03, 0.05, 0.10)
_NIGHTS = 365
_NOISE = 0.004  # of a night's median on an H200: trials of 0.4% to 1%, ten of them, and the day
_SPIKES = 5
_TOLERANCE = 3  # nights that a change may be placed beside the truth
_HORIZON = 30  # nights that its detection is waited for
_SERIES = 40  # of each size
_UNCHANGED = 400  # series without a step: as many as a suite has points
_APART = 40  # nights at least between two changes, and to either end
_FEWEST = 30  # recorded trials of a session in a row


@dataclass
class Score:
    """Counts over several series."""

    series: int = 0
    true: int = 0
    found: int = 0
    matched: int = 0
    delays: tuple[int, ...] = ()

    def add(self, found: Sequence[int], true: Sequence[int]) -> None:
        self.series += 1
        self.true += len(true)
        self.found += len(found)
        self.matched += sum(any(abs(at - t) <= _TOLERANCE for at in found) for t in true)

    @property
    def precision(self) -> float:
        return self.matched / self.found if self.found else float("nan")

    @property
    def recall(self) -> float:
        return self.matched / self.true if self.true else float("nan")

    def line(self, size: float) -> str:
        late = sorted(self.delays)
        cells = [
            f"{size:.0%}" if size else "none",
            self.series,
            self.true,
            self.found,
            f"{self.precision:.1%}" if self.found else "-",
            f"{self.recall:.1%}" if self.true else "-",
            len(late) if self.true else "-",
            late[len(late) // 2] if late else "-",
            late[int(0.9 * len(late))] if late else "-",
        ]
        return _row(cells)


def _row(cells: Sequence[object]) -> str:
    return "".join(f"{cell:>11}" for cell in map(str, cells))


_HEAD = _row(
    ["step", "series", "true", "found", "precision", "recall", "told", "delay, med", "delay, 90%"]
)


def report() -> str:
    """The tables as text. The same on every call: seeds are fixed."""
    return "\n".join(
        [
            f"synthetic: {_NIGHTS} nights, noise {_NOISE:.1%}, {_SPIKES} lone spikes a series; "
            "delay in nights,\n"
            f"of the steps that were told within {_HORIZON} nights",
            _HEAD,
            synthetic_score(0.0, _UNCHANGED).line(0.0),
            *(synthetic_score(size).line(size) for size in _SIZES),
            "",
            "recorded: fresh processes on an H200 in their order, a night each",
            _HEAD,
            *(recorded_score(size).line(size) for size in (0.0, *_SIZES)),
        ]
    )


def synthetic_score(size: float, series: int = _SERIES) -> Score:
    """Series with two steps of this share, up or down; none for a size of 0."""
    rng = np.random.default_rng(round(1000 * size))
    score = Score()
    for _ in range(series):
        values = rng.normal(0.0, _NOISE, _NIGHTS)
        true = _change_nights(rng) if size else []
        for at in true:
            values[at:] += rng.choice([-1, 1]) * log1p(size)
        values[rng.choice(_NIGHTS, _SPIKES, replace=False)] += rng.choice([-0.1, 0.1], _SPIKES)
        score.add(_steps(values), true)
        score.delays += tuple(_delays(values, true))
    return score


def recorded_series() -> Iterator[Array]:
    """Log ratios of one point in one session, in the order in which they were measured."""
    for record in load_records():
        for session in record.sessions:
            for point, values in session.log_ratio.items():
                if values.size >= _FEWEST and point not in record.controls:
                    yield values


def recorded_score(size: float) -> Score:
    """Recorded series, slowed by this share from their middle on."""
    score = Score()
    for recorded in recorded_series():
        middle = recorded.size // 2
        values = recorded.copy()
        values[middle:] += log1p(size)
        true = [middle] if size else []
        score.add(_steps(values), true)
        score.delays += tuple(_delays(values, true))
    return score


def _change_nights(rng: np.random.Generator) -> list[int]:
    first = int(rng.integers(_APART, _NIGHTS - 2 * _APART))
    return [first, int(rng.integers(first + _APART, _NIGHTS - _APART + 1))]


def _steps(values: Array) -> list[int]:
    return [change.at for change in find_changes(values, _FLOOR) if change.kind is Kind.step]


def _delays(values: Array, true: Sequence[int]) -> Iterator[int]:
    """Nights on the new level until each change was told, for those that were."""
    for at in true:
        for seen in range(at + 1, min(at + _HORIZON, values.size) + 1):
            if any(abs(step - at) <= _TOLERANCE for step in _steps(values[:seen])):
                yield seen - at
                break
