"""One measurement at a time on a GPU, and a command that has the GPU for itself."""

import fcntl
import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ci.bench_program import ROOT
from ci.catalog import parse_catalog
from ci.device_lock import device_lock
from ci.errors import Exit
from ci.files import Fields
from ci.tests.conftest import FakeBench
from ci.tests.synthetic import catalog_document

Command = Callable[..., int]
LOCK = "gemmwatch-GPU-1_2.lock"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def gpu(bench: FakeBench) -> FakeBench:
    bench.catalog = catalog_document(device="gpu")
    bench.catalog["environment"]["gpu_uuid"] = "GPU-1/2"
    bench.write()
    return bench


class Listener(io.StringIO):
    """Standard error that acts once somebody waits."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self.act = act

    def write(self, text: str) -> int:
        if text.startswith("waiting"):
            assert LOCK in text
            self.act()
        return super().write(text)


def test_who_comes_second_waits_says_so_and_then_measures(
    gemmwatch: Command, gpu: FakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / LOCK).open("w") as first:

        def give_way() -> None:
            assert not list(tmp_path.rglob("journal*"))
            fcntl.flock(first, fcntl.LOCK_UN)

        fcntl.flock(first, fcntl.LOCK_EX)
        monkeypatch.setattr(sys, "stderr", words := Listener(give_way))
        flags = ("--bench", gpu.path, "--trials", 1, "--out", tmp_path / "out")
        assert gemmwatch("run", *flags) == Exit.ok
        assert words.getvalue().count("waiting") == 1


def test_a_gate_waits_before_it_measures_anything(
    gemmwatch: Command, gpu: FakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    roots: tuple[Path, Path],
) -> None:  # fmt: skip
    def lose_patience() -> None:
        raise KeyboardInterrupt

    with (tmp_path / LOCK).open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        monkeypatch.setattr(sys, "stderr", Listener(lose_patience))
        flags = ("--bench", gpu.path, "--base-build", gpu.path, "--out", tmp_path / "out")
        assert gemmwatch("gate", *flags) == Exit.interrupted
    assert not (tmp_path / "out").exists()


def test_it_is_taken_once_and_given_back(gpu: FakeBench, tmp_path: Path) -> None:
    catalog = parse_catalog(Fields(Path("catalog"), "", "", gpu.catalog))
    with device_lock(catalog):
        with device_lock(catalog):
            pass
        with pytest.raises(BlockingIOError), (tmp_path / LOCK).open() as other:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (tmp_path / LOCK).open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_others_can_read_it_whatever_the_umask(gpu: FakeBench, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with device_lock(parse_catalog(Fields(Path("catalog"), "", "", gpu.catalog))):
            assert stat.S_IMODE((tmp_path / LOCK).stat().st_mode) == 0o644
        assert os.umask(before) == 0o077
    finally:
        os.umask(before)


def test_another_user_may_create_it_at_the_same_moment(
    gpu: FakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / LOCK).touch()
    really_open = os.open
    refusals = iter([FileNotFoundError, PermissionError])  # as Linux refuses O_CREAT in /tmp

    def refuse_at_first(path: Path, flags: int, mode: int = 0o777) -> int:
        if refusal := next(refusals, None):
            raise refusal
        return really_open(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse_at_first)
    with device_lock(parse_catalog(Fields(Path("catalog"), "", "", gpu.catalog))):
        monkeypatch.undo()
        with pytest.raises(BlockingIOError), (tmp_path / LOCK).open() as other:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_host_is_not_locked(tmp_path: Path) -> None:
    with device_lock(parse_catalog(Fields(Path("catalog"), "", "", catalog_document()))):
        assert not list(tmp_path.glob("*.lock"))


# -------------------------------------------------------------------------------------------------
# gemmwatch locked: the real command, since it becomes what it runs
# -------------------------------------------------------------------------------------------------

GEMMWATCH = [
    sys.executable, "-c",
    "import sys, ci.locked, ci.run\n"
    "from ci.command_line import run_command\n"
    "sys.exit(run_command(sys.argv[1:], [ci.locked.add_parser, ci.run.add_parser]))",
]  # fmt: skip
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def locked(bench: FakeBench, tmp_path: Path) -> Iterator[Start]:
    """Starts it with a command; at the end nothing of that is left."""
    started: list[subprocess.Popen[str]] = []

    def start(*command: str | Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*GEMMWATCH, "locked", "--bench", bench.path, "--", *command],
            env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def output(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=60)[0]


def test_a_gemmwatch_within_measures_while_everybody_else_waits(
    locked: Start, gpu: FakeBench, tmp_path: Path
) -> None:
    others = f'flock --nonblock "{tmp_path / LOCK}" true || echo wait; "$@"'
    measure = ("run", "--bench", gpu.path, "--trials", "1", "--out", tmp_path / "out")
    process = locked("bash", "-c", others, "bash", *GEMMWATCH, *measure)
    assert output(process).startswith("wait\n")
    assert process.returncode == Exit.ok
    assert (tmp_path / "out/run.json").exists()


def test_the_command_is_told_its_gpu_as_nvidia_smi_knows_it(locked: Start, gpu: FakeBench) -> None:
    gpu.catalog["environment"]["gpu_uuid"] = "GPU-00112233445566778899aabbccddeeff"
    gpu.write()
    told = output(locked("bash", "-c", 'echo "$GEMMWATCH_GPU"'))
    assert told == "GPU-00112233-4455-6677-8899-aabbccddeeff\n"


def test_the_command_begins_when_the_gpu_is_free(
    locked: Start, gpu: FakeBench, tmp_path: Path
) -> None:
    with (tmp_path / LOCK).open("w") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        process = locked("touch", tmp_path / "begun")
        assert process.stderr and "waiting" in process.stderr.readline()
        assert not (tmp_path / "begun").exists()
    output(process)
    assert (tmp_path / "begun").exists()


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -PIPE $$", -13)])
def test_it_ends_as_the_command_does(locked: Start, script: str, code: int) -> None:
    process = locked("bash", "-c", script)
    output(process)
    assert process.returncode == code


def test_a_host_has_no_gpu_to_be_had(locked: Start, tmp_path: Path) -> None:
    assert output(locked("bash", "-c", 'echo "[$GEMMWATCH_GPU]"')) == "[]\n"
    assert not list(tmp_path.glob("*.lock"))


def test_a_command_that_is_none_is_named(locked: Start) -> None:
    process = locked("/no/such/command")
    _, words = process.communicate(timeout=60)
    assert process.returncode == Exit.bad_input
    assert "/no/such/command: cannot be run" in words
