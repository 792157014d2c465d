"""The types of an answer: a verdict for each point, each with its reason and its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import expm1

from ci.base_build import BaseBuild
from ci.errors import Exit
from ci.policy import Policy
from ci.records import Samples
from ci.resources.ratchet import Finding


class Verdict(StrEnum):
    improved = "improved"
    same = "same"
    regressed = "regressed"
    inconclusive = "inconclusive"
    missing = "missing"
    incomparable = "incomparable"
    new = "new"
    incorrect = "incorrect"
    failed = "failed"
    timed_out = "timed_out"


class Answer(StrEnum):
    passed = "pass"
    regression = "regression"
    incorrect = "incorrect"
    untrusted = "untrusted"

    @property
    def exit_code(self) -> Exit:
        return {
            Answer.passed: Exit.ok,
            Answer.regression: Exit.regression,
            Answer.incorrect: Exit.incorrect,
            Answer.untrusted: Exit.no_answer,
        }[self]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The numbers of a comparison. Shares are slowdowns of head: 0.05 is 5% slower."""

    effect: float  # in log units
    low: float  # the one-sided bounds at the policy's alpha
    high: float
    p: float  # of "the slowdown is at most tau", adjusted for all hypotheses of the gate
    smallest_visible: float  # this and high: tenfold at most
    base_us: float | None  # medians; a family has no time of its own
    head_us: float | None
    base_ratio: float  # kernel / control
    head_ratio: float

    @property
    def change(self) -> float:
        return expm1(self.effect)


@dataclass(frozen=True, slots=True)
class PointVerdict:
    """What became of a point, or of a family of points."""

    id: str
    verdict: Verdict
    reason: str
    fails: bool  # it turns the gate red
    comparison: Comparison | None = None  # for points that were compared


@dataclass(frozen=True)
class Confirmation:
    """What pairs of fresh base and head processes said of the suspects."""

    base: BaseBuild
    pairs: int
    same_code: bool  # base and head are one program: its pairs are A/A samples
    measured: tuple[PointVerdict, ...]  # points and families
    unmeasured: tuple[str, ...]  # suspects that the budget left out
    seconds: float  # of measuring pairs and twins
    doubts: tuple[str, ...]
    unchanged: frozenset[str] = frozenset()  # kernels that are the same code on both sides

    @property
    def alarms(self) -> int:
        """Innocent suspects that were called regressed, where both sides are one program."""
        return sum(v.verdict is Verdict.regressed for v in self.measured) if self.same_code else 0


@dataclass(frozen=True)
class Judgement:
    """The answer of a gate. The summary counts points; families are judged beside them."""

    base: Samples
    head: Samples
    policy: Policy
    points: tuple[PointVerdict, ...]
    families: tuple[PointVerdict, ...]
    doubts: tuple[str, ...]  # why the gate cannot be trusted; empty = it can
    notes: tuple[str, ...]  # what a reader must know besides
    matched: bool = False  # trial i of base and head were compared with each other
    confirmation: Confirmation | None = None  # if the gate measured pairs
    # The identical and the slowed twin, if the gate measured anything itself.
    canary: tuple[PointVerdict, ...] | None = None
    # Device functions that are worse than a review allows.
    resources: tuple[Finding, ...] = ()

    @property
    def answer(self) -> Answer:
        """A wrong result outweighs a slow one, and a proven loss outweighs a doubt."""
        if any(point.verdict is Verdict.incorrect for point in self.points):
            return Answer.incorrect
        if self.resources or any(item.fails for item in (*self.points, *self.families)):
            return Answer.regression
        return Answer.untrusted if self.doubts else Answer.passed

    @property
    def compared(self) -> int:
        return sum(point.comparison is not None for point in self.points)

    @property
    def counts(self) -> Mapping[Verdict, int]:
        counts = Counter(point.verdict for point in self.points)
        return {verdict: counts[verdict] for verdict in Verdict}
