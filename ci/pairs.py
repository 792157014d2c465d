"""Measuring in pairs: trials of several builds, alternated so that what drifts hits them alike."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ci.bench_program import BenchProgram
from ci.budget import Budget
from ci.catalog import Catalog
from ci.device_lock import device_lock
from ci.files import write_json
from ci.merge import first_failures, merge
from ci.plan import Plan, RunFolder
from ci.policy import Policy
from ci.progress import Progress
from ci.records import Run, load_run
from ci.trial import Trial, TrialResult


@dataclass(frozen=True)
class Arm:
    """One of the builds that alternate, and what it measures in each of its trials."""

    name: str
    program: BenchProgram
    catalog: Catalog
    points: tuple[str, ...]
    filter: str  # that selects the points


@dataclass
class Pairs:
    """A session of pairs in a folder, where each arm leaves a run.json, its trial i of pair i."""

    folder: Path
    arms: Sequence[Arm]
    choices: Path  # which variant each tuned kernel uses, the same for all arms
    policy: Policy
    budget: Budget = field(default_factory=Budget)

    def measure(self, pairs: int) -> list[Run]:
        """A run for each arm, in their order; empty if the budget allowed no pair at all."""
        plans = [_plan(arm, pairs, self.policy) for arm in self.arms]
        with ExitStack() as stack:
            stack.enter_context(device_lock(self.arms[0].catalog))
            for arm, plan in zip(self.arms, plans, strict=True):
                folder = self._run_folder(arm)
                folder.create()
                stack.enter_context(folder.locked())
                folder.clear()
                folder.begin(plan)
            return self._merge(plans, self._alternate(plans, pairs))

    def _alternate(self, plans: Sequence[Plan], pairs: int) -> list[list[TrialResult]]:
        progress = Progress(pairs, sum(len(plan.points) for plan in plans))
        results: list[list[TrialResult]] = [[] for _ in plans]
        longest = 0.0
        try:
            for pair, order in enumerate(orders(len(plans), pairs, self.policy.base_seed)):
                before = self.budget.spent
                if self.budget.left < longest:
                    progress.note(f"the budget is used up after {pair} of {pairs} pairs")
                    break
                behind = 0
                for arm in order:
                    trial = self._trial(arm, plans[arm], pair, results[arm])
                    show = partial(progress.show, pair, behind)
                    results[arm].append(trial.run(show, progress.note))
                    behind += len(plans[arm].points)
                longest = max(longest, self.budget.spent - before)
        finally:
            progress.close()
        return results

    def _trial(self, arm: int, plan: Plan, pair: int, earlier: Sequence[TrialResult]) -> Trial:
        failed = first_failures(earlier)
        return Trial(
            folder=self._run_folder(self.arms[arm]).trial(pair),
            choices=self.choices,
            seed=plan.base_seed + pair,
            points=[point for point in plan.points if point not in failed],
            program=plan.program,
            catalog=plan.catalog,
            policy=self.policy,
        )

    def _merge(self, plans: Sequence[Plan], results: Sequence[list[TrialResult]]) -> list[Run]:
        runs = []
        for arm, plan, trials in zip(self.arms, plans, results, strict=True):
            if not trials:
                return []
            whole = replace(plan, trials=len(trials))
            path = self._run_folder(arm).run_json
            write_json(path, merge(whole, trials, _now()))
            runs.append(load_run(path))
        return runs

    def _run_folder(self, arm: Arm) -> RunFolder:
        return RunFolder(self.folder / arm.name)


def orders(arms: int, pairs: int, seed: int) -> list[list[int]]:
    """In which order the arms of each pair are measured.

    Two pairs are a block: a random order, then its mirror image (ABBA), which cancels a drift.
    """
    rng = random.Random(seed)
    found: list[list[int]] = []
    while len(found) < pairs:
        order = rng.sample(range(arms), arms)
        found += [order, order[::-1]]
    return found[:pairs]


def only(points: Sequence[str]) -> str:
    """The filter that selects exactly these points."""
    return f"^({'|'.join(map(re.escape, points))})$"


def _plan(arm: Arm, pairs: int, policy: Policy) -> Plan:
    return Plan(
        catalog=arm.catalog,
        program=arm.program,
        filter=arm.filter,
        trials=pairs,
        base_seed=policy.base_seed,
        points=arm.points,
        started=_now(),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
