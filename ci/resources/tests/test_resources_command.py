import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ci.errors import BadInput, Exit, NoAnswer
from ci.resources.command import APPROVED, BUILD, compare_with_approved
from ci.resources.listing import Cuobjdump
from ci.resources.record import record
from ci.resources.tests.conftest import function, resources

Command = Callable[..., int]


@pytest.fixture
def approved(tmp_path: Path) -> Path:
    folder = tmp_path / "approved"
    resources([function("f"), function("g")]).only("sm_90").write(folder / "sm_90.json")
    return folder


def check(gemmwatch: Command, approved: Path, file: Path) -> int:
    return gemmwatch("check", "--resources", file, "--approved", approved)


def test_a_build_as_approved_passes(gemmwatch: Command, approved: Path, tmp_path: Path) -> None:
    head = tmp_path / "head.json"
    resources([function("f"), function("g"), function("new")]).write(head)
    assert check(gemmwatch, approved, head) == Exit.ok


def test_a_spill_is_a_regression_and_names_the_function(
    gemmwatch: Command, approved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = tmp_path / "head.json"
    resources([function("f", local_stores=4), function("g")]).write(head)
    assert check(gemmwatch, approved, head) == Exit.regression
    text = capsys.readouterr().out
    assert "WORSE: accesses to local memory" in text
    assert "sm_90 f" in text
    assert "local_stores 0 -> 4" in text
    assert "sm_90 g" not in text


def test_another_toolkit_is_no_answer(
    gemmwatch: Command, approved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = tmp_path / "head.json"
    resources([function("f"), function("g")], toolkit="13.1.2").write(head)
    assert check(gemmwatch, approved, head) == Exit.no_answer
    assert "13.1.2" in capsys.readouterr().err


def test_nothing_approved_for_this_architecture_is_no_answer(
    gemmwatch: Command, approved: Path, tmp_path: Path
) -> None:
    head = tmp_path / "head.json"
    resources([function("f", arch="sm_100")]).write(head)
    assert check(gemmwatch, approved, head) == Exit.no_answer


@pytest.mark.parametrize(
    "text", ["", "{", '{"schema": 1, "kind": "gemmwatch-baseline"}', '{"schema": 1}']
)
def test_another_file_is_bad_input(
    gemmwatch: Command, approved: Path, tmp_path: Path, text: str
) -> None:
    head = tmp_path / "head.json"
    head.write_text(text)
    assert check(gemmwatch, approved, head) == Exit.bad_input


def test_a_function_without_a_number_is_bad_input(
    gemmwatch: Command, approved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = resources([function("f")]).document()
    del document["functions"][0]["registers"]
    head = tmp_path / "head.json"
    head.write_text(json.dumps(document))
    assert check(gemmwatch, approved, head) == Exit.bad_input
    assert "functions[0].registers" in capsys.readouterr().err


def test_a_folder_that_is_no_build_is_named(
    gemmwatch: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gemmwatch("record", "--build", tmp_path) == Exit.bad_input
    assert str(tmp_path) in capsys.readouterr().err


def test_this_build_is_no_worse_than_approved() -> None:
    """The ratchet itself, wherever the CUDA rungs were built by the toolkit of the approval."""
    try:
        Cuobjdump()
        head = record(BUILD)
    except BadInput as error:
        pytest.skip(str(error))
    try:
        findings = compare_with_approved(head)
    except NoAnswer as error:
        pytest.skip(str(error))
    assert [finding for finding in findings if finding.loss] == []


def test_both_architectures_of_the_ladder_are_approved() -> None:
    assert {"sm_80", "sm_90a"} <= {path.stem for path in APPROVED.glob("*.json")}
