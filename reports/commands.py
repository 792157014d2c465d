"""The subcommands of `gemmwatch` that draw: report, readme and wrong."""

import argparse
from pathlib import Path

from reports.files import write_whole
from reports.page import report_files
from reports.reading import read_measured
from reports.readme import prepare
from reports.resources import read_resources
from reports.verdict import read_verdict
from reports.wrong import read_mask, wrong_picture

PASS, NOT_CURRENT = 0, 1


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the subcommands; args.execute(args) returns the exit code or raises ReportError."""
    report = subparsers.add_parser("report", help="make a self-contained page of a run")
    report.add_argument("run", type=Path, help="run.json, or a baseline with its catalog")
    report.add_argument(
        "--verdict", type=Path, help="verdict.json that the gate wrote for this run"
    )
    report.add_argument(
        "--resources", type=Path, action="append", default=[],
        help="what `gemmwatch resources record` wrote of the build; may be given again",
    )  # fmt: skip
    report.add_argument("--out", type=Path, default=Path("report"), help="folder (default: report)")
    report.set_defaults(execute=_report)

    readme = subparsers.add_parser("readme", help="regenerate the README's ladder and its figures")
    readme.add_argument("readme", type=Path, nargs="?", default=Path("README.md"))
    readme.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 if a block is not current"
    )
    readme.set_defaults(execute=_readme)

    wrong = subparsers.add_parser("wrong", help="draw where in C a result is wrong")
    wrong.add_argument("mask", type=Path, help="a file that gemmwatch-check --mask-dir=DIR wrote")
    wrong.add_argument("--out", type=Path, help="PNG file (default: beside the mask)")
    wrong.set_defaults(execute=_wrong)


def _report(args: argparse.Namespace) -> int:
    verdict = read_verdict(args.verdict) if args.verdict else None
    files = report_files(read_measured(args.run), verdict, read_resources(args.resources))
    # The page comes last: where it is, its figures are.
    for name in sorted(files, key=lambda one: one == "index.html"):
        write_whole(args.out / name, files[name])
    print(args.out / "index.html")
    return PASS


def _readme(args: argparse.Namespace) -> int:
    update = prepare(args.readme)
    if not args.check:
        update.write()
        return PASS
    problems = update.problems()
    if not problems:
        return PASS
    print("\n".join(problems))
    print("regenerate with: scripts/readme")
    return NOT_CURRENT


def _wrong(args: argparse.Namespace) -> int:
    out: Path = args.out or args.mask.with_suffix(".png")
    write_whole(out, wrong_picture(read_mask(args.mask)).png)
    print(out)
    return PASS
