"""What the object files of two builds say before anything is measured: which kernels are the same
code on both sides, and whether the device code of head is worse than what a review allows."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.errors import BadInput, NoAnswer
from ci.resources.command import APPROVED, compare_with_approved
from ci.resources.ratchet import Finding
from ci.resources.record import Resources, resources_of


@dataclass(frozen=True)
class CodeComparison:
    """Of the builds that two bench programs belong to."""

    unchanged: frozenset[str]  # kernels that are the same code on both sides
    changed: frozenset[str]  # kernels of head that are not
    losses: tuple[Finding, ...]  # of head beside what is approved
    notes: tuple[str, ...]

    @property
    def alike(self) -> bool:
        """Nothing differs: whatever is measured are samples of one and the same code."""
        return bool(self.unchanged) and not self.changed

    def filter(self, wanted: str) -> str:
        """The regular expression of the points to measure, of those that match `wanted`."""
        if self.alike or not self.unchanged:
            return wanted
        others = f"^(?!({'|'.join(map(re.escape, sorted(self.unchanged)))})/)"
        return f"{others}(?=.*?(?:{wanted}))" if wanted else others


def compare_code(
    base: Path, head: Path, slowed: Collection[str] = (), approved: Path = APPROVED
) -> CodeComparison:
    """base, head: bench programs. slowed: kernels that are not what their code says.

    A program without object files beside it (it was copied) leaves everything to be measured.
    """
    notes: list[str] = []
    sides = [_resources(program, notes) for program in (base, head)]
    unchanged = _unchanged(sides, slowed)
    known = set(sides[1].host_code) if sides[0] and sides[1] else set()
    if unchanged:
        notes.append(
            f"the same code on both sides, so not gated: {', '.join(sorted(unchanged))}"
            if known - unchanged
            else "every kernel is the same code on both sides: what was measured are A/A samples"
        )
    return CodeComparison(
        unchanged=frozenset(unchanged),
        changed=frozenset(known - unchanged),
        losses=tuple(_losses(sides[1], approved, notes)),
        notes=tuple(notes),
    )


def _resources(program: Path, notes: list[str]) -> Resources | None:
    try:
        return resources_of(program)
    except BadInput as error:
        notes.append(f"the code of {program} was not compared: {error}")
        return None


def _unchanged(sides: Sequence[Resources | None], slowed: Collection[str]) -> set[str]:
    base, head = sides
    if not base or not head or base.toolkit != head.toolkit:
        return set()
    return {
        kernel
        for kernel in head.host_code
        if kernel not in slowed and head.code_of(kernel) == base.code_of(kernel)
    }


def _losses(head: Resources | None, approved: Path, notes: list[str]) -> list[Finding]:
    if not head or not head.functions:
        return []
    try:
        findings = compare_with_approved(head, approved)
    except NoAnswer as error:
        notes.append(f"resources were not compared with the approved ones: {error}")
        return []
    return [finding for finding in findings if finding.loss]
