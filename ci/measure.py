"""Measuring a selection: several trials, each in fresh processes, merged into run.json."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NoReturn

from ci.bench_program import ROOT, BenchProgram, find_bench
from ci.budget import Budget
from ci.device_lock import device_lock
from ci.errors import BadInput, NoAnswer
from ci.files import write_json
from ci.merge import first_failures, merge
from ci.plan import Plan, RunFolder, selected_points
from ci.policy import Policy, policy_for
from ci.progress import Progress
from ci.records import TRIAL, Run, load_run
from ci.revision import revision
from ci.trial import Trial, TrialResult

SELECTIONS = ("smoke", "pr", "full", "tune", "lessons")
LOADS = (TRIAL, "sustained", "burst")


@dataclass(frozen=True)
class RunOptions:
    """The command line of a run."""

    selection: str = "smoke"
    device: str = "auto"
    trials: int | None = None  # None: as the policy says
    filter: str = ""
    out: Path | None = None  # None: out/<selection>, with the load if it is not that of a trial
    fresh: bool = False
    bench: Path | None = None
    slow: str | None = None
    load: str = TRIAL
    judge: bool = False
    baseline: Path | None = None
    strict: bool = False

    @property
    def folder(self) -> Path:
        load = f"-{self.load}" if self.load != TRIAL else ""
        return self.out or Path("out") / f"{self.selection}{load}"

    @property
    def program(self) -> BenchProgram:
        path, slow = find_bench(self.bench), self.slow or ""
        return BenchProgram(path, self.selection, self.device, slow, self.load)

    def resume_command(self) -> str:
        """The command that goes on with this run."""
        values = {
            "--selection": self.selection,
            "--device": self.device if self.device != "auto" else "",
            "--trials": self.trials or "",
            "--filter": self.filter,
            "--out": self.folder,
            "--bench": self.bench or "",
            "--slow": self.slow or "",
            "--load": self.load if self.load != TRIAL else "",
            "--baseline": self.baseline or "",
        }
        words = [word for flag, value in values.items() if value for word in (flag, str(value))]
        words += ["--judge"] * self.judge + ["--strict"] * self.strict
        return shlex.join(["scripts/gemmwatch", "run", *words])

    @property
    def way_on(self) -> str:
        """Whichever command measures with these options."""
        same = "the same command without --fresh" if self.fresh else "the same command"
        return f"what was measured is kept, and {same} goes on with it"


def measure(options: RunOptions, policy: Policy | None = None, budget: Budget | None = None) -> Run:
    """Measures, or goes on measuring, and returns what run.json holds.

    policy: default: that of the device. A budget that is used up ends the run after fewer trials.
    """
    plan = planned(options, policy)
    policy = policy or policy_for(plan.catalog.device)
    folder = RunFolder(options.folder)
    folder.create()
    with folder.locked(), device_lock(plan.catalog):
        _make_room(folder, options)
        plan = replace(plan, started=folder.begin(plan))
        try:
            trials = _run_trials(plan, folder, policy, budget or Budget())
            measured = replace(plan, trials=len(trials))
            write_json(folder.run_json, merge(measured, trials, _now()))
        except OSError as error:
            _not_finished(f"{error.filename or folder.path}: {error.strerror}", options, error)
        except NoAnswer as error:
            _not_finished(str(error), options, error)
    return load_run(folder.run_json)


def planned(options: RunOptions, policy: Policy | None = None) -> Plan:
    """What measuring with these options means today: the program may have been built again."""
    program = options.program
    catalog = program.catalog().at_commit(revision(ROOT))
    policy = policy or policy_for(catalog.device)
    return Plan(
        catalog=catalog,
        program=program,
        filter=options.filter,
        trials=options.trials or policy.default_trials,
        base_seed=policy.base_seed,
        points=selected_points(catalog, options.selection, options.filter),
        started=_now(),
    )


def _make_room(folder: RunFolder, options: RunOptions) -> None:
    if options.fresh or (options.judge and folder.finished):
        folder.clear()
    elif folder.finished:
        raise BadInput(
            f"--out {folder.path}", "holds a finished run",
            "start again with --fresh, or give another folder",
        )  # fmt: skip


def _run_trials(plan: Plan, folder: RunFolder, policy: Policy, budget: Budget) -> list[TrialResult]:
    """All trials, the complete ones from their files. A point that failed is not tried again."""
    progress = Progress(plan.trials, len(plan.points))
    results: list[TrialResult] = []
    longest = 0.0
    try:
        for index, seed in enumerate(plan.seeds):
            before = budget.spent
            if results and budget.left < longest:
                progress.note(f"the budget is used up after {index} of {plan.trials} trials")
                break
            failed = first_failures(results)
            trial = Trial(
                folder=folder.trial(index),
                choices=folder.choices,
                seed=seed,
                points=[point for point in plan.points if point not in failed],
                program=plan.program,
                catalog=plan.catalog,
                policy=policy,
            )
            if trial.complete:
                results.append(trial.read())
            else:
                show = partial(progress.show, index, len(failed))
                results.append(trial.run(show, progress.note))
            longest = max(longest, budget.spent - before)
    finally:
        progress.close()
    return results


def _not_finished(why: str, options: RunOptions, cause: Exception) -> NoReturn:
    raise NoAnswer(f"{why}\nthe run is not finished; {options.way_on}") from cause


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
