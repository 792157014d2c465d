"""What the object files of two builds say before anything is judged: which kernels are the same
code on both sides, and whether the device code of head is worse than what a review allows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ci.errors import BadInput, NoAnswer
from ci.resources.command import APPROVED, compare_with_approved
from ci.resources.ratchet import Finding
from ci.resources.record import Resources, resources_of


@dataclass(frozen=True)
class CodeComparison:
    """Of the builds that two bench programs belong to."""

    unchanged: frozenset[str]  # kernels that are the same code, measured by the same code
    losses: tuple[Finding, ...]  # of head beside what is approved
    notes: tuple[str, ...]


def compare_code(
    base: Path, head: Path, slowed: Collection[str] = (), approved: Path = APPROVED
) -> CodeComparison:
    """base, head: bench programs. slowed: kernels that are not what their code says.

    Nothing is known to be unchanged of a program without object files beside it (it was copied).
    """
    notes: list[str] = []
    sides = [_resources(program, notes) for program in (base, head)]
    unchanged = _unchanged(*sides) - set(slowed)
    if unchanged:
        notes.append(f"the same code on both sides, so not gated: {', '.join(sorted(unchanged))}")
    losses = _losses(sides[1], approved, notes)
    return CodeComparison(frozenset(unchanged), tuple(losses), tuple(notes))


def _resources(program: Path, notes: list[str]) -> Resources | None:
    try:
        return resources_of(program)
    except BadInput as error:
        notes.append(f"the code of {program} was not compared: {error}")
        return None


def _unchanged(base: Resources | None, head: Resources | None) -> set[str]:
    """A change of what measures may move any kernel's time, so that then none is unchanged."""
    if not base or not head or (base.toolkit, base.harness) != (head.toolkit, head.harness):
        return set()
    return {kernel for kernel in head.host_code if head.code_of(kernel) == base.code_of(kernel)}


def _losses(head: Resources | None, approved: Path, notes: list[str]) -> list[Finding]:
    if not head or not head.functions:
        return []
    try:
        findings = compare_with_approved(head, approved)
    except NoAnswer as error:
        notes.append(f"resources were not compared with the approved ones: {error}")
        return []
    return [finding for finding in findings if finding.loss]
