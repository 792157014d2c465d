"""The subcommands of `gemmwatch` that draw: report, readme and wrong."""

import argparse
from pathlib import Path

from reports.files import ReportError, write_whole
from reports.lesson_text import lesson_text
from reports.page import report_files
from reports.reading import read_measured
from reports.readme import prepare
from reports.resources import read_resources
from reports.site.build import build_site
from reports.site.read_trends import read_trends
from reports.verdict import read_verdict
from reports.wrong import read_mask, wrong_picture

PASS, NOT_CURRENT = 0, 1


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the subcommands; args.execute(args) returns the exit code or raises ReportError."""
    report = subparsers.add_parser(
        "report",
        help="make a self-contained page of a run, or a site of all nights",
        usage="%(prog)s [-h] RUN [--verdict FILE] [--resources FILE] [--out DIR]\n"
        "       %(prog)s [-h] RUN --lesson NAME [--resources FILE]\n"
        "       %(prog)s [-h] --site DIR --trends FILE [--run FILE] [--verdict FILE]",
    )
    report.add_argument("page_of", type=Path, nargs="?", metavar="RUN",
                        help="run.json, or a baseline with its catalog")  # fmt: skip
    report.add_argument(
        "--verdict", type=Path, help="verdict.json that the gate wrote for this run"
    )
    report.add_argument(
        "--resources", type=Path, action="append", default=[],
        help="what `gemmwatch resources record` wrote of the build; may be given again",
    )  # fmt: skip
    report.add_argument(
        "--lesson", metavar="NAME", help="print this lesson of the run, and no page"
    )
    report.add_argument("--out", type=Path, help="folder of the page (default: report)")
    report.add_argument("--site", type=Path, help="folder of a site, which is replaced whole")
    report.add_argument(
        "--trends", type=Path, help="what `gemmwatch history export --format trends` wrote"
    )
    report.add_argument("--run", type=Path, help="run.json of the newest night, for its reasons")
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
    of_a_page = (args.page_of, args.out, args.resources, args.lesson)
    of_a_site = (args.site, args.trends, args.run)
    if args.site and args.trends and not any(of_a_page):
        return _site(args)
    if args.page_of and args.lesson and not any((*of_a_site, args.out, args.verdict)):
        measured = read_measured(args.page_of)
        print(lesson_text(measured, args.lesson, read_resources(args.resources)))
        return PASS
    if args.page_of and not args.lesson and not any(of_a_site):
        return _page(args)
    raise ReportError(
        "report: give a RUN (and --out DIR) for a page, a RUN and --lesson NAME for a lesson, "
        "or --site DIR with --trends FILE (and --run FILE) for a site"
    )


def _page(args: argparse.Namespace) -> int:
    verdict = read_verdict(args.verdict) if args.verdict else None
    files = report_files(read_measured(args.page_of), verdict, read_resources(args.resources))
    out: Path = args.out or Path("report")
    # The page comes last: where it is, its figures are.
    for name in sorted(files, key=lambda one: one == "index.html"):
        write_whole(out / name, files[name])
    print(out / "index.html")
    return PASS


def _site(args: argparse.Namespace) -> int:
    build_site(
        read_trends(args.trends),
        read_measured(args.run) if args.run else None,
        read_verdict(args.verdict) if args.verdict else None,
        args.site,
    )
    print(args.site / "index.html")
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
