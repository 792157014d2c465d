"""Reads verdict.json, and says in words what the gate answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from reports.files import Fields, ReportError, read_json
from reports.model import position
from reports.reading import check_schema

WORST_FIRST = (
    "incorrect", "failed", "timed_out", "missing", "regressed",
    "incomparable", "inconclusive", "new", "improved", "same",
)  # fmt: skip
QUIET = ("same",)  # verdicts that need no reading: folded away

ANSWERS = {
    "pass": ("Pass", "The gate found no regression."),
    "regression": ("Regression", "The gate found that this build is slower, or lost a point."),
    "incorrect": ("Incorrect results", "At least one kernel computed a wrong result."),
    "untrusted": ("No trustworthy answer", "The gate could not decide: this is not a pass."),
}


@dataclass(frozen=True)
class PointVerdict:
    """What became of a point, or of a family of points."""

    id: str
    verdict: str
    reason: str
    change: float | None  # 0.05 = 5% slower
    low: float | None
    high: float | None
    smallest_visible: float | None
    base_us: float | None
    head_us: float | None


@dataclass(frozen=True)
class Verdict:
    answer: str
    exit_code: int
    policy: Mapping[str, object]
    base: str
    head_fingerprint: Mapping[str, str]
    head_finished: datetime | None  # None in a file of an earlier version
    summary: Mapping[str, int]
    points: tuple[PointVerdict, ...]  # worst first
    families: tuple[PointVerdict, ...]  # means over the shapes of a kernel, worst first
    doubts: tuple[str, ...]  # why the gate cannot be trusted
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        return ANSWERS[self.answer][0]

    @property
    def sentence(self) -> str:
        return ANSWERS[self.answer][1]

    @property
    def counts(self) -> str:
        """ "2 regressed, 1 missing, 40 same", without the zeros."""
        named = sorted(self.summary, key=lambda name: position(name, WORST_FIRST))
        parts = [
            f"{self.summary[name]} {name.replace('_', ' ')}"
            for name in named
            if name != "compared" and self.summary[name]
        ]
        return ", ".join(parts) or "no point was judged"

    @property
    def loud(self) -> list[PointVerdict]:
        return [point for point in self.points if point.verdict not in QUIET]

    @property
    def quiet(self) -> list[PointVerdict]:
        return [point for point in self.points if point.verdict in QUIET]


def read_verdict(path: Path) -> Verdict:
    fields = read_json(path)
    check_schema(fields)
    answer = fields.text("answer")
    if answer not in ANSWERS:
        raise ReportError(f"{path}: unknown answer {answer!r}; known: {', '.join(ANSWERS)}")
    summary = fields.object("summary")
    head = fields.object("head")
    return Verdict(
        answer=answer,
        exit_code=fields.integer("exit_code"),
        policy=fields.object("policy").values,
        base=_side(fields.object("base")),
        head_fingerprint=head.texts("fingerprint"),
        head_finished=head.moment("finished") if head.has("finished") else None,
        summary={name: summary.integer(name) for name in summary.values},
        points=_points(fields.objects("points")),
        families=_points(fields.objects("families")),
        doubts=fields.strings("doubts"),
        notes=fields.strings("notes"),
    )


def _points(points: list[Fields]) -> tuple[PointVerdict, ...]:
    return tuple(sorted(map(_point, points), key=_worst_first))


def _point(point: Fields) -> PointVerdict:
    verdict = point.text("verdict")
    if verdict not in WORST_FIRST:
        raise point.error("verdict", f"one of {', '.join(WORST_FIRST)}")
    return PointVerdict(
        id=point.text("id"),
        verdict=verdict,
        reason=point.text("reason"),
        change=point.optional_number("change"),
        low=point.optional_number("low"),
        high=point.optional_number("high"),
        smallest_visible=point.optional_number("smallest_visible"),
        base_us=point.optional_number("base_us"),
        head_us=point.optional_number("head_us"),
    )


def _side(side: Fields) -> str:
    """What was compared with: its label, and its age where that is known."""
    age = side.optional_number("age_days")
    return side.text("label") + (f", {age:.0f} days old" if age is not None else "")


def _worst_first(point: PointVerdict) -> tuple[object, ...]:
    change = point.change if point.change is not None else 0.0
    return (WORST_FIRST.index(point.verdict), -change, point.id)
