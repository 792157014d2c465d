"""`gemmwatch baseline`: approves a run as what later runs are compared with."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ci.bench_program import ROOT
from ci.catalog import SCHEMA
from ci.command_line import SubParsers
from ci.errors import BadInput, Exit
from ci.files import reviewable, write_whole
from ci.policy import policy_for
from ci.records import (
    BASELINE_KIND,
    TRIAL,
    Outcome,
    Run,
    Samples,
    load_baseline,
    load_run,
    samples_document,
)
from ci.validity import disturbances

APPROVED = ROOT / "ci" / "baselines"  # by a commit
LOCAL = ROOT / ".gemmwatch" / "baselines"  # of this checkout only


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser("baseline", help="store a run as a baseline, list baselines")
    actions = parser.add_subparsers(required=True, metavar="{store,list}")
    store = actions.add_parser("store", help="approve a run")
    store.add_argument("run", type=Path, metavar="RUN.json")
    store.add_argument(
        "--to", type=Path, metavar="FILE", help="default: ci/baselines/<machine>/<selection>.json"
    )
    store.add_argument("--note", default="", metavar="TEXT", help="why it is approved")
    store.set_defaults(execute=_store)
    listing = actions.add_parser("list", help="the approved and the local baselines")
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(execute=_list)


def _store(arguments: argparse.Namespace) -> Exit:
    run = load_run(arguments.run)
    path = arguments.to or approved_path(run.samples)
    store(run, path, arguments.note)
    print(f"{path}: {run.samples.trials} trials of {len(run.samples.points)} points; commit it")
    return Exit.ok


def _list(arguments: argparse.Namespace) -> Exit:
    now = datetime.now(UTC)
    entries = [_entry(baseline, now) for baseline in _baselines([APPROVED, LOCAL])]
    if arguments.json:
        print(json.dumps(entries, indent=1))
        return Exit.ok
    for entry in entries:
        print(
            f"{entry['path']}: {entry['machine']}, {entry['selection']}, {entry['points']} points, "
            f"{entry['trials']} trials, {entry['age_days']:.0f} days old, commit {entry['commit']}"
        )
    if not entries:
        print("no baselines yet; `gemmwatch baseline store RUN.json` makes one")
    return Exit.ok


def store(run: Run, path: Path, note: str = "") -> None:
    """Writes the run as a baseline. Raises BadInput for one that later runs must not rest on."""
    refuse_unfit(run.samples)
    samples = run.samples
    document = {
        "schema": SCHEMA,
        "kind": BASELINE_KIND,
        "fingerprint": dict(samples.fingerprint),
        "environment": dict(samples.environment),
        "selection": samples.selection,
        "approved": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": samples.environment.get("commit", "unknown"),
        "note": note,
        "outcomes": dict(samples.outcomes),
        "points": {name: samples_document(point) for name, point in samples.points.items()},
        # What a report needs to place the points: on the ladder, under the roofline.
        "catalog": {
            key: run.catalog.document[key]
            for key in ("peaks", "kernels", "problems")
            if key in run.catalog.document  # a machine's peaks need not be known
        },
    }
    write_whole(path, reviewable(document))


def refuse_unfit(samples: Samples) -> None:
    """Raises BadInput that says why the run cannot be a baseline."""
    policy = policy_for(samples.device)
    broken = [
        f"{point} {outcome}"
        for point, outcome in samples.outcomes.items()
        if outcome not in (Outcome.passed, Outcome.refused)
    ]
    if samples.injected:
        _refuse(samples, f"it carries an artificial change ({samples.injected})", "without it")
    if samples.load != TRIAL:
        wrong = f"it was measured under the load {samples.load}, and gates measure under {TRIAL}"
        _refuse(samples, wrong, "without --load")
    if broken:
        _refuse(samples, f"not all results are sound: {', '.join(broken)}", "once that is mended")
    if samples.filter:
        _refuse(samples, f"it was filtered ({samples.filter})", "without --filter")
    if doubts := disturbances(samples, policy):
        _refuse(samples, "; ".join(doubts), "on a quiet machine")
    if samples.trials < policy.baseline_trials:
        wrong = f"it has {samples.trials} trials, a baseline needs {policy.baseline_trials}"
        _refuse(samples, wrong, f"with --trials {policy.baseline_trials}")


def find_baseline(
    fingerprint: Mapping[str, str], selection: str, roots: Sequence[Path]
) -> Samples | None:
    """The newest baseline of exactly this machine in the first root that has one."""
    for root in roots:
        matching = [
            baseline
            for baseline in _baselines([root])
            if baseline.selection == selection and baseline.fingerprint == fingerprint
        ]
        if matching:
            return max(matching, key=lambda baseline: baseline.date)
    return None


def approved_path(samples: Samples) -> Path:
    return APPROVED / _slug(samples.machine) / f"{samples.selection}.json"


def local_path(samples: Samples) -> Path:
    """One file for each fingerprint, so that a driver update does not overwrite the old one."""
    fingerprint = json.dumps(dict(samples.fingerprint), sort_keys=True)
    digest = hashlib.sha256(fingerprint.encode()).hexdigest()[:8]
    return LOCAL / _slug(samples.machine) / f"{samples.selection}-{digest}.json"


def _baselines(roots: Sequence[Path]) -> list[Samples]:
    return [load_baseline(path) for root in roots for path in sorted(root.glob("**/*.json"))]


def _entry(baseline: Samples, now: datetime) -> dict[str, Any]:
    return {
        "path": baseline.label,
        "machine": baseline.machine,
        "selection": baseline.selection,
        "points": len(baseline.points),
        "trials": baseline.trials,
        "age_days": round(baseline.age_days(now), 1),
        "commit": baseline.environment.get("commit", "unknown"),
    }


def _refuse(samples: Samples, wrong: str, way_out: str) -> None:
    raise BadInput(samples.label, f"cannot be a baseline: {wrong}", f"measure again {way_out}")


def _slug(machine: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
