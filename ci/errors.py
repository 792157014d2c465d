"""Errors that a command reports in one message and turns into its documented exit code."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path


class Exit(IntEnum):
    """Exit codes of every gemmwatch command."""

    ok = 0
    regression = 1  # also: missing, failed or timed out
    bad_input = 2
    incorrect = 3
    no_answer = 4
    defect = 70  # of gemmwatch itself, as sysexits.h has it; never taken for an answer
    interrupted = 130  # as a shell reports a SIGINT; the run can be resumed
    unread = 141  # as a shell reports a SIGPIPE: nobody read the answer, so it is none


class GemmwatchError(Exception):
    """An error that its message explains fully; no traceback is due."""

    exit_code: Exit


class BadInput(GemmwatchError):
    """A flag or a file that cannot be used. The message names it and the way out."""

    exit_code = Exit.bad_input

    def __init__(self, what: str | Path, wrong: str, way_out: str) -> None:
        super().__init__(f"{what}: {wrong}; {way_out}")


class NoAnswer(GemmwatchError):
    """Everything was used as asked, and still there is no answer that could be trusted."""

    exit_code = Exit.no_answer
