"""One measurement at a time on a GPU."""

import fcntl
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

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


def test_a_host_is_not_locked(tmp_path: Path) -> None:
    with device_lock(parse_catalog(Fields(Path("catalog"), "", "", catalog_document()))):
        assert not list(tmp_path.glob("*.lock"))
