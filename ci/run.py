"""`gemmwatch run`: measures a selection, says what became of its points, and may judge."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path

from ci.command_line import SubParsers, positive_whole, slowdown, terminable
from ci.daily import judge_run
from ci.errors import BadInput, Exit
from ci.measure import LOADS, SELECTIONS, RunOptions, measure
from ci.records import TRIAL, Outcome, Samples, load_samples


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser(
        "run",
        help="measure a selection and write run.json",
        description="Measures a selection in several trials, each a fresh process, and writes "
        "run.json. An interrupted run goes on when the same command is given again.",
    )
    parser.add_argument("--selection", choices=SELECTIONS, default="smoke")
    parser.add_argument("--device", choices=("auto", "host", "gpu"), default="auto")
    parser.add_argument(
        "--trials", type=positive_whole, help="default: as the policy says for the device"
    )
    parser.add_argument(
        "--filter", default="", metavar="REGEX", help="only the points whose id matches"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: out/<selection>[-<load>]")
    parser.add_argument("--fresh", action="store_true", help="replace what DIR holds of a run")
    parser.add_argument(
        "--bench", type=Path, metavar="PATH", help="default: build/cuda's, else build/cpu's"
    )
    parser.add_argument(
        "--slow", type=slowdown, metavar="KERNEL:PCT",
        help="slow a kernel by so many percent, to see that a gate notices",
    )  # fmt: skip
    parser.add_argument(
        "--load", choices=LOADS, default=TRIAL,
        help="what the device does before and while it is timed: short blocks (trial, the "
        "default), no rest until power and clocks have settled (sustained), a few launches after a "
        "rest (burst)",
    )  # fmt: skip
    parser.add_argument(
        "--judge", action="store_true",
        help="then judge against the baseline of this machine, or become its local baseline; "
        "replaces a finished run",
    )  # fmt: skip
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE", help="judge against this run or baseline"
    )
    parser.add_argument("--strict", action="store_true", help="judging: undecided is exit code 4")
    parser.set_defaults(execute=_execute)


def _execute(arguments: argparse.Namespace) -> Exit:
    names = RunOptions.__dataclass_fields__
    options = RunOptions(**{name: getattr(arguments, name) for name in names})
    if options.baseline:
        options = replace(options, judge=True)
    if options.judge:
        _refuse_another_load(options)
    try:
        with terminable():  # a cancelled job may be resumed as well
            run = measure(options)
    except KeyboardInterrupt:
        print(f"interrupted; what was measured is kept. Go on with:\n  {options.resume_command()}")
        return Exit.interrupted
    _print_summary(run.samples)
    if options.judge:
        return judge_run(run, options)
    return run.samples.exit_code


def _refuse_another_load(options: RunOptions) -> None:
    """Raises BadInput, before anything is measured, if it could not be judged."""
    base_load = load_samples(options.baseline).load if options.baseline else TRIAL
    if options.load != base_load:
        raise BadInput(
            f"--load {options.load}",
            f"cannot be judged against {options.baseline or 'a stored baseline'}, which was "
            f"measured under the load {base_load}",
            f"give --load {base_load}, or --baseline RUN.json of the load {options.load}, or judge "
            "nothing",
        )


def _print_summary(samples: Samples) -> None:
    counts = Counter(samples.outcomes.values())
    words = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
    print(f"{samples.label}: {samples.trials} trials; points: {words}")
    for point, outcome in samples.outcomes.items():
        if outcome not in (Outcome.passed, Outcome.refused):
            print(f"  {outcome}: {point}: {samples.reasons[point]}")
