"""`gemmwatch nightly` in a process that is killed where one says.

A step to be killed at is "STEP before" or "STEP after", STEP a function that nightly.py or
night_answer.py calls; "trial before" is that of the third trial. The process is forked, since
importing takes longer than a night of the fake bench program.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ci.bench_program
import ci.trial
from ci.command_line import run_command
from ci.history import night_answer, nightly, nightly_command
from ci.verdicts import PointVerdict

Twins = Sequence[PointVerdict] | None  # None: the night has no canary

# A stand-in for scripts/cli.py, which nightly starts again as `gemmwatch report`.
REPORT = """
import os, pathlib, sys
if os.environ.get("NIGHTLY_SITE") == "fails":
    sys.exit(2)
site = pathlib.Path(sys.argv[sys.argv.index("--site") + 1])
site.mkdir(parents=True, exist_ok=True)
(site / "index.html").write_text(" ".join(sys.argv))
"""


def run_nightly(words: Sequence[str], kill: str, twins: Twins, program: Path, log: Path) -> int:
    """The exit code, negative for a signal. program: sys.argv[0]; what it printed is in log."""
    process = multiprocessing.get_context("fork").Process(
        target=_nightly, args=(words, kill, twins, program, log)
    )
    process.start()
    process.join(120)
    assert process.exitcode is not None, "it hangs"
    return process.exitcode


def _nightly(words: Sequence[str], kill: str, twins: Twins, program: Path, log: Path) -> None:
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(output, stream)
    sys.stdout = sys.stderr = os.fdopen(output, "w")
    sys.argv = [str(program)]
    _replace(night_answer, "measure_canary", lambda *_: twins)  # takes most of the time
    _replace(ci.bench_program, "POLL_INTERVAL_S", 0.01)
    step, _, moment = kill.partition(" ")
    if step == "trial":
        _kill_at_third_trial()
    elif step:
        module = nightly if hasattr(nightly, step) else night_answer
        _replace(module, step, _killing(getattr(module, step), moment))
    code = run_command(["nightly", *words], [nightly_command.add_parser])
    sys.stdout.flush()
    sys.exit(code)


def _replace(module: Any, name: str, by: Any) -> None:
    assert hasattr(module, name)
    setattr(module, name, by)


def _killing(real: Callable[..., Any], moment: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> None:
        if moment == "after":
            real(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    return call


def _kill_at_third_trial() -> None:
    real = ci.trial.Trial.run

    def run(trial: ci.trial.Trial, *arguments: Any) -> Any:
        if trial.folder.name == "002":
            os.kill(os.getpid(), signal.SIGKILL)
        return real(trial, *arguments)

    _replace(ci.trial.Trial, "run", run)
