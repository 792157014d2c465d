"""`gemmwatch resources`: what the device code of a build costs, and whether a review allows it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from ci.bench_program import ROOT
from ci.command_line import SubParsers
from ci.errors import Exit, NoAnswer
from ci.resources.ratchet import Finding, compare
from ci.resources.record import Resources, load_resources, record

APPROVED = Path(__file__).parent / "approved"  # a file an architecture, by a commit
BUILD = ROOT / "build" / "cuda"


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser(
        "resources",
        help="registers, spills and machine code of device functions, held to what is approved",
        description="Reads the object files of a build; needs no GPU. `check` exits 1 if a "
        "function spills more, holds fewer tensor instructions, fits a multiprocessor less often, "
        "or is gone, compared with what was approved by a commit.",
    )
    actions = parser.add_subparsers(required=True, metavar="{record,check,approve}")
    for name, words, execute in (
        ("record", "write resources.json", _record),
        ("check", "compare with what is approved", _check),
        ("approve", "make this build the approved one, by a commit", _approve),
    ):
        action = actions.add_parser(name, help=words)
        action.add_argument("--build", type=Path, default=BUILD, metavar="DIR", help="build/cuda")
        action.set_defaults(execute=execute)
        if name == "record":
            action.add_argument("--out", type=Path, default=Path("resources.json"), metavar="FILE")
        if name == "check":
            action.add_argument("--resources", type=Path, metavar="FILE", help="instead of a build")
        if name != "record":
            action.add_argument(
                "--approved", type=Path, default=APPROVED, metavar="DIR", help=argparse.SUPPRESS
            )


def _record(arguments: argparse.Namespace) -> Exit:
    resources = record(arguments.build)
    resources.write(arguments.out)
    print(f"{arguments.out}: {_count(resources)}")
    return Exit.ok


def _check(arguments: argparse.Namespace) -> Exit:
    head = load_resources(arguments.resources) if arguments.resources else record(arguments.build)
    findings = compare_with_approved(head, arguments.approved)
    for line in words(findings):
        print(line)
    losses = sum(bool(finding.loss) for finding in findings)
    others = len(findings) - losses
    print(f"{_count(head)}: {losses} worse than approved, {others} otherwise changed")
    return Exit.regression if losses else Exit.ok


def _approve(arguments: argparse.Namespace) -> Exit:
    resources = record(arguments.build)
    for arch in resources.architectures:
        path = arguments.approved / f"{arch}.json"
        resources.only(arch).write(path)
        print(f"{path}: {_count(resources.only(arch))}; commit it")
    return Exit.ok


def compare_with_approved(head: Resources, approved: Path = APPROVED) -> list[Finding]:
    """The findings of all architectures that were approved and are built.

    Raises NoAnswer if there is none, or if another toolkit compiled head: ptxas decides otherwise
    from release to release.
    """
    pairs = [
        (load_resources(path), head.only(path.stem))
        for path in sorted(approved.glob("*.json"))
        if path.stem in head.architectures
    ]
    if not pairs:
        raise NoAnswer("no architecture of this build is approved; `gemmwatch resources approve`")
    for was, now in pairs:
        if was.toolkit != now.toolkit:
            raise NoAnswer(
                f"the build is of nvcc {now.toolkit}, the approved one of {was.toolkit}, which "
                "cannot be compared; use that toolkit, or review and `gemmwatch resources approve`"
            )
    return [finding for was, now in pairs for finding in compare(was, now)]


def words(findings: Iterable[Finding]) -> Sequence[str]:
    """A line for each finding."""
    return [
        f"{f'WORSE: {f.loss}' if f.loss else 'changed'}: {f.function}: {f.changes}"
        for f in findings
    ]


def _count(resources: Resources) -> str:
    return f"{len(resources.functions)} device functions for {', '.join(resources.architectures)}"
