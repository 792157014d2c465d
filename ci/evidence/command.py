"""`gemmwatch evidence`: makes the evidence again, or records a run for it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ci.catalog import kernel_of
from ci.command_line import SubParsers
from ci.errors import BadInput, Exit
from ci.evidence import campaign
from ci.evidence.gates import load_campaigns
from ci.evidence.plot import power_svg
from ci.evidence.record import FOLDER, Record, load_records, session_of, write_record
from ci.evidence.summary import Effort, digest, summarize
from ci.evidence.tables import with_tables
from ci.files import read_json, write_json, write_whole
from ci.records import load_run

_HERE = Path(__file__).parent
_SUMMARY = _HERE / "summary.json"


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser(
        "evidence",
        help="false alarms and power of the judge, from recorded trials",
        description="Resamples gates from the records in ci/evidence/records and writes "
        "summary.json, power.svg and the tables of ci/evidence/README.md. Takes some minutes.",
    )
    parser.add_argument("--check", action="store_true", help="only say whether it is current")
    actions = parser.add_subparsers(metavar="{record,measure}")
    campaign.add_parser(actions)
    record = actions.add_parser(
        "record", help="keep runs of one build on one kind of machine as a record"
    )
    record.add_argument("runs", type=Path, nargs="+", metavar="RUN.json")
    record.add_argument("--name", required=True)
    record.add_argument("--source", required=True, metavar="TEXT", help="where and how, in words")
    record.add_argument(
        "--gates", action="store_true", help="each run really was gated against the first"
    )
    record.set_defaults(execute=_record)
    parser.set_defaults(execute=_execute)


def _execute(arguments: argparse.Namespace) -> Exit:
    if arguments.check:
        return _check()
    summary = summarize(
        load_records(), load_campaigns(), Effort(), lambda text: print(text, file=sys.stderr)
    )
    write_json(_SUMMARY, summary)
    write_whole(_HERE / "power.svg", power_svg(summary))
    readme = _HERE / "README.md"
    write_whole(readme, with_tables(readme.read_text(encoding="utf-8"), summary))
    real, resampled = summary["aa_real"], summary["aa_resampled"]
    print(f"real gates of identical builds: {real['gates']}, alarms: {real['alarms']}")
    print(f"resampled: {resampled['gates']}, alarms: {resampled['alarms']}")
    print(f"written: {_HERE}/summary.json, power.svg, README.md")
    return Exit.ok


def _check() -> Exit:
    made_of = read_json(_SUMMARY, "make it with `gemmwatch evidence`").text("digest")
    if made_of != digest():
        raise BadInput(
            _SUMMARY, "is of other records, policy or judge", "run `gemmwatch evidence`, commit it"
        )
    print("current")
    return Exit.ok


def _record(arguments: argparse.Namespace) -> Exit:
    runs = [load_run(path) for path in arguments.runs]
    first = runs[0].samples
    for run in runs:
        if run.samples.fingerprint != first.fingerprint or run.samples.injected:
            raise BadInput(run.samples.label, "is of another machine or slowed", "leave it out")
    points = [point for point in first.points if all(point in r.samples.points for r in runs)]
    names = [f"run-{number}" for number in range(1, len(runs) + 1)]
    record = Record(
        name=arguments.name,
        source=arguments.source,
        device=first.device,
        controls=frozenset(point for point in points if kernel_of(point) in first.controls),
        sessions=tuple(session_of(r, n, points) for r, n in zip(runs, names, strict=True)),
        gates=tuple((names[0], name) for name in names[1:]) if arguments.gates else (),
    )
    path = FOLDER / f"{arguments.name}.json"
    write_record(record, path)
    print(f"{path}: {json.dumps({s.name: s.trials for s in record.sessions})} trials")
    return Exit.ok
