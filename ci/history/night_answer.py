"""The answer of a night: its run beside the previous undisturbed night and beside the anchor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.canary import measure_canary
from ci.errors import Exit
from ci.gate import gate
from ci.history.database import Database
from ci.history.epochs import difference
from ci.history.night_folder import Night
from ci.history.recall import StoredRun, stored_runs
from ci.history.samples import recall_samples
from ci.policy import policy_for
from ci.records import Run
from ci.verdicts import PointVerdict

# What outweighs what, where several answers are one exit code.
_GRAVITY = (Exit.ok, Exit.no_answer, Exit.regression, Exit.incorrect)


@dataclass(frozen=True)
class Answer:
    code: Exit
    verdict: Path | None  # the graver one; None if there was nothing to judge the night against


def gravest(codes: Iterable[Exit]) -> Exit:
    return max(codes, key=_GRAVITY.index)


def judged(night: Night, database: Database, run: Run, stored: StoredRun) -> Answer:
    with database.reading() as connection:
        track = stored_runs(connection, stored.machine, stored.selection)
    bases = _bases(night, track, stored)
    if not bases:
        print("nothing to judge it against, as is expected of the first night of an epoch")
        return Answer(gravest([run.samples.exit_code, Exit.no_answer]), None)
    canary = _canary(night, run)
    codes = {}
    for out, base in bases.items():
        print(f"\n{out.name}:")
        with database.reading() as connection:
            samples = recall_samples(connection, base)
        codes[out] = gate(samples, run.samples, out, night.options.strict, canary)
    graver = next(out for out, code in codes.items() if code == gravest(codes.values()))
    code = gravest([run.samples.exit_code, codes[graver]])
    return Answer(code, graver / "verdict.json")


def _bases(night: Night, track: Sequence[StoredRun], stored: StoredRun) -> dict[Path, StoredRun]:
    """The runs of its epoch to judge it against, by where the verdict goes; says which are not."""
    found = {}
    if (previous := _previous(track, stored)) and _same_epoch("the night before", previous, stored):
        found[night.previous] = previous
    anchor = next((run for run in track if run.anchor), None)
    if anchor is None:
        print("no anchor yet; once a night is a release: gemmwatch history anchor RUN")
    elif anchor.digest != stored.digest and _same_epoch("the anchor", anchor, stored):
        found[night.anchor] = anchor
    return found


def _previous(track: Sequence[StoredRun], stored: StoredRun) -> StoredRun | None:
    """The last night before this one on which the machine was not disturbed."""
    number = [run.digest for run in track].index(stored.digest)
    undisturbed = [run for run in track[:number] if not run.doubts]
    if undisturbed:
        return undisturbed[-1]
    print("no undisturbed earlier night" if number else "this is the first night here")
    return None


def _same_epoch(name: str, old: StoredRun, new: StoredRun) -> bool:
    moved = difference(old.fingerprint, new.fingerprint)
    words = "; ".join(f"{key} was {was} and is {now}" for key, (was, now) in moved.items())
    if moved:
        print(f"a new epoch: {name}, {old.id}, is no base any more ({words})")
    return not moved


def _canary(night: Night, run: Run) -> list[PointVerdict]:
    policy = policy_for(run.samples.device)
    return measure_canary(
        run, night.options.program, night.canary, night.run_folder.choices, policy
    )
