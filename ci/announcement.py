"""What people are told of a verdict: read back from verdict.json, every field checked.

The gate and the comment on a pull request read the same document, so that they say the same. The
comment's comes from a job that ran the code of the pull request: nothing in it can be taken on
trust, and what is no number, id or word of ours is text to be quoted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from pathlib import Path
from typing import Any

from ci.catalog import checked_id, require_schema
from ci.files import Fields
from ci.resources.ratchet import Finding
from ci.verdicts import Answer, Comparison, PointVerdict, Verdict


@dataclass(frozen=True, slots=True)
class Side:
    """Base or head of a judgement."""

    label: str
    commit: str  # "unknown" where none was recorded
    trials: int
    age_days: float


@dataclass(frozen=True, slots=True)
class PairedBase:
    """The build that suspects were confirmed against."""

    label: str
    flags: tuple[str, ...]  # of the command that asked for it


@dataclass(frozen=True)
class Announcement:
    answer: Answer
    confidence: float  # of the intervals
    selection: str
    base: Side
    head: Side
    paired_base: PairedBase | None
    compared: int
    counts: Mapping[Verdict, int]
    points: tuple[PointVerdict, ...]
    families: tuple[PointVerdict, ...]
    resources: tuple[Finding, ...]  # device functions that are worse than a review allows
    doubts: tuple[str, ...]
    notes: tuple[str, ...]


def announcement(document: Mapping[str, Any]) -> Announcement:
    """Of a document as ci.verdict_json made it."""
    return read_announcement(Fields(Path("verdict.json"), "judge again", "", document))


def read_announcement(document: Fields) -> Announcement:
    """Raises BadInput, naming the place, for anything but a whole verdict.json."""
    require_schema(document)
    summary = document.object("summary")
    return Announcement(
        answer=Answer(_word(document, "answer", list(Answer))),
        confidence=1 - 2 * document.object("policy").number("alpha"),
        selection=document.object("head").text("selection"),
        base=_side(document.object("base")),
        head=_side(document.object("head")),
        paired_base=_paired_base(document),
        compared=summary.integer("compared"),
        counts={verdict: summary.integer(verdict) for verdict in Verdict},
        points=tuple(_item(point) for point in document.objects("points")),
        families=tuple(_item(family) for family in document.objects("families")),
        resources=tuple(_finding(finding) for finding in document.objects("resources")),
        doubts=tuple(document.strings("doubts")),
        notes=tuple(document.strings("notes")),
    )


def _side(side: Fields) -> Side:
    return Side(
        label=side.text("label"),
        commit=side.texts("environment").get("commit", "unknown"),
        trials=side.integer("trials"),
        age_days=side.number("age_days"),
    )


def _paired_base(document: Fields) -> PairedBase | None:
    if document.value.get("confirmation") is None:
        return None
    base = document.object("confirmation").object("base")
    return PairedBase(base.text("label"), tuple(base.strings("flags")))


def _finding(finding: Fields) -> Finding:
    return Finding(finding.text("function"), finding.text("loss"), finding.text("changes"))


def _item(item: Fields) -> PointVerdict:
    return PointVerdict(
        id=checked_id(item, item.text("id")),
        verdict=Verdict(_word(item, "verdict", list(Verdict))),
        reason=item.text("reason"),
        fails=item.flag("fails"),
        comparison=_comparison(item) if "change" in item else None,
    )


def _comparison(item: Fields) -> Comparison:
    change = item.number("change")
    if change <= -1:
        item.fail(f"{item.where}.change is {change:g}, and nothing takes less than no time")
    return Comparison(
        effect=log1p(change),
        low=item.number("low"),
        high=item.number("high"),
        p=item.number("p"),
        smallest_visible=item.number("smallest_visible"),
        base_us=_time(item, "base_us"),
        head_us=_time(item, "head_us"),
        base_ratio=item.number("base_ratio"),
        head_ratio=item.number("head_ratio"),
    )


def _time(item: Fields, key: str) -> float | None:
    """A family has none."""
    return None if item.value.get(key) is None else item.number(key)


def _word(fields: Fields, key: str, known: Sequence[str]) -> str:
    word = fields.text(key)
    if word not in known:
        fields.fail(f"{key} is {word[:40]!r}, not one of {', '.join(known)}")
    return word
