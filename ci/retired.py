"""Points that may be gone or broken, because a reviewed file says so and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from ci.bench_program import ROOT
from ci.catalog import require_schema
from ci.files import read_json
from ci.verdicts import PointVerdict, Verdict

FILE = ROOT / "ci" / "retired.json"

# A wrong result is never excused: the kernel has to go.
_EXCUSABLE = (Verdict.missing, Verdict.failed, Verdict.timed_out)


@dataclass(frozen=True, slots=True)
class Retired:
    points: str  # an id, or a pattern of the shell such as tiled/fp32/*
    reason: str


def load_retired(path: Path) -> list[Retired]:
    """Raises BadInput for anything but a list of points with a reason each."""
    fields = read_json(path, 'restore it; one that retires nothing holds "retired": []')
    require_schema(fields)
    found = [Retired(e.text("points"), e.text("reason")) for e in fields.objects("retired")]
    for entry in found:
        if not entry.points.strip("*?/") or not entry.reason.strip():
            fields.fail(f"the entry for {entry.points!r} names no point or has no reason")
    return found


def excused(item: PointVerdict, retired: Sequence[Retired]) -> PointVerdict:
    """The verdict, which no longer turns the gate red if its point was retired."""
    if item.fails and item.verdict in _EXCUSABLE:
        for entry in retired:
            if fnmatchcase(item.id, entry.points):
                return replace(item, fails=False, reason=f"{item.reason}; retired: {entry.reason}")
    return item
