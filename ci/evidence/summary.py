"""summary.json: the evidence in numbers, and what it was made of."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ci.evidence.gates import FOLDER as GATES
from ci.evidence.gates import Campaign
from ci.evidence.record import FOLDER, Record
from ci.evidence.study import (
    Tally,
    innocent_gates,
    power,
    power_by_pairs,
    real_gates,
)
from ci.policy import GPU, HOST, policy_for
from ci.verdicts import Answer

_CI = Path(__file__).resolve().parents[1]
# What decides the numbers besides records and policy.
_JUDGE = (
    "broken.py", "catalog.py", "conclude.py", "confirm.py", "estimate.py", "hypotheses.py",
    "judge.py", "retired.py", "screen.py", "signed_rank.py", "twins.py", "validity.py",
    "verdicts.py",
    "evidence/gates.py", "evidence/record.py", "evidence/resample.py", "evidence/study.py",
    "evidence/summary.py",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Effort:
    """How many gates are resampled from each record."""

    innocent: int = 2000
    slowed: int = 100  # for each slowdown; each gate has several victims
    by_pairs: int = 25  # for each number of pairs


def summarize(
    records: Sequence[Record],
    campaigns: Sequence[Campaign],
    effort: Effort,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """The document. say gets a line before each long step."""
    studies: dict[str, Any] = {}
    for record in records:
        say(f"{record.name}: {effort.innocent} innocent gates")
        innocent = innocent_gates(record, effort.innocent)
        say(f"{record.name}: power")
        studies[record.name] = {
            "source": record.source,
            "policy": dataclasses.asdict(policy_for(record.device)),
            "sessions": {s.name: {"card": s.card, "trials": s.trials} for s in record.sessions},
            "aa_resampled": innocent,
            "power": power(record, effort.slowed),
            "power_at_3_percent_by_pairs": power_by_pairs(record, effort.by_pairs, 0.03),
        }
    return {
        "schema": 1,
        "digest": digest(),
        "aa_real": _real(records, campaigns),
        "power_real": _real_power(campaigns),
        "aa_resampled": {
            key: sum(study["aa_resampled"][key] for study in studies.values())
            for key in ("gates", "alarms")
        } | {"records": list(studies)},
        "power": _whole_power(studies),
        "records": studies,
    }  # fmt: skip


def digest(records: Path = FOLDER, gates: Path = GATES) -> str:
    """Of what was recorded, policy and judge: evidence of another digest is stale."""
    kept = [*sorted(records.glob("*.json")), *sorted(gates.glob("*.json"))]
    parts = [*(_CI / name for name in _JUDGE), *kept]
    # The policies themselves: policy.py holds numbers of other parts too, and many words.
    whole = hashlib.sha256(repr((GPU, HOST)).encode())
    for part in parts:
        whole.update(hashlib.sha256(part.read_bytes()).digest())
    return whole.hexdigest()[:16]


def _real(records: Sequence[Record], campaigns: Sequence[Campaign]) -> dict[str, Any]:
    """Gates that happened with identical builds: screens of a record, and gates with pairs."""
    screens = [(record.name, gate) for record in records for gate in real_gates(record)]
    paired = [
        (campaign.name, gate, result)
        for campaign in campaigns for gate, result in campaign.judged() if not gate.slowed
    ]  # fmt: skip
    return {
        "gates": len(screens) + len(paired),
        "alarms": sum(gate.answer is Answer.regression for _, gate in screens)
        + sum(bool(result.confirmed) for *_, result in paired),
        "with_pairs": len(paired),
        "untrusted": sum(bool(gate.doubts) for _, gate, _ in paired),
        "cards": len({gate.card for _, gate, _ in paired}),
        "hypotheses": sum(gate.compared + len(gate.families) for _, gate in screens)
        + sum(result.hypotheses for *_, result in paired),
        "measured_median": _median([len(result.measured) for *_, result in paired]),
        "seconds_median": _median([gate.seconds for _, gate, _ in paired]),
        "records": list(dict.fromkeys(name for name, *_ in [*screens, *paired])),
    }


def _real_power(campaigns: Sequence[Campaign]) -> dict[str, Any]:
    """Of gates in which a kernel really ran slower: at each of its points, and as a whole."""
    found: dict[float, tuple[Tally, Tally]] = {}
    for gate, result in (judged for campaign in campaigns for judged in campaign.judged()):
        if gate.slowed:
            points, gates = found.setdefault(gate.loss, (Tally(), Tally()))
            gates.add(bool(result.confirmed))
            for victim in gate.victims:
                points.add(victim in result.confirmed)
    return {
        f"{loss:g}": points.document() | {"gates": gates.trials, "red": gates.flagged}
        for loss, (points, gates) in sorted(found.items())
    }


def _median(numbers: Sequence[float]) -> float | None:
    return round(float(np.median(numbers)), 1) if numbers else None


def _whole_power(studies: dict[str, Any]) -> dict[str, Any]:
    """Of screen and confirmation together, over all records."""
    found: dict[str, Any] = {}
    for study in studies.values():
        for loss, of_loss in study["power"].items():
            both, tally = of_loss["stages"]["both"], found.setdefault(loss, Tally())
            tally.trials += both["trials"]
            tally.flagged += both["flagged"]
    return {loss: tally.document() for loss, tally in found.items()} | {"records": list(studies)}
