"""Progress of a run on a terminal or in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from ci.policy import PROGRESS_INTERVAL_S


@dataclass
class Progress:
    """One line that rewrites itself on a terminal; elsewhere a plain line every few seconds."""

    trials: int
    points: int  # of a trial
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Callable[[], float] = time.monotonic
    _first: tuple[float, int] | None = None  # time and points when this session began
    _last_line: float | None = None

    def show(self, trial: int, skipped: int, measured: int) -> None:
        """trial counts from 0; skipped and measured: points of this trial that are behind us."""
        done = skipped + measured
        now, total = self.clock(), trial * self.points + done
        if self._first is None:
            self._first = (now, total)
        if self.stream.isatty():
            self.stream.write(f"\r\033[K{self._line(trial, done, now, total)}")
            self.stream.flush()
        elif self._last_line is None or now - self._last_line >= PROGRESS_INTERVAL_S:
            self._last_line = now
            self.stream.write(self._line(trial, done, now, total) + "\n")
            self.stream.flush()

    def note(self, text: str) -> None:
        """A line of its own, that stays."""
        clear = "\r\033[K" if self.stream.isatty() else ""
        self.stream.write(f"{clear}{text}\n")
        self.stream.flush()

    def close(self) -> None:
        if self.stream.isatty() and self._first is not None:
            self.stream.write("\r\033[K")
            self.stream.flush()

    def _line(self, trial: int, done: int, now: float, total: int) -> str:
        line = f"trial {trial + 1}/{self.trials}  point {done}/{self.points}"
        assert self._first is not None
        started, behind = self._first
        if total > behind:
            left = (self.trials * self.points - total) * (now - started) / (total - behind)
            line += f"  about {_duration(left)} left"
        return line


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
