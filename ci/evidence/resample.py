"""Gates resampled from recorded trials, whole: screen, suspects, confirmation.

The base of a screen comes from one session and its head from one, the same or another, so that a
card's or a day's shift is in it as it was recorded. Pairs are measured within an hour on one card,
and so come from the trials of one card. Whole trials are drawn, with replacement: what moved all
points of a process together still does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log1p

import numpy as np

from ci.catalog import family_of
from ci.confirm import Suspect, confirm, find_suspects
from ci.estimate import Array
from ci.evidence.record import Record, as_samples
from ci.judge import judge
from ci.policy import Policy
from ci.records import Samples
from ci.verdicts import Judgement, PointVerdict, Verdict

Ratios = Mapping[str, Array]


@dataclass(frozen=True)
class GateTrials:
    """The trials of one gate, drawn or real. Pairs: of what was, or may be, suspected."""

    stored: Ratios
    screened: Ratios
    base: Ratios
    head: Ratios
    matched: bool = False  # trial i of stored and screened visited their points in the same order

    def slowed(self, victims: Sequence[str], loss: float) -> GateTrials:
        """The same trials, had the head been slower at these points."""

        def lose(ratios: Ratios) -> Ratios:
            return {p: v + log1p(loss) if p in victims else v for p, v in ratios.items()}

        return replace(self, screened=lose(self.screened), head=lose(self.head))


@dataclass(frozen=True)
class GateResult:
    """What each stage of a gate flagged: points and families."""

    screen: frozenset[str]
    suspects: frozenset[str]  # by name
    measured: frozenset[str]  # points that the confirmation measures
    confirmed: frozenset[str]
    hypotheses: int  # of the screen


def draw_gate(record: Record, policy: Policy, rng: np.random.Generator, pairs: int) -> GateTrials:
    sessions = record.sessions
    base_session = sessions[rng.integers(len(sessions))]
    head_session = sessions[rng.integers(len(sessions))]
    card = record.card_trials(head_session.card)
    return GateTrials(
        stored=_draw(base_session.log_ratio, policy.baseline_trials, rng),
        screened=_draw(head_session.log_ratio, policy.screen_trials, rng),
        base=_draw(card, pairs, rng),
        head=_draw(card, pairs, rng),
    )


def run_gate(trials: GateTrials, device: str, policy: Policy) -> GateResult:
    screening = judge(
        as_samples("stored", trials.stored, device),
        as_samples("head", trials.screened, device),
        policy,
        matched=trials.matched,
    )
    suspects = find_suspects(screening, trials.head.keys())
    measured = frozenset(point for suspect in suspects for point in suspect.points)
    return GateResult(
        screen=_regressed(screening),
        suspects=frozenset(suspect.id for suspect in suspects),
        measured=measured,
        confirmed=confirmed(trials, measured, suspects, device, policy),
        hypotheses=screening.compared + len(screening.families),
    )


def confirmed(
    trials: GateTrials,
    points: frozenset[str],
    suspects: Sequence[Suspect],
    device: str,
    policy: Policy,
) -> frozenset[str]:
    """What pairs at these points show to be slower."""
    if not points:
        return frozenset()
    sides = [_side(trials.base, points, device), _side(trials.head, points, device)]
    families = [suspect.id for suspect in suspects if suspect.is_family]
    verdicts, _ = confirm(sides, families, [], policy)
    return _flagged(verdicts)


def draw_victims(record: Record, count: int, rng: np.random.Generator) -> list[str]:
    """Points of as many families: a loss at one must not be seen through another."""
    points = [point for point in record.sessions[0].log_ratio if point not in record.controls]
    rng.shuffle(points)
    of_family = {family_of(point): point for point in points}
    return list(of_family.values())[:count]


def _draw(ratios: Ratios, count: int, rng: np.random.Generator) -> Ratios:
    trials = rng.integers(next(iter(ratios.values())).size, size=count)
    return {point: values[trials] for point, values in ratios.items()}


def _side(ratios: Ratios, points: frozenset[str], device: str) -> Samples:
    return as_samples("pairs", {p: v for p, v in ratios.items() if p in points}, device)


def _regressed(judgement: Judgement) -> frozenset[str]:
    return _flagged([*judgement.points, *judgement.families])


def _flagged(items: Sequence[PointVerdict]) -> frozenset[str]:
    return frozenset(item.id for item in items if item.verdict is Verdict.regressed)
