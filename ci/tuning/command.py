"""`gemmwatch tune`: writes the table from which dispatch picks, and says what it is worth."""

from __future__ import annotations

import argparse
from pathlib import Path

from ci.bench_program import ROOT
from ci.command_line import SubParsers
from ci.errors import BadInput, Exit, NoAnswer
from ci.estimate import locate
from ci.files import write_whole
from ci.policy import Policy, policy_for
from ci.records import Run, Samples, load_run
from ci.resources.command import BUILD
from ci.tuning.choose import Choice, Rate, candidates, choose, rates, vendors
from ci.tuning.model import picks
from ci.tuning.report import report
from ci.tuning.source import source
from ci.validity import disturbances

TUNED = ROOT / "kernels" / "dispatch" / "tuned.cpp"


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser(
        "tune",
        help="write the table from which dispatch picks its kernels",
        description="From a run of the selection tune, writes for each of its problems the kernel "
        "that was the fastest beside the control, and for each kernel its best rate, by which a "
        "model picks for all other problems. Prints what the choices are worth beside the vendor's "
        "kernels, and what the model alone would lose.",
    )
    parser.add_argument("run", type=Path, metavar="RUN.json")
    parser.add_argument(
        "--out", type=Path, default=TUNED, metavar="FILE", help="kernels/dispatch/tuned.cpp"
    )
    parser.add_argument(
        "--build", type=Path, default=BUILD, metavar="DIR",
        help="the build that was measured, whose model is asked; default: build/cuda",
    )  # fmt: skip
    parser.set_defaults(execute=_execute)


def _execute(arguments: argparse.Namespace) -> Exit:
    run = load_run(arguments.run)
    policy = policy_for(run.samples.device)
    _refuse_unfit(run.samples, policy)
    found_rates, choices = tuned(run, arguments.build, policy)
    write_whole(arguments.out, source(run.samples, found_rates, choices))
    print("\n".join(report(run.samples, choices)))
    print(
        f"{arguments.out}: {len(found_rates)} rates, {len(choices)} choices; review it, commit it"
    )
    return Exit.ok


def tuned(run: Run, build: Path, policy: Policy) -> tuple[list[Rate], list[Choice]]:
    """The table, in its order. Raises NoAnswer if nothing was measured that dispatch may pick."""
    measured = candidates(run)
    if not measured:
        raise NoAnswer(f"{run.samples.label}: no kernel passed that dispatch may pick")
    found_rates = rates(measured)
    model = picks(build, _multiprocessors(run), found_rates, [problem.id for problem in measured])
    here = {point.kernel for point in run.catalog.points}  # a host has a control of its own
    beside = dict.fromkeys(sorted(run.catalog.control_names & here), 0.0)  # by definition
    others = {
        problem: {name: locate(samples.log_ratio).effect for name, samples in kernels.items()}
        for problem, kernels in vendors(run).items()
    }
    return found_rates, [
        choose(problem, kernels, pick, beside | others.get(problem, {}), policy.alpha)
        for (problem, kernels), pick in zip(measured.items(), model, strict=True)
    ]


def _refuse_unfit(samples: Samples, policy: Policy) -> None:
    """Raises BadInput or NoAnswer that says why no kernel may be chosen by this run."""
    if samples.selection != "tune":
        wrong = f"it is a run of the selection {samples.selection}"
        _refuse(samples, wrong, "`gemmwatch run --selection tune`")
    if samples.device != "gpu":
        _refuse(samples, "it was measured on a host, where there are no tiles", "on a GPU")
    if samples.injected:
        wrong = f"it carries an artificial change ({samples.injected})"
        _refuse(samples, wrong, "without it")
    if samples.load == "burst":
        _refuse(
            samples, "it was measured in bursts, which nobody's work is", "under another --load"
        )
    if samples.filter:
        _refuse(samples, f"it was filtered ({samples.filter})", "without --filter")
    if samples.trials < policy.min_trials:
        wrong = f"it has {samples.trials} trials, which tell no spread"
        _refuse(samples, wrong, f"with --trials {policy.min_trials}")
    if doubts := disturbances(samples, policy):
        raise NoAnswer(f"{samples.label}: {'; '.join(doubts)}")


def _refuse(samples: Samples, wrong: str, how: str) -> None:
    raise BadInput(samples.label, f"cannot be tuned by: {wrong}", f"measure {how}")


def _multiprocessors(run: Run) -> int:
    count = run.samples.environment.get("sms", "")
    if not count.isdecimal():
        raise BadInput(
            run.samples.label, "does not tell the number of multiprocessors (sms)",
            "measure again with the program of this tree",
        )  # fmt: skip
    return int(count)
