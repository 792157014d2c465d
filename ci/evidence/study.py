"""Counting: false alarms of innocent gates, and how often a known slowdown is flagged."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from ci.evidence.record import Record, as_samples
from ci.evidence.resample import (
    GateResult,
    GateTrials,
    confirmed,
    draw_gate,
    draw_victims,
    run_gate,
)
from ci.judge import judge
from ci.policy import Policy, policy_for
from ci.verdicts import Judgement

SLOWDOWNS = (0.01, 0.02, 0.03, 0.05, 0.10)
PAIR_COUNTS = (8, 10, 14, 20, 28)
# Upper ends of the classes that points are put into by the spread of their trials.
SPREADS = (0.005, 0.01, 0.02, 1.0)
_VICTIMS = 8  # of a gate, each of another family
_FIRST = 5  # gates of which the suspects are told, to compute again and compare


@dataclass
class Tally:
    trials: int = 0
    flagged: int = 0

    def add(self, flagged: bool) -> None:
        self.trials += 1
        self.flagged += flagged

    def document(self) -> dict[str, Any]:
        """With Wilson's 95% interval."""
        if not self.trials:
            return {"trials": 0, "flagged": 0}
        interval = stats.binomtest(self.flagged, self.trials).proportion_ci(method="wilson")
        return {
            "trials": self.trials,
            "flagged": self.flagged,
            "low": round(float(interval.low), 4),
            "high": round(float(interval.high), 4),
        }


def real_gates(record: Record) -> Iterator[Judgement]:
    """The gates that really happened: no trial in them is drawn."""
    for base, head in record.gates:
        yield judge(
            as_samples(base, record.session(base).log_ratio, record.device),
            as_samples(head, record.session(head).log_ratio, record.device),
            policy_for(record.device),
        )


def innocent_gates(record: Record, count: int) -> dict[str, Any]:
    """Resampled gates of identical builds, and how many raised an alarm."""
    policy = policy_for(record.device)
    results = [
        run_gate(draw_gate(record, policy, _rng(record, "innocent", index), policy.pairs),
                 record.device, policy)
        for index in range(count)
    ]  # fmt: skip
    return {
        "gates": count,
        "alarms": sum(bool(result.confirmed) for result in results),
        "screen_alarms": sum(bool(result.screen) for result in results),
        "suspects_median": int(np.median([len(result.suspects) for result in results])),
        "measured_median": int(np.median([len(result.measured) for result in results])),
        "points": len(record.sessions[0].log_ratio),
        "first_suspects": [len(result.suspects) for result in results[:_FIRST]],
    }


def power(record: Record, gates: int) -> dict[str, Any]:
    """How often a slowdown at one point is flagged there, by stage and by the point's spread."""
    policy = policy_for(record.device)
    spreads = spread_of(record)
    found: dict[str, Any] = {}
    for loss in SLOWDOWNS:
        stages = {name: Tally() for name in ("screen", "suspected", "confirmation", "both")}
        classes = {f"{limit:g}": Tally() for limit in SPREADS}
        for index in range(gates):
            for victim, result, alone in _slowed_gate(record, loss, index, policy):
                stages["screen"].add(victim in result.screen)
                stages["suspected"].add(victim in result.measured)
                stages["confirmation"].add(victim in alone)
                stages["both"].add(victim in result.confirmed)
                classes[_spread_class(spreads[victim])].add(victim in result.confirmed)
        found[f"{loss:g}"] = {
            "stages": {name: tally.document() for name, tally in stages.items()},
            "by_spread": {name: tally.document() for name, tally in classes.items()},
        }
    return found


def power_by_pairs(record: Record, gates: int, loss: float) -> dict[str, Any]:
    """What more pairs would buy: screen and confirmation, with other numbers of pairs."""
    found = {}
    for pairs in PAIR_COUNTS:
        policy = replace(policy_for(record.device), pairs=pairs)
        tally = Tally()
        for index in range(gates):
            trials, victims = _slowed_trials(record, loss, index, policy)
            result = run_gate(trials, record.device, policy)
            for victim in victims:
                tally.add(victim in result.confirmed)
        found[str(pairs)] = tally.document()
    return found


def spread_of(record: Record) -> dict[str, float]:
    """The standard deviation of each point's trials, the median over sessions."""
    return {
        point: float(
            np.median([np.std(s.log_ratio[point], ddof=1) for s in record.sessions])
        )
        for point in record.sessions[0].log_ratio
    }  # fmt: skip


def _slowed_gate(
    record: Record, loss: float, index: int, policy: Policy
) -> Iterator[tuple[str, GateResult, frozenset[str]]]:
    """Each victim, what the gate flagged, and what pairs flag even if the screen cleared it."""
    trials, victims = _slowed_trials(record, loss, index, policy)
    result = run_gate(trials, record.device, policy)
    alone = confirmed(trials, result.measured | set(victims), [], record.device, policy)
    for victim in victims:
        yield victim, result, alone


def _slowed_trials(
    record: Record, loss: float, index: int, policy: Policy
) -> tuple[GateTrials, Sequence[str]]:
    rng = _rng(record, f"slowed by {loss:g}", index)
    trials = draw_gate(record, policy, rng, policy.pairs)
    victims = draw_victims(record, _VICTIMS, rng)
    return trials.slowed(victims, loss), victims


def _spread_class(spread: float) -> str:
    return f"{next(limit for limit in SPREADS if spread <= limit):g}"


def _rng(record: Record, what: str, index: int) -> np.random.Generator:
    """Each gate has its own seed, so that it is the same whichever others are computed."""
    return np.random.default_rng([zlib.crc32(f"{record.name}: {what}".encode()), index])
