"""The gate that measures: screens head against a baseline, confirms the suspects by pairs.

What was measured for the screen never decides about a suspect: the pairs are fresh, and each
suspect is measured once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ci import baseline as baselines
from ci.base_build import BaseBuild
from ci.bench_program import ROOT, BenchProgram
from ci.budget import Budget, Cost
from ci.canary import canary_arms, choose_canary
from ci.catalog import Catalog, kernel_of
from ci.confirm import Suspect, confirm, find_suspects
from ci.device_lock import device_lock
from ci.errors import NoAnswer
from ci.hypotheses import Hypothesis
from ci.judge import judge
from ci.measure import RunOptions, measure
from ci.pairs import Arm, Pairs, only
from ci.plan import selected_points
from ci.policy import Policy, policy_for
from ci.power import POWER, explained
from ci.records import Samples, load_samples
from ci.retired import Retired
from ci.revision import revision
from ci.same_code import CodeComparison
from ci.screen import same_orders
from ci.twins import twin_hypotheses
from ci.validity import disturbances
from ci.verdicts import Confirmation, Judgement, PointVerdict


@dataclass(frozen=True)
class PairedGate:
    """One gate of head against a base build; what it measures stays in its folder."""

    folder: Path
    base: BaseBuild
    base_program: BenchProgram
    head_program: BenchProgram
    filter: str = ""
    baseline: Path | None = None  # None: the one of this machine, if there is one
    strict: bool = False
    retired: Sequence[Retired] = ()
    budget: Budget = field(default_factory=Budget)
    # What the object files say of both builds.
    code: CodeComparison = field(default_factory=lambda: CodeComparison(frozenset(), (), ()))

    def judge(self) -> Judgement:
        base = self.base_program.catalog().at_commit(self.base.commit)
        head = self.head_program.catalog().at_commit(revision(ROOT))
        _require_same_machine(base, head)
        with device_lock(head):  # also between screen and pairs
            return self._judge(base, head, policy_for(head.device))

    def _judge(self, base: Catalog, head: Catalog, policy: Policy) -> Judgement:
        stored, note = self._stored(head)
        if stored:
            run = self._screen_run(policy)
            screening = judge(stored, run, policy, matched=same_orders(stored, run))
        else:
            screening = self._screen_by_pairs(base, head, policy)
        confirmation, canary = self._confirm(screening, base, head, policy)
        judgement = judge(
            screening.base, screening.head, screening.policy, self.strict, confirmation,
            self.retired, canary, matched=screening.matched,
        )  # fmt: skip
        notes = (*judgement.notes, *self.code.notes, *note, *_confirmed(confirmation))
        return replace(judgement, notes=notes, resources=self.code.losses)

    # ---- the screen --------------------------------------------------------------------------

    def _stored(self, head: Catalog) -> tuple[Samples | None, list[str]]:
        """The baseline to screen against, and what a reader must know about that."""
        selection = self.head_program.selection
        if not self.baseline:
            roots = (baselines.APPROVED, baselines.LOCAL)
            found = baselines.find_baseline(head.fingerprint, selection, roots)
            return found, ([] if found else ["no baseline of this machine: screened by pairs"])
        given = load_samples(self.baseline)
        if given.fingerprint == head.fingerprint and given.selection == selection:
            return given, []
        return None, [f"{given.label} is of another machine, load or selection: screened by pairs"]

    def _screen_run(self, policy: Policy) -> Samples:
        options = RunOptions(
            selection=self.head_program.selection,
            device=self.head_program.device,
            trials=policy.screen_trials,
            filter=self.filter,
            out=self._screen_folder,
            fresh=True,
            bench=self.head_program.path,
            slow=self.head_program.slow or None,
        )
        return measure(options, policy, self.budget).samples

    def _screen_by_pairs(self, base: Catalog, head: Catalog, policy: Policy) -> Judgement:
        """Both sides are of the same hour, so no day lies between them."""
        selection = self.head_program.selection
        arms = [
            replace(arm, points=selected_points(arm.catalog, selection, self.filter))
            for arm in self._sides(base, head, (), self.filter)
        ]
        runs = self._pairs(self._screen_folder, arms, policy).measure(policy.screen_trials)
        same_day = replace(policy, day_std=0.0, family_day_std=0.0)
        return judge(runs[0].samples, runs[1].samples, same_day, matched=True)

    # ---- the confirmation --------------------------------------------------------------------

    def _confirm(
        self, screening: Judgement, base: Catalog, head: Catalog, policy: Policy
    ) -> tuple[Confirmation, list[PointVerdict]]:
        canary = choose_canary(screening.head)
        both = base.point.keys() & screening.head.points.keys()
        pairable = {point for point in both if kernel_of(point) not in self._unchanged}
        suspects = find_suspects(screening, pairable)
        cost = Cost(screening.head.seconds, canary, policy)
        chosen, left_out = cost.affordable(suspects, self.budget.left)
        points = tuple(dict.fromkeys(point for suspect in chosen for point in suspect.points))
        sides = self._sides(base, head, points, only(points)) if points else []
        twins = canary_arms(canary, self.head_program, head, policy) if canary else []
        before = self.budget.spent
        arms = [*sides, *twins]
        pairs = self._pairs(self.folder / "pairs", arms, policy)
        runs = pairs.measure(policy.pairs) if arms else []
        samples = [run.samples for run in runs]
        return self._read(
            samples[: len(sides)],
            twin_hypotheses(canary, samples[len(sides) :], policy) if canary and runs else [],
            chosen if runs else [],
            left_out if runs else suspects,
            self.budget.spent - before,
            policy,
        )

    def _read(
        self,
        sides: Sequence[Samples],
        twins: Sequence[Hypothesis],
        chosen: Sequence[Suspect],
        left_out: Sequence[Suspect],
        seconds: float,
        policy: Policy,
    ) -> tuple[Confirmation, list[PointVerdict]]:
        families = [suspect.id for suspect in chosen if suspect.is_family]
        verdicts, canary = confirm(sides, families, twins, policy)
        measured = [explained(verdict, sides, policy) for verdict in verdicts]
        disturbed = [doubt for side in sides for doubt in disturbances(side, policy)]
        confirmation = Confirmation(
            base=self.base,
            pairs=len(twins[0].head) if twins else sides[0].trials if sides else 0,
            same_code=not self.head_program.slow
            and self.head_program.digest == self.base_program.digest,
            unchanged=self._unchanged,
            measured=tuple(measured),
            unmeasured=tuple(suspect.id for suspect in left_out),
            seconds=seconds,
            doubts=tuple(disturbed),
        )
        return confirmation, canary

    def _sides(
        self, base: Catalog, head: Catalog, points: tuple[str, ...], pattern: str
    ) -> list[Arm]:
        return [
            Arm("base", self.base_program, base, points, pattern),
            Arm("head", self.head_program, head, points, pattern),
        ]

    def _pairs(self, folder: Path, arms: Sequence[Arm], policy: Policy) -> Pairs:
        choices = self._screen_folder / "choices.json"
        return Pairs(folder, arms, choices, policy, self.budget)

    @property
    def _unchanged(self) -> frozenset[str]:
        """Kernels that are not gated. Of one program all are measured: as free A/A samples."""
        one_program = self.head_program.digest == self.base_program.digest
        return frozenset() if one_program else self.code.unchanged

    @property
    def _screen_folder(self) -> Path:
        return self.folder / "screen"


def _require_same_machine(base: Catalog, head: Catalog) -> None:
    different = sorted(
        key for key in base.fingerprint.keys() | head.fingerprint.keys()
        if base.fingerprint.get(key) != head.fingerprint.get(key)
    )  # fmt: skip
    if different:
        raise NoAnswer(
            f"base and head cannot be compared: they differ in {', '.join(different)}; "
            "where the build itself moved, judge against a new baseline"
        )


def _confirmed(confirmation: Confirmation) -> list[str]:
    """What the confirmation did, for people."""
    notes = [
        f"confirmed by {confirmation.pairs} pairs against {confirmation.base.label}: "
        f"{len(confirmation.measured)} suspects, {len(confirmation.unmeasured)} left out for want "
        f"of time; {confirmation.seconds:.0f} s with the twins"
    ]
    notes += [f"{v.id}: {v.reason}" for v in confirmation.measured if POWER in v.reason]
    if confirmation.same_code:
        notes.append(
            f"base and head are the same program: its pairs are A/A samples, "
            f"{confirmation.alarms} alarms"
        )
    return notes
