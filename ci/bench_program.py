"""The bench program as seen from outside: its catalog, and one process that measures points."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ci.catalog import Catalog, parse_catalog
from ci.errors import BadInput, NoAnswer
from ci.files import read_json
from ci.policy import (
    CATALOG_DEADLINE_S,
    KILL_DEADLINE_S,
    LOAD_ALLOWANCE_S,
    POLL_INTERVAL_S,
    Policy,
)
from ci.records import TRIAL

ROOT = Path(__file__).resolve().parents[1]
_PRESETS = ("cuda", "cpu")

# Exit codes of a trial process that measured all that it was asked for.
_COMPLETE = (0, 3)
_USAGE = 2
_CONTEXT_LOST = 70


@dataclass(frozen=True, slots=True)
class ProcessFiles:
    """The files of one measuring process."""

    points: Path  # in: ids, one a line
    journal: Path  # out: "begin <id>" before each point
    rows: Path  # out: Google Benchmark's JSON
    log: Path  # out: what it printed
    choices: Path  # in and out: the variant of each tuned kernel, shared by the whole run


@dataclass(frozen=True, slots=True)
class Ending:
    """How a measuring process ended. complete: it claims to have measured every point."""

    complete: bool
    timed_out: bool
    reason: str


@dataclass(frozen=True, slots=True)
class BenchProgram:
    path: Path
    selection: str
    device: str  # auto, host or gpu
    slow: str = ""  # "<kernel>:<percent>", an artificial slowdown
    load: str = TRIAL  # trial, sustained or burst

    @property
    def digest(self) -> str:
        """Tells one build from another."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    def catalog(self) -> Catalog:
        """Asks the program what it can measure here."""
        with tempfile.TemporaryDirectory(prefix="gemmwatch-") as folder:
            file = Path(folder) / "catalog.json"
            self._ask([f"--gemmwatch_list={file}"])
            return parse_catalog(read_json(file, f"build {self.path} from this tree"))

    def measure(
        self,
        files: ProcessFiles,
        seed: int,
        policy: Policy,
        on_progress: Callable[[int], None],
    ) -> Ending:
        """Measures the points of a file in a fresh process, which is ended if it hangs.

        on_progress gets the number of points begun, several times a second.
        """
        command = [
            *self._command(),
            f"--gemmwatch_seed={seed}",
            f"--gemmwatch_points={files.points}",
            f"--gemmwatch_journal={files.journal}",
            f"--gemmwatch_choices={files.choices}",
            f"--benchmark_out={files.rows}",
            "--benchmark_out_format=json",
        ]
        if self.load != TRIAL:
            policy = replace(policy, point_deadline_s=policy.point_deadline_s + LOAD_ALLOWANCE_S)
        with files.log.open("wb") as log:
            process = self._start(command, log.fileno())
            try:
                code = _watch(process, files.journal, policy, on_progress)
            finally:
                _end(process)
        if code == -signal.SIGINT:  # the terminal interrupts the whole group: it is meant for us
            raise KeyboardInterrupt
        return _ending(code, policy)

    def _command(self) -> list[str]:
        command = [
            str(self.path),
            f"--gemmwatch_selection={self.selection}",
            f"--gemmwatch_device={self.device}",
        ]
        if self.slow:
            command.append(f"--gemmwatch_slow={self.slow}%")
        if self.load != TRIAL:
            command.append(f"--gemmwatch_load={self.load}")
        return command

    def _start(self, command: Sequence[str], output: int) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                close_fds=False,  # inheritable are the locks: of the output, of the GPU
            )
        except OSError as error:
            raise BadInput(self.path, f"cannot be run ({error.strerror})", _BUILD_IT) from error

    def _ask(self, flags: Sequence[str]) -> None:
        """Runs the program for a listing; its own words explain a failure."""
        with tempfile.TemporaryFile() as output:
            process = self._start([*self._command(), *flags], output.fileno())
            try:
                code = process.wait(CATALOG_DEADLINE_S)
            except subprocess.TimeoutExpired as error:
                raise NoAnswer(
                    f"{self.path}: gave no catalog within {CATALOG_DEADLINE_S:.0f} s; "
                    "is the device in use or lost?"
                ) from error
            finally:
                _end(process)
            output.seek(0)
            words = output.read().decode(errors="replace").strip()
        if code == _USAGE:
            raise BadInput(self.path, words or "refuses its flags", "see `gemmwatch list`")
        if code != 0:
            raise NoAnswer(f"{self.path}: gave no catalog ({_in_words(code)}): {words[-2000:]}")


_BUILD_IT = "build it with `cmake --preset cpu && cmake --build --preset cpu`, or give --bench PATH"


def find_bench(explicit: Path | None) -> Path:
    """The program given, else that of the first preset that is built."""
    if explicit:
        candidates = [explicit]
    else:
        name = Path("bench") / "gemmwatch-bench"
        candidates = [ROOT / "build" / preset / name for preset in _PRESETS]
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    raise BadInput(" or ".join(map(str, candidates)), "there is no such bench program", _BUILD_IT)


def begun_points(journal: Path) -> list[str]:
    """The ids that a process began, in order; a line still being written is none."""
    if not journal.exists():
        return []
    whole_lines = journal.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    return [line.removeprefix("begin ") for line in whole_lines if line.startswith("begin ")]


def _watch(
    process: subprocess.Popen[bytes],
    journal: Path,
    policy: Policy,
    on_progress: Callable[[int], None],
) -> int | None:
    """The exit code, or None if a point (or the start) exceeded its deadline."""
    begun, since = 0, time.monotonic()
    while True:
        try:
            return process.wait(POLL_INTERVAL_S)
        except subprocess.TimeoutExpired:
            pass
        now = len(begun_points(journal))
        if now > begun:
            begun, since = now, time.monotonic()
            on_progress(begun)
        deadline = policy.point_deadline_s if begun else policy.start_deadline_s
        if time.monotonic() - since > deadline:
            return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leaves no process behind: a trial that outlives its orchestrator spoils the next one."""
    if process.poll() is None:
        process.kill()
        try:
            process.wait(KILL_DEADLINE_S)
        except subprocess.TimeoutExpired as error:
            raise NoAnswer(
                f"process {process.pid} cannot be killed and holds the device; "
                "restart the machine or its driver, then run the same command again"
            ) from error


def _ending(code: int | None, policy: Policy) -> Ending:
    if code is None:
        reason = f"no result within {policy.point_deadline_s:g} s"
        return Ending(complete=False, timed_out=True, reason=reason)
    return Ending(complete=code in _COMPLETE, timed_out=False, reason=_in_words(code))


def _in_words(code: int) -> str:
    if code < 0:
        try:
            return f"killed by signal {-code} ({signal.Signals(-code).name})"
        except ValueError:
            return f"killed by signal {-code}"
    if code == _CONTEXT_LOST:
        return f"exit code {code}: the device's context was lost"
    return f"exit code {code}"
