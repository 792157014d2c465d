"""`gemmwatch validate`: records a machine, and compares two records: is the new driver safe?"""

from __future__ import annotations

import argparse
from pathlib import Path

from ci.bench_program import find_bench
from ci.command_line import SubParsers, positive_whole, terminable
from ci.errors import BadInput, Exit
from ci.files import write_json
from ci.measure import SELECTIONS, RunOptions, measure, planned
from ci.plan import RunFolder
from ci.policy import policy_for
from ci.resources.ratchet import Finding, compare
from ci.resources.record import load_resources, resources_of
from ci.validation.answer import answer_document, answer_text
from ci.validation.compare import validate
from ci.validation.record import load_record, record_of, write_record

_RECORD, _RESOURCES = "machine.json", "resources.json"


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser(
        "validate",
        help="is a new driver, library or toolkit safe? records a machine, compares two records",
        description="`record` measures a selection and writes DIR/machine.json; run it before and "
        "after the change, with one build. `compare` says on one screen whether the new one is "
        "safe: exit 0 safe, 1 not safe, 3 wrong results, 4 not comparable.",
    )
    actions = parser.add_subparsers(required=True, metavar="{record,compare}")
    recording = actions.add_parser("record", help="measure this machine")
    recording.add_argument("--selection", choices=SELECTIONS, default="smoke")
    recording.add_argument("--device", choices=("auto", "host", "gpu"), default="auto")
    recording.add_argument("--trials", type=positive_whole, help="default: as the policy says")
    recording.add_argument("--filter", default="", metavar="REGEX")
    recording.add_argument("--bench", type=Path, metavar="PATH", help="the program of both records")
    recording.add_argument("--out", type=Path, required=True, metavar="DIR")
    recording.set_defaults(execute=_record)
    comparing = actions.add_parser("compare", help="compare two records")
    comparing.add_argument("old", type=Path, metavar="OLD", help="a folder or its machine.json")
    comparing.add_argument("new", type=Path, metavar="NEW")
    comparing.add_argument("--json", type=Path, metavar="FILE", help="write the whole answer")
    comparing.set_defaults(execute=_compare)


def _record(arguments: argparse.Namespace) -> Exit:
    names = ("selection", "device", "trials", "filter", "bench", "out")
    options = RunOptions(**{name: getattr(arguments, name) for name in names})
    program = find_bench(arguments.bench)
    resources = resources_of(program)
    folder = RunFolder(options.folder)
    with terminable():
        if folder.finished:
            folder.begin(planned(options))  # refuses the run of another build, driver or machine
        else:
            measure(options)
    if resources:
        resources.write(options.folder / _RESOURCES)
    found = record_of(folder.run_json, resources, options.program.digest)
    write_record(found, options.folder / _RECORD)
    print(f"{options.folder / _RECORD}: {found.trials} trials of {len(found.points)} points")
    return Exit.ok


def _compare(arguments: argparse.Namespace) -> Exit:
    old, new = (load_record(_file(path)) for path in (arguments.old, arguments.new))
    policy = policy_for(new.fingerprint.get("device", "host"))
    validation = validate(old, new, policy, _ratchet(arguments.old, arguments.new))
    if arguments.json:
        write_json(arguments.json, answer_document(validation, policy))
    print(answer_text(validation, policy))
    return validation.exit_code


def _file(path: Path) -> Path:
    return path / _RECORD if path.is_dir() else path


def _ratchet(old: Path, new: Path) -> list[Finding]:
    files = [_file(path).with_name(_RESOURCES) for path in (old, new)]
    present = [file for file in files if file.exists()]
    if len(present) == 1:
        (lonely,) = present
        raise BadInput(lonely, "has no counterpart", f"both records want a {_RESOURCES}, or none")
    return compare(*map(load_resources, present)) if present else []
