"""`gemmwatch gate`: judges a run against a stored baseline, says the answer and writes it down."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from ci.command_line import SubParsers
from ci.errors import Exit
from ci.files import write_json, write_whole
from ci.judge import judge
from ci.junit import junit
from ci.policy import policy_for
from ci.records import Samples, load_run, load_samples
from ci.verdict_json import verdict_document
from ci.verdict_text import verdict_markdown, verdict_text


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser("gate", help="judge a run against a baseline")
    parser.add_argument(
        "--baseline", type=Path, required=True, metavar="FILE", help="a baseline or a run.json"
    )
    parser.add_argument("--head", type=Path, required=True, metavar="RUN.json")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="for verdict.json, verdict.md and junit.xml"
    )
    parser.add_argument("--strict", action="store_true", help="undecided is exit code 4")
    parser.set_defaults(execute=_execute)


def _execute(arguments: argparse.Namespace) -> Exit:
    base = load_samples(arguments.baseline)
    head = load_run(arguments.head).samples
    return gate(base, head, arguments.out, arguments.strict)


def gate(base: Samples, head: Samples, out: Path | None, strict: bool) -> Exit:
    """Writes the answer to out if there is one, prints it, and returns the exit code."""
    judgement = judge(base, head, policy_for(head.device), strict)
    now = datetime.now(UTC)
    if out:  # before anything is printed: the reader of a pipe may leave
        write_json(out / "verdict.json", verdict_document(judgement, now))
        write_whole(out / "verdict.md", verdict_markdown(judgement, now))
        write_whole(out / "junit.xml", junit(judgement))
    print(verdict_text(judgement, now))
    if out:
        print(f"written: {out}/verdict.json, verdict.md, junit.xml")
    return judgement.answer.exit_code
