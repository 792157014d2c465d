"""Gates that really were measured, kept compactly: of one build against itself, as it is or slowed.

A file holds the gates of one campaign: the stored base that all of them were screened against, and
of each gate its screen and its pairs, so that the judge of today can judge them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ci.catalog import kernel_of, require_schema
from ci.evidence.record import rounded
from ci.evidence.resample import GateResult, GateTrials, Ratios, run_gate
from ci.files import Fields, read_json, reviewable, write_whole
from ci.policy import policy_for
from ci.records import Samples

FOLDER = Path(__file__).parent / "gates"
_KIND = "gemmwatch-gates"


@dataclass(frozen=True)
class RealGate:
    card: str
    commit: str
    slowed: str  # "<kernel>:<percent>" of head; "" = both sides are one program
    seconds: float
    doubts: tuple[str, ...]  # why its answer could not be trusted when it was measured
    trials: GateTrials  # its stored base is that of the campaign

    @property
    def loss(self) -> float:
        return float(self.slowed.partition(":")[2] or 0) / 100

    @property
    def victims(self) -> list[str]:
        """The points of the slowed kernel, whether the screen suspected them or not."""
        kernel = self.slowed.partition(":")[0]
        return [point for point in self.trials.screened if kernel_of(point) == kernel]


@dataclass
class Campaign:
    name: str
    source: str
    device: str
    fingerprint: Mapping[str, str]
    stored: Ratios
    gates: list[RealGate] = field(default_factory=list)

    def judged(self) -> list[tuple[RealGate, GateResult]]:
        """Each gate with what today's judge says of it."""
        policy = policy_for(self.device)
        return [(gate, run_gate(gate.trials, self.device, policy)) for gate in self.gates]


def load_campaigns(folder: Path = FOLDER) -> list[Campaign]:
    return [load_campaign(path) for path in sorted(folder.glob("*.json"))]


def ratios_of(samples: Samples) -> Ratios:
    return {name: point.log_ratio for name, point in samples.points.items()}


def write_campaign(campaign: Campaign, path: Path) -> None:
    document = {
        "schema": 1,
        "kind": _KIND,
        "source": campaign.source,
        "device": campaign.device,
        "fingerprint": dict(campaign.fingerprint),
        "stored": _written(campaign.stored),
        "gates": {str(number): _gate_document(gate) for number, gate in enumerate(campaign.gates)},
    }
    write_whole(path, reviewable(document))


def load_campaign(path: Path) -> Campaign:
    """Raises BadInput, naming the file and the place, for anything else."""
    fields = read_json(path, "restore it from version control, or measure anew")
    require_schema(fields)
    if fields.text("kind") != _KIND:
        fields.fail(f"its kind is not {_KIND}")
    stored = _ratios(fields.object("stored"))
    return Campaign(
        name=path.stem,
        source=fields.text("source"),
        device=fields.text("device"),
        fingerprint=fields.texts("fingerprint"),
        stored=stored,
        gates=[_gate(gate, stored) for gate in fields.named_objects("gates").values()],
    )


def _gate_document(gate: RealGate) -> dict[str, Any]:
    return {
        "card": gate.card,
        "commit": gate.commit,
        "slowed": gate.slowed,
        "seconds": round(gate.seconds, 1),
        "doubts": list(gate.doubts),
        "matched": gate.trials.matched,
        "screened": _written(gate.trials.screened),
        "base": _written(gate.trials.base),
        "head": _written(gate.trials.head),
    }


def _gate(fields: Fields, stored: Ratios) -> RealGate:
    trials = GateTrials(
        stored=stored,
        screened=_ratios(fields.object("screened")),
        base=_ratios(fields.object("base")),
        head=_ratios(fields.object("head")),
        matched=fields.flag("matched"),
    )
    if trials.base.keys() != trials.head.keys():
        fields.fail(f"{fields.where}: base and head have other points")
    return RealGate(
        card=fields.text("card"),
        commit=fields.text("commit"),
        slowed=fields.text("slowed"),
        seconds=fields.number("seconds"),
        doubts=tuple(fields.strings("doubts")),
        trials=trials,
    )


def _written(ratios: Ratios) -> dict[str, Sequence[float]]:
    return {point: rounded(values) for point, values in ratios.items()}


def _ratios(fields: Fields) -> Ratios:
    """Of whole trials: every point has as many."""
    ratios = {point: np.array(fields.numbers(point)) for point in fields.value}
    if len({values.size for values in ratios.values()}) > 1:
        fields.fail(f"{fields.where} has points of different numbers of trials")
    return ratios
