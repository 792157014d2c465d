"""The gate as a command: its exit codes and what it writes."""

import json
import subprocess
import sys
import xml.etree.ElementTree as Xml
from collections.abc import Callable
from datetime import UTC, datetime
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ci.errors import Exit
from ci.judge import judge
from ci.junit import junit
from ci.policy import GPU
from ci.records import Outcome
from ci.tests.synthetic import (
    OTHER,
    POINT,
    catalog_document,
    make_samples,
    run_document,
    two_sides,
    with_outcome,
)
from ci.verdict_json import verdict_document
from ci.verdicts import Judgement

Command = Callable[..., int]
A, B = "tiled/fp32/nn/64x64x64", "tiled/fp32/nn/128x128x128"
NOW = datetime(2026, 1, 12, tzinfo=UTC)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def file(name: str, loss: float = 0.0, fingerprint: str = "", **changes: Any) -> Path:
        catalog = catalog_document()
        catalog["fingerprint"]["cpu"] += fingerprint
        spread = np.linspace(-0.004, 0.004, 5)
        series = {A: (spread + log(1 + loss)).tolist(), B: spread.tolist()}
        path = tmp_path / name
        path.write_text(json.dumps(run_document(catalog, series, **changes)))
        return path

    return file


@pytest.mark.parametrize(
    ("change", "flags", "code", "answer"),
    [
        ({}, (), Exit.ok, "pass"),
        ({"loss": 0.5}, (), Exit.regression, "regression"),
        ({"outcomes": {A: "failed", B: "passed"}}, (), Exit.regression, "regression"),
        ({"outcomes": {A: "incorrect", B: "passed"}}, (), Exit.incorrect, "incorrect"),
        ({"fingerprint": "b"}, (), Exit.no_answer, "untrusted"),
        ({"loss": 0.09}, (), Exit.ok, "pass"),
        ({"loss": 0.09}, ("--strict",), Exit.no_answer, "untrusted"),
    ],
)
def test_exit_codes(
    gemmwatch: Command, write: Callable[..., Path], tmp_path: Path,
    change: dict[str, Any], flags: tuple[str, ...], code: Exit, answer: str,
) -> None:  # fmt: skip
    files = ("--baseline", write("base.json"), "--head", write("head.json", **change))
    assert gemmwatch("gate", *files, "--out", tmp_path / "out", *flags) == code
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    assert (verdict["answer"], verdict["exit_code"]) == (answer, code)
    assert Xml.parse(tmp_path / "out" / "junit.xml").getroot().tag == "testsuite"
    assert answer in (tmp_path / "out" / "verdict.md").read_text()


def test_a_file_that_cannot_be_read_is_exit_2(
    gemmwatch: Command, write: Callable[..., Path], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    good, bad = write("good.json"), tmp_path / "bad.json"
    bad.write_text(good.read_text()[:-9])
    for base, head in ((bad, good), (good, bad), (good, tmp_path / "none.json")):
        assert gemmwatch("gate", "--baseline", base, "--head", head) == Exit.bad_input
        assert capsys.readouterr().err.startswith("gemmwatch: error: ")
    assert gemmwatch("gate", "--head", good) == Exit.bad_input


def test_a_baseline_is_no_head(
    gemmwatch: Command, write: Callable[..., Path], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    base = tmp_path / "base.json"
    gemmwatch("baseline", "store", write("run.json"), "--to", base)
    assert gemmwatch("gate", "--baseline", base, "--head", write("head.json")) == Exit.ok
    assert gemmwatch("gate", "--baseline", base, "--head", base) == Exit.bad_input
    assert "it is no run.json" in capsys.readouterr().err


def test_an_output_that_cannot_be_written(
    gemmwatch: Command, write: Callable[..., Path], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "file").touch()
    files = ("--baseline", write("base.json"), "--head", write("head.json"))
    assert gemmwatch("gate", *files, "--out", tmp_path / "file") == Exit.bad_input
    assert f"{tmp_path}/file" in capsys.readouterr().err


def test_an_answer_that_nobody_reads_is_written_all_the_same(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    """As in `gemmwatch gate ... | head -0`."""
    script = (
        "import sys, ci.gate; from ci.command_line import run_command;"
        "sys.exit(run_command(sys.argv[1:], [ci.gate.add_parser]))"
    )
    files = ("--baseline", write("base.json"), "--head", write("head.json"))
    process = subprocess.Popen(
        [sys.executable, "-c", script, "gate", *files, "--out", tmp_path / "out"],
        cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    _, complaints = process.communicate()
    assert (process.returncode, complaints) == (Exit.unread, b"")
    assert json.loads((tmp_path / "out" / "verdict.json").read_text())["answer"] == "pass"


# -------------------------------------------------------------------------------------------------
# verdict.json, junit.xml
# -------------------------------------------------------------------------------------------------


def red() -> Judgement:
    return judge(*two_sides(), GPU)


def test_verdict_json_has_the_numbers_of_the_contract() -> None:
    document = json.loads(json.dumps(verdict_document(red(), NOW), allow_nan=False))
    point = next(point for point in document["points"] if point["id"] == POINT)
    assert point["verdict"] == "regressed"
    assert point["change"] == pytest.approx(0.10)
    assert point["low"] < point["change"] < point["high"]
    assert point["base_us"] == pytest.approx(100)
    assert point["head_us"] == pytest.approx(110)
    assert point["base_ratio"] == pytest.approx(1)
    assert point["head_ratio"] == pytest.approx(1.1)
    assert 0 <= point["p"] < GPU.alpha
    assert point["smallest_visible"] > GPU.tau_fail
    assert document["summary"] == {
        "improved": 0, "same": 1, "regressed": 1, "inconclusive": 0, "missing": 0,
        "incomparable": 0, "new": 0, "incorrect": 0, "failed": 0, "timed_out": 0, "compared": 2,
    }  # fmt: skip
    assert document["base"]["age_days"] == 10
    assert document["policy"]["tau"] == GPU.tau


def test_a_point_that_was_not_compared_has_no_numbers() -> None:
    base, head = two_sides(0)
    broken = with_outcome(head, POINT, Outcome.failed, "killed")
    document = verdict_document(judge(base, broken, GPU), NOW)
    point = next(point for point in document["points"] if point["id"] == POINT)
    assert point == {"id": POINT, "verdict": "failed", "reason": "killed", "fails": True}


def cases(judgement: Judgement) -> dict[str, str]:
    """What each test case of junit.xml holds."""
    suite = Xml.fromstring(junit(judgement))
    assert int(suite.attrib["tests"]) == len(suite)
    for attribute, tag in (("failures", "failure"), ("skipped", "skipped"), ("errors", "error")):
        assert int(suite.attrib[attribute]) == len(suite.findall(f"testcase/{tag}"))
    return {case.attrib["name"]: case[0].tag if len(case) else "passed" for case in suite}


def test_junit_has_a_case_for_each_point() -> None:
    base, head = two_sides()
    head = with_outcome(head, "wmma/bf16/nt/64x64x64", Outcome.refused, "needs sm_80")
    found = cases(judge(base, head, GPU))
    assert found[POINT] == "failure"
    assert found[OTHER] == "passed"
    assert found["wmma/bf16/nt/64x64x64"] == "skipped"
    assert found["gate"] == "passed"


def test_junit_skips_the_undecided_and_errs_where_there_is_no_answer() -> None:
    few = make_samples({POINT: [0.0, 0.1]})
    found = cases(judge(few, few, GPU))
    assert found == {POINT: "skipped", "gate": "error"}


def test_junit_holds_no_character_that_xml_cannot() -> None:
    base, head = two_sides()
    hostile = with_outcome(head, POINT, Outcome.failed, 'x\x00\x1b[31m ]]> & "<')
    suite = Xml.fromstring(junit(judge(base, hostile, GPU)))
    messages = [failure.attrib["message"] for failure in suite.iter("failure")]
    assert messages == ['failed: x??[31m ]]> & "<']
