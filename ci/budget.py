"""Time for measuring, as --budget caps it, and what fits into it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from ci.confirm import Suspect
from ci.policy import Policy


@dataclass
class Budget:
    """Time for measuring. It runs from the first time that it is asked."""

    seconds: float = inf
    clock: Callable[[], float] = time.monotonic
    _since: float | None = None

    @property
    def left(self) -> float:
        return self.seconds - self.spent

    @property
    def spent(self) -> float:
        now = self.clock()
        if self._since is None:
            self._since = now
        return now - self._since


@dataclass(frozen=True)
class Cost:
    """What pairs are going to take. seconds: of a trial at each point, as the screen took."""

    seconds: Mapping[str, float]
    canary: str | None
    policy: Policy

    def affordable(
        self, suspects: Sequence[Suspect], left: float
    ) -> tuple[list[Suspect], list[Suspect]]:
        """The suspects that fit into the time left, and the others; the first ones first."""
        planned = self._of_processes()
        chosen: list[Suspect] = []
        left_out: list[Suspect] = []
        points: set[str] = set()
        for suspect in suspects:
            fresh = set(suspect.points) - points
            cost = 2 * self.policy.pairs * sum(self.seconds.get(point, 0.0) for point in fresh)
            if planned + cost <= left:
                planned += cost
                points |= fresh
                chosen.append(suspect)
            else:
                left_out.append(suspect)
        return chosen, left_out

    def _of_processes(self) -> float:
        """Base, head and the three processes of the canary."""
        twins = 3 * (self.policy.start_s + self.seconds.get(self.canary, 0.0)) if self.canary else 0
        return self.policy.pairs * (2 * self.policy.start_s + twins)
