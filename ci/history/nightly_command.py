"""`gemmwatch nightly`: its command line. What it does is in nightly.py, which needs a database."""

from __future__ import annotations

import argparse
from pathlib import Path

from ci.command_line import SubParsers, positive_whole, terminable
from ci.errors import Exit
from ci.history.command import add_database, needing_packages
from ci.history.night_folder import Night
from ci.measure import SELECTIONS, RunOptions


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser(
        "nightly",
        help="measure all, remember it, judge it, draw the site",
        description="Measures a selection, adds it to the history, judges it against the previous "
        "night and against the anchor, and makes the site. A night that was interrupted or killed "
        "goes on when the same command is given again.",
    )
    parser.add_argument("--selection", choices=SELECTIONS, default="full", help="default: full")
    parser.add_argument("--device", choices=("auto", "host", "gpu"), default="auto")
    parser.add_argument("--trials", type=positive_whole, help="default: as the policy says")
    parser.add_argument(
        "--bench", type=Path, metavar="PATH", help="default: build/cuda's, else build/cpu's"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/nightly"), metavar="DIR", help="default: out/nightly"
    )
    parser.add_argument("--site", type=Path, metavar="DIR", help="default: DIR/site of --out")
    parser.add_argument("--machine", help="its name in the history; default: its GPU or CPU")
    parser.add_argument("--strict", action="store_true", help="undecided is exit code 4")
    parser.add_argument("--fresh", action="store_true", help="give up a night that is not finished")
    add_database(parser)
    parser.set_defaults(execute=_execute)


def _execute(arguments: argparse.Namespace) -> Exit:
    nightly = needing_packages("ci.history.nightly")
    night = Night(
        options=RunOptions(
            selection=arguments.selection,
            device=arguments.device,
            trials=arguments.trials,
            out=arguments.out / "run",
            bench=arguments.bench,
            strict=arguments.strict,
            fresh=arguments.fresh,
        ),
        folder=arguments.out,
        site=arguments.site or arguments.out / "site",
        db=arguments.db,
        machine=arguments.machine,
    )
    try:
        with terminable():
            code: Exit = nightly.spend(night)
    except KeyboardInterrupt:
        print(f"interrupted; {night.options.way_on}")
        return Exit.interrupted
    return code
