"""`gemmwatch validate`, from measuring to the answer."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ci.errors import Exit
from ci.tests.conftest import FakeBench

Command = Callable[..., int]
A = "tiled/fp32/nn/64x64x64"


@pytest.fixture
def record(bench: FakeBench, gemmwatch: Command, tmp_path: Path) -> Command:
    def command(name: str, *more: str) -> int:
        fixed = ("--bench", bench.path, "--out", tmp_path / name, "--trials", "5")
        return gemmwatch("validate", "record", *fixed, *more)

    return command


def test_before_and_after_a_change_that_changes_nothing(
    bench: FakeBench, record: Command, gemmwatch: Command, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert record("old") == Exit.ok
    bench.catalog["fingerprint"]["driver"] = "590.2"
    bench.write()
    assert record("new") == Exit.ok
    answer = tmp_path / "answer.json"
    compared = gemmwatch(
        "validate", "compare", tmp_path / "old", tmp_path / "new", "--json", answer
    )
    assert compared == Exit.ok
    assert "SAFE" in capsys.readouterr().out
    document = json.loads(answer.read_text())
    assert document["answer"] == "safe"
    assert document["facts"] == ["driver: not told -> 590.2"]


def test_a_wrong_result_after_the_change(
    bench: FakeBench, record: Command, gemmwatch: Command, tmp_path: Path
) -> None:
    assert record("old") == Exit.ok
    bench.misbehave(A, "incorrect")
    assert record("new") == Exit.ok  # it recorded; what that means is told by the comparison
    compared = gemmwatch("validate", "compare", tmp_path / "old" / "machine.json", tmp_path / "new")
    assert compared == Exit.incorrect


def test_a_finished_recording_is_kept(record: Command, bench: FakeBench, tmp_path: Path) -> None:
    assert record("old") == Exit.ok
    was = (tmp_path / "old" / "machine.json").read_bytes()
    bench.misbehave(A, "incorrect")  # a second measurement would tell
    assert record("old") == Exit.ok
    assert (tmp_path / "old" / "machine.json").read_bytes() == was


def test_a_recording_of_before_is_not_taken_for_one_of_now(
    record: Command, bench: FakeBench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert record("after") == Exit.ok
    bench.catalog["fingerprint"]["driver"] = "590.2"
    bench.write()
    assert record("after") == Exit.bad_input
    assert "another fingerprint" in capsys.readouterr().err


def test_a_folder_without_a_record_is_named(
    gemmwatch: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gemmwatch("validate", "compare", tmp_path, tmp_path) == Exit.bad_input
    assert "machine.json" in capsys.readouterr().err


def test_resources_of_one_side_alone_are_refused(
    record: Command, gemmwatch: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert record("old") == record("new") == Exit.ok
    (tmp_path / "old" / "resources.json").write_text("{}")
    assert gemmwatch("validate", "compare", tmp_path / "old", tmp_path / "new") == Exit.bad_input
    assert "has no counterpart" in capsys.readouterr().err
