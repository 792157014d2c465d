"""`gemmwatch history`: its command line. What it does is in actions.py, which needs a database."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from types import ModuleType

from ci.command_line import SubParsers, positive_whole
from ci.errors import BadInput, Exit


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser(
        "history",
        help="remember runs, find what changed when",
        description="Keeps runs in a database: an SQLite file, or PostgreSQL by URL.",
    )
    add_database(parser)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    _add_add(actions)
    listing = actions.add_parser("list", help="the runs, oldest first")
    _add_track(listing)
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(execute=_execute, action="list_runs")
    show = actions.add_parser("show", help="one run: machine, outcomes, verdict")
    show.add_argument("run", metavar="RUN", help="the first digits of its id")
    show.set_defaults(execute=_execute, action="show")
    anchor = actions.add_parser("anchor", help="the run that later ones are held against")
    anchor.add_argument("run", metavar="RUN")
    anchor.set_defaults(execute=_execute, action="anchor")
    _add_prune(actions)
    _add_export(actions)
    evaluate = actions.add_parser(
        "evaluate", help="how well changes are found, on series with a known truth"
    )
    evaluate.set_defaults(execute=_execute, action="evaluate")


def add_database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--db", metavar="FILE|URL",
        help="default: $GEMMWATCH_HISTORY_DB, else .gemmwatch/history.sqlite of the repository",
    )  # fmt: skip


def _add_add(actions: SubParsers) -> None:
    add = actions.add_parser("add", help="run.json, or any Google Benchmark JSON")
    add.add_argument("runs", type=Path, nargs="+", metavar="RUN.json")
    add.add_argument("--verdict", type=Path, metavar="FILE", help="its verdict.json")
    add.add_argument("--resources", type=Path, metavar="FILE", help="its resources.json")
    _add_track(add)
    add.add_argument("--commit", help="default: what the run says")
    add.set_defaults(execute=_execute, action="add")


def _add_prune(actions: SubParsers) -> None:
    prune = actions.add_parser("prune", help="forget old runs; never an anchor")
    prune.add_argument("--older-than", type=positive_whole, required=True, metavar="DAYS")
    prune.add_argument(
        "--keep", choices=("monthly", "weekly", "none"), default="monthly",
        help="the first old run of each month (default) or week stays",
    )  # fmt: skip
    prune.add_argument("--dry-run", action="store_true", help="only say what would go")
    _add_track(prune)
    prune.set_defaults(execute=_execute, action="prune")


def _add_export(actions: SubParsers) -> None:
    export = actions.add_parser("export", help="the trials as a table, or the trends for a site")
    export.add_argument("--format", choices=("csv", "parquet", "trends"), required=True)
    export.add_argument(
        "--to", type=Path, metavar="FILE", help="default: standard output (not Parquet)"
    )
    _add_track(export)
    export.set_defaults(execute=_execute, action="export")


def _add_track(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--machine", help="default: what the run says, or all")
    parser.add_argument("--selection", help="likewise")


def _execute(arguments: argparse.Namespace) -> Exit:
    code: Exit = getattr(needing_packages("ci.history.actions"), arguments.action)(arguments)
    return code


def needing_packages(module: str) -> ModuleType:
    """A module of the history. Its packages are optional, so that the rest works without them."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise BadInput(
            "gemmwatch history", f"needs the Python package {error.name}",
            "run scripts/setup --with history",
        ) from error  # fmt: skip
