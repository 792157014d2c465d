"""`gemmwatch gate`: judges head against a stored baseline or a base build, and writes it down."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ci.announcement import announcement
from ci.base_build import BaseBuild, build_merge_base, given_build
from ci.bench_program import BenchProgram, find_bench
from ci.budget import Budget
from ci.command_line import SubParsers, positive_number, slowdown, terminable
from ci.errors import BadInput, Exit
from ci.files import write_json, write_whole
from ci.judge import judge
from ci.junit import junit
from ci.measure import SELECTIONS
from ci.paired_gate import PairedGate
from ci.policy import policy_for
from ci.records import Samples, load_run, load_samples
from ci.retired import FILE, load_retired
from ci.same_code import compare_code
from ci.verdict_json import verdict_document
from ci.verdict_text import verdict_markdown, verdict_text
from ci.verdicts import Judgement, PointVerdict

# What only one of the two forms takes.
_MEASURING = ("selection", "device", "filter", "bench", "slow", "budget")


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser(
        "gate",
        help="judge a run against a baseline, or measure head against a base build",
        description="With --head: judges a run against a stored baseline. With --base or "
        "--base-build: measures head, screens it against the baseline of this machine, and "
        "confirms the suspects by pairs of fresh processes of base and head.",
    )
    head = parser.add_mutually_exclusive_group(required=True)
    head.add_argument("--head", type=Path, metavar="RUN.json", help="a run to judge")
    head.add_argument(
        "--base", metavar="REF", help="build the merge-base of REF and HEAD, and measure"
    )
    head.add_argument(
        "--base-build", type=Path, metavar="DIR", help="measure against this build folder"
    )
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE",
        help="a baseline or a run.json; needed with --head, else that of this machine",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="DIR",
        help="for verdict.json, verdict.md and junit.xml; when measuring, default: out/gate",
    )  # fmt: skip
    parser.add_argument("--strict", action="store_true", help="undecided is exit code 4")
    measuring = parser.add_argument_group("measuring, with --base or --base-build")
    measuring.add_argument("--selection", choices=SELECTIONS, help="default: smoke")
    measuring.add_argument("--device", choices=("auto", "host", "gpu"), help="default: auto")
    measuring.add_argument("--filter", metavar="REGEX", help="only the points whose id matches")
    measuring.add_argument(
        "--bench", type=Path, metavar="PATH", help="head; default: build/cuda's, else build/cpu's"
    )
    measuring.add_argument(
        "--slow", type=slowdown, metavar="KERNEL:PCT", help="slow a kernel of head"
    )
    measuring.add_argument(
        "--budget", type=positive_number, metavar="MINUTES", help="cap of the measuring time"
    )
    parser.set_defaults(execute=_execute)


def _execute(arguments: argparse.Namespace) -> Exit:
    if not arguments.head:
        out = arguments.out or Path("out") / "gate"
        with terminable():
            judgement = _measured(arguments, out)
        return announce(judgement, out)
    for name in _MEASURING:
        if getattr(arguments, name) is not None:
            raise BadInput(f"--{name}", "measures nothing with --head", "leave it out")
    if not arguments.baseline:
        raise BadInput("--baseline", "is missing", "--head is judged against a baseline")
    base = load_samples(arguments.baseline)
    return gate(base, load_run(arguments.head).samples, arguments.out, arguments.strict)


def _measured(arguments: argparse.Namespace, out: Path) -> Judgement:
    path = find_bench(arguments.bench)
    base = _base_build(arguments, path)
    selection, device = arguments.selection or "smoke", arguments.device or "auto"
    slow = arguments.slow or ""
    code = compare_code(base.program, path, {slow.partition(":")[0]})
    return PairedGate(
        folder=out,
        base=base,
        base_program=BenchProgram(base.program, selection, device),
        head_program=BenchProgram(path, selection, device, slow),
        filter=arguments.filter or "",
        baseline=arguments.baseline,
        strict=arguments.strict,
        retired=load_retired(FILE),
        budget=Budget(60 * arguments.budget) if arguments.budget else Budget(),
        code=code,
    ).judge()


def _base_build(arguments: argparse.Namespace, head: Path) -> BaseBuild:
    if arguments.base_build:
        return given_build(arguments.base_build)
    return build_merge_base(arguments.base, head)


def gate(
    base: Samples,
    head: Samples,
    out: Path | None,
    strict: bool,
    canary: Sequence[PointVerdict] | None = None,
) -> Exit:
    """Judges a run against a stored base and announces the answer."""
    retired = load_retired(FILE)
    policy = policy_for(head.device)
    return announce(judge(base, head, policy, strict, retired=retired, canary=canary), out)


def announce(judgement: Judgement, out: Path | None) -> Exit:
    """Writes the answer to out if there is one, prints it, and returns the exit code."""
    document = verdict_document(judgement, datetime.now(UTC))
    told = announcement(document)
    if out:  # before anything is printed: the reader of a pipe may leave
        write_json(out / "verdict.json", document)
        write_whole(out / "verdict.md", verdict_markdown(told))
        write_whole(out / "junit.xml", junit(judgement))
    print(verdict_text(told))
    if out:
        print(f"written: {out}/verdict.json, verdict.md, junit.xml")
    return judgement.answer.exit_code
