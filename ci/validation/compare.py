"""Is it safe to move from one machine record to another, and what moved? Pure.

Our own kernels are the probe: the same machine code on both sides, unless the toolkit is what has
changed. What they and the vendor's library did, each in its own clock cycles, tells the one from
the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import expm1, log
from statistics import median

from ci.catalog import kernel_of
from ci.errors import Exit
from ci.hypotheses import point_hypotheses
from ci.policy import COMMON_LIMIT, DECIDED_SHARE, Policy
from ci.records import Outcome
from ci.resources.ratchet import Finding
from ci.screen import screen
from ci.validation.record import MachineRecord, PointRecord
from ci.verdicts import PointVerdict, Verdict

# Facts that say nothing of what was measured: the card itself and the commit of the checkout.
_INCIDENTAL = frozenset({"commit", "gpu_uuid", "harness"})
# Where these differ, no time can be compared.
_HARDWARE = ("device", "gpu", "cpu", "mig", "sms", "memory_bytes")


class Safety(StrEnum):
    safe = "safe"
    not_safe = "not safe"
    not_comparable = "not comparable"

    @property
    def exit_code(self) -> Exit:
        return {
            Safety.safe: Exit.ok,
            Safety.not_safe: Exit.regression,
            Safety.not_comparable: Exit.no_answer,
        }[self]


@dataclass(frozen=True)
class Moved:
    """A point whose speed beside the control changed, and which of the two changed its own."""

    id: str
    who: str  # "kernel" or "control"
    change: float  # of that one: 0.05 is 5% slower
    reason: str  # the verdict's


@dataclass(frozen=True)
class Validation:
    """Old beside new. Lists name points, kernels or facts, worst first."""

    old: MachineRecord
    new: MachineRecord
    facts: Sequence[str]  # what differs of the machine, in words
    obstacles: Sequence[str]  # why nothing can be compared; empty = it can
    incorrect: Sequence[str]  # passed in old, wrong in new
    lost: Sequence[str]  # passed in old, without a result in new
    bits: Sequence[str]  # the same machine code, other bits in the result
    dispatch: Sequence[str]  # where the library chose another function
    accuracy: Sequence[str]  # of the library, where it is worse by half or more
    resources: Sequence[Finding]  # losses of device code
    moved: Sequence[Moved]
    undecided: Sequence[PointVerdict]
    compared: int  # points of our kernels, with a verdict on their speed
    clock: float | None  # change of the SM clock
    common: float | None  # change of the time of all points of our kernels together
    doubts: Sequence[str] = field(default_factory=tuple)

    @property
    def slower(self) -> list[Moved]:
        return [moved for moved in self.moved if moved.change > 0]

    @property
    def common_loss(self) -> bool:
        return self.common is not None and self.common > COMMON_LIMIT

    @property
    def safety(self) -> Safety:
        if self.obstacles:
            return Safety.not_comparable
        losses = (self.incorrect, self.lost, self.bits, self.resources, self.slower)
        if any(losses) or self.common_loss:
            return Safety.not_safe
        return Safety.not_comparable if self.doubts else Safety.safe

    @property
    def exit_code(self) -> Exit:
        return Exit.incorrect if self.incorrect and not self.obstacles else self.safety.exit_code


def validate(
    old: MachineRecord, new: MachineRecord, policy: Policy, resources: Sequence[Finding] = ()
) -> Validation:
    """resources: what the ratchet says of the device code of new beside that of old."""
    common = [point for point in new.points if point in old.points]
    ours = [point for point in common if kernel_of(point) not in new.vendor]
    verdicts = _speed(old, new, ours, policy)
    obstacles = _obstacles(old, new, common, policy)
    return Validation(
        old=old,
        new=new,
        facts=_facts(old, new),
        obstacles=obstacles,
        incorrect=_came_to(old, new, Outcome.incorrect),
        lost=[*_came_to(old, new, Outcome.failed), *_came_to(old, new, Outcome.timed_out),
              *(point for point in old.points if point not in new.outcomes)],
        bits=_other_bits(old, new, ours),
        dispatch=_dispatch(old, new, common),
        accuracy=_accuracy(old, new, common),
        resources=[finding for finding in resources if finding.loss],
        moved=_moved(old, new, verdicts),
        undecided=[verdict for verdict in verdicts if verdict.verdict is Verdict.inconclusive],
        compared=len(verdicts),
        clock=_clock(old, new, common),
        common=_common(old, new, ours),
        doubts=[*old.doubts, *new.doubts, *_doubts(verdicts)],
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------
# The machine and its results
# -------------------------------------------------------------------------------------------------


def _facts(old: MachineRecord, new: MachineRecord) -> list[str]:
    """What differs, the toolkit of compilation included."""
    was = {**old.facts, "nvcc": old.toolkit or old.facts.get("nvcc", "")}
    now = {**new.facts, "nvcc": new.toolkit or new.facts.get("nvcc", "")}
    return [
        f"{key}: {was.get(key, 'not told') or 'none'} -> {now.get(key, 'not told') or 'none'}"
        for key in sorted((was.keys() | now.keys()) - _INCIDENTAL)
        if was.get(key) != now.get(key)
    ]


def _obstacles(
    old: MachineRecord, new: MachineRecord, common: Sequence[str], policy: Policy
) -> list[str]:
    found = [
        f"the machines differ in {key} ({old.facts.get(key)} and {new.facts.get(key)})"
        for key in _HARDWARE
        if old.facts.get(key) != new.facts.get(key)
    ]
    if not common:
        found.append("the records have no point in common")
    if min(old.trials, new.trials) < policy.min_trials:
        found.append(f"a record needs {policy.min_trials} trials or more")
    if _rebuilt(old, new):
        found.append(
            "the kernels differ though no other toolkit compiled them: that compares commits, "
            "which is the gate's; record both with one build"
        )
    return found


def _rebuilt(old: MachineRecord, new: MachineRecord) -> bool:
    if old.program == new.program or old.toolkit != new.toolkit:
        return False
    return not old.code or any(old.code[k] != new.code.get(k) for k in old.code)


def _came_to(old: MachineRecord, new: MachineRecord, outcome: Outcome) -> list[str]:
    return [point for point in old.points if new.outcomes.get(point) is outcome]


def _other_bits(old: MachineRecord, new: MachineRecord, ours: Sequence[str]) -> list[str]:
    """Trial i draws the same inputs on both sides, so its result is the same, bit for bit."""
    return [
        point
        for point in ours
        if new.same_code(kernel_of(point), old)
        and any(
            was != now
            for was, now in zip(old.points[point].digests, new.points[point].digests, strict=False)
        )
    ]


def _dispatch(old: MachineRecord, new: MachineRecord, common: Sequence[str]) -> list[str]:
    pairs = ((point, old.points[point].dispatch, new.points[point].dispatch) for point in common)
    return [f"{point}: {was} -> {now}" for point, was, now in pairs if was and now and was != now]


def _accuracy(old: MachineRecord, new: MachineRecord, common: Sequence[str]) -> list[str]:
    found = []
    for point in common:
        was, now = old.points[point].bound_share, new.points[point].bound_share
        if kernel_of(point) in new.vendor and was and now and now >= 1.5 * was:
            found.append((now / was, f"{point}: {was:.0%} -> {now:.0%} of the allowed deviation"))
    return [words for _, words in sorted(found, reverse=True)]


# -------------------------------------------------------------------------------------------------
# Speed
# -------------------------------------------------------------------------------------------------


def _speed(
    old: MachineRecord, new: MachineRecord, ours: Sequence[str], policy: Policy
) -> list[PointVerdict]:
    if min(old.trials, new.trials) < policy.min_trials:
        return []
    base = {point: old.points[point].samples for point in ours}
    head = {point: new.points[point].samples for point in ours}
    return screen(point_hypotheses(base, head, policy), policy)


def _moved(old: MachineRecord, new: MachineRecord, verdicts: Sequence[PointVerdict]) -> list[Moved]:
    """Each change beside the control is put down to whichever of the two changed more."""
    moved = []
    for verdict in verdicts:
        if verdict.verdict in (Verdict.regressed, Verdict.improved):
            was, now = old.points[verdict.id], new.points[verdict.id]
            kernel, control = _effects(was, now)
            who = "kernel" if abs(kernel) >= abs(control) else "control"
            change = expm1(kernel if who == "kernel" else control)
            moved.append(Moved(verdict.id, who, change, verdict.reason))
    return sorted(moved, key=lambda item: -item.change)


def _effects(old: PointRecord, new: PointRecord) -> tuple[float, float]:
    """ln(new / old) of kernel and control: cycles, or times where the clock is not known."""
    clocks = (median(new.sm_mhz) / median(old.sm_mhz)) if old.sm_mhz and new.sm_mhz else 1.0
    kernel = median(new.samples.kernel_us.tolist()) / median(old.samples.kernel_us.tolist())
    control = median(new.samples.control_us.tolist()) / median(old.samples.control_us.tolist())
    return log(kernel * clocks), log(control * clocks)


def _clock(old: MachineRecord, new: MachineRecord, common: Sequence[str]) -> float | None:
    changes = [
        median(new.points[point].sm_mhz) / median(old.points[point].sm_mhz)
        for point in common
        if old.points[point].sm_mhz and new.points[point].sm_mhz
    ]
    return median(changes) - 1 if changes else None


def _common(old: MachineRecord, new: MachineRecord, ours: Sequence[str]) -> float | None:
    changes = [new.points[p].microseconds / old.points[p].microseconds for p in ours]
    return median(changes) - 1 if changes else None


def _doubts(verdicts: Sequence[PointVerdict]) -> list[str]:
    if not verdicts:
        return ["no kernel of ours is in both records, so that speed was not compared"]
    undecided = sum(verdict.verdict is Verdict.inconclusive for verdict in verdicts)
    if undecided > len(verdicts) * (1 - DECIDED_SHARE):
        return [f"{undecided} of {len(verdicts)} points could not be decided: too large a spread"]
    return []
