"""run.json: the trials of a run as one file of Google Benchmark's format, a trial a repetition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ci.catalog import SCHEMA
from ci.plan import Plan
from ci.records import Outcome
from ci.rows import Row
from ci.trial import Failure, TrialResult


def first_failures(trials: Sequence[TrialResult]) -> dict[str, tuple[int, Failure]]:
    """The points that failed in some trial, with the first such trial."""
    failures: dict[str, tuple[int, Failure]] = {}
    for index, trial in enumerate(trials):
        for point, failure in trial.failures.items():
            failures.setdefault(point, (index, failure))
    return failures


def merge(plan: Plan, trials: Sequence[TrialResult], finished: str) -> dict[str, Any]:
    """The document. Only points that passed in every trial have rows: no other time is a time."""
    failures = first_failures(trials)
    passed = [point for point in plan.points if point not in failures]
    outcomes = dict.fromkeys(plan.points, Outcome.passed)
    outcomes |= {point: failure.outcome for point, (_, failure) in failures.items()}
    reasons = {
        point: f"trial {index + 1}: {failure.reason}"
        for point, (index, failure) in failures.items()
    }
    if not plan.filter:  # a filtered run says nothing about what it did not look at
        outcomes |= dict.fromkeys(plan.catalog.refused, Outcome.refused)
        reasons |= plan.catalog.refused
    return {
        "context": trials[0].context | {
            "gemmwatch": {
                "schema": SCHEMA,
                "catalog": plan.catalog.document,
                "selection": plan.program.selection,
                "filter": plan.filter,
                "trials": plan.trials,
                "seeds": plan.seeds,
                "started": plan.started,
                "finished": finished,
                "outcomes": outcomes,
                "reasons": reasons,
            }
        },
        "benchmarks": [
            _row(trial.rows[point], point, position, plan.trials, index)
            for index, trial in enumerate(trials)
            for position, point in enumerate(passed)
        ],
    }  # fmt: skip


def _row(row: Row, point: str, family: int, trials: int, index: int) -> Row:
    """A row under the point's own name. Its tools group rows by name and by family."""
    return row | {
        "name": point,
        "family_index": family,
        "per_family_instance_index": 0,
        "run_name": point,
        "repetitions": trials,
        "repetition_index": index,
    }
