"""One measurement at a time on a GPU."""

import fcntl
import io
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import ci.policy
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
def gpu(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> FakeBench:
    short = replace(ci.policy.GPU, pairs=8, screen_trials=3)  # as few as show the slowed twin
    monkeypatch.setattr(ci.policy, "GPU", short)
    bench.catalog = catalog_document(device="gpu")
    bench.catalog["environment"]["gpu_uuid"] = "GPU-1/2"
    bench.write()
    return bench


@pytest.mark.parametrize("command", ["run", "gate"])
def test_who_comes_second_waits_and_says_so(
    gemmwatch: Command, gpu: FakeBench, tmp_path: Path, roots: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch, command: str,
) -> None:  # fmt: skip
    flags = {
        "run": ("--bench", gpu.path, "--trials", 1),
        "gate": ("--bench", gpu.path, "--base-build", gpu.path),
    }[command]
    out = tmp_path / "out"
    with (tmp_path / LOCK).open("w") as first:

        class GivesWay(io.StringIO):
            """The first one is done as soon as the second says that it waits."""

            def write(self, text: str) -> int:
                if text.startswith("waiting"):
                    assert LOCK in text
                    assert not list(out.rglob("journal*"))
                    fcntl.flock(first, fcntl.LOCK_UN)
                return super().write(text)

        fcntl.flock(first, fcntl.LOCK_EX)
        monkeypatch.setattr(sys, "stderr", words := GivesWay())
        assert gemmwatch(command, *flags, "--filter", "^tiled", "--out", out) == Exit.ok
        assert words.getvalue().count("waiting") == 1


def test_it_is_taken_once_and_given_back(gpu: FakeBench, tmp_path: Path) -> None:
    catalog = parse_catalog(Fields(Path("catalog"), "", "", gpu.catalog))
    with device_lock(catalog):
        with device_lock(catalog):
            pass
        with pytest.raises(BlockingIOError), (tmp_path / LOCK).open() as other:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (tmp_path / LOCK).open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_host_is_not_locked(tmp_path: Path) -> None:
    with device_lock(parse_catalog(Fields(Path("catalog"), "", "", catalog_document()))):
        assert not list(tmp_path.glob("*.lock"))
