"""The gemmwatch command. Started by scripts/gemmwatch, which finds the Python environment."""

import sys

import ci.baseline
import ci.comment
import ci.evidence.command
import ci.export
import ci.gate
import ci.history.command
import ci.history.nightly_command
import ci.listing
import ci.locked
import ci.resources.command
import ci.run
import ci.scoreboard
import ci.tuning.command
import ci.validation.command
import reports.commands
from ci.command_line import run_command
from reports.files import ReportError

COMMANDS = [
    ci.run,
    ci.gate,
    ci.baseline,
    ci.scoreboard,
    ci.listing,
    ci.locked,
    ci.resources.command,
    ci.tuning.command,
    ci.validation.command,
    ci.export,
    ci.comment,
    ci.history.command,
    ci.history.nightly_command,
    ci.evidence.command,
    reports.commands,
]

if __name__ == "__main__":
    add_parsers = [command.add_parser for command in COMMANDS]
    sys.exit(run_command(sys.argv[1:], add_parsers, errors=(ReportError,)))
