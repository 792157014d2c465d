import json
from collections.abc import Callable, Sequence
from math import log
from pathlib import Path

import pytest

from ci.errors import Exit
from ci.tests.conftest import FakeBench
from ci.tests.synthetic import catalog_document, run_document

Command = Callable[..., int]
SMALL, LARGE = "fp32/nn/64x64x64", "fp32/nn/128x128x128"


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    """On SMALL the second vendor kernel is twice as fast as the control, on LARGE half as fast."""
    catalog = catalog_document(("tiled", "control", "vendor2"), (SMALL, LARGE))
    series: dict[str, Sequence[float]] = {
        f"tiled/{SMALL}": [log(1 / 1.5), log(1 / 1.5), 9.0],  # 1.5 times the control; one spike
        f"tiled/{LARGE}": [log(2)] * 3,
        f"control/{SMALL}": [0.0] * 3,
        f"control/{LARGE}": [0.0] * 3,
        f"vendor2/{SMALL}": [log(0.5)] * 3,
        f"vendor2/{LARGE}": [log(2)] * 3,
    }
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run_document(catalog, series)))
    return path


def test_speed_is_relative_to_the_better_vendor_kernel_of_each_problem(
    gemmwatch: Command, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gemmwatch("scoreboard", run_file, "--json") == Exit.ok
    found = {row["kernel"]: row for row in json.loads(capsys.readouterr().out)}
    # tiled: 1.5 / 2 and 0.5 / 1; control: 1 / 2 and 1; vendor2: 2 / 2 and 0.5
    assert found["tiled"]["speed"] == pytest.approx((0.75 * 0.5) ** 0.5)
    assert found["control"]["speed"] == pytest.approx(0.5**0.5)
    assert found["vendor2"]["speed"] == pytest.approx(0.5**0.5)
    assert found["tiled"]["worst_speed"] == pytest.approx(0.5)
    assert found["tiled"]["worst_problem"] == LARGE
    assert found["tiled"]["problems"] == 2
    # 2 n^3 flops in 100/1.5 us and in 200 us
    assert found["tiled"]["tflops_low"] == pytest.approx(2 * 64**3 / (100 / 1.5) / 1e6)
    assert found["tiled"]["tflops_high"] == pytest.approx(2 * 128**3 / 200 / 1e6)


def test_joules_are_beside_the_control_s_where_they_were_measured(
    gemmwatch: Command, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gemmwatch("scoreboard", run_file) == Exit.ok
    assert "J" not in capsys.readouterr().out
    run = json.loads(run_file.read_text())
    for row in run["benchmarks"]:
        if row["name"].startswith("tiled/"):
            drift = 1 + row["repetition_index"]  # a warmer card draws more, for both
            cheaper = 0.5 if row["name"] == f"tiled/{SMALL}" else 0.9
            row |= {"kernel_joules": 3.0 * drift * cheaper, "control_joules": 3.0 * drift}
        elif row["name"].startswith("control/"):  # a counter that stood still tells nothing
            row |= {"kernel_joules": 0.0, "control_joules": 0.0}
    run_file.write_text(json.dumps(run))
    gemmwatch("scoreboard", run_file, "--json")
    found = {row["kernel"]: row for row in json.loads(capsys.readouterr().out)}
    assert found["tiled"]["joules"] == pytest.approx((0.5 * 0.9) ** 0.5)
    assert found["control"]["joules"] is None
    gemmwatch("scoreboard", run_file)
    text = capsys.readouterr().out
    assert "TFLOP/s; J 0.671" in text
    assert "joules a launch over the control's" in text


def test_the_table_names_group_precision_and_layout(
    gemmwatch: Command, run_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gemmwatch("scoreboard", run_file) == Exit.ok
    text = capsys.readouterr().out
    assert "square, fp32 nn" in text
    assert "tiled" in text


def test_a_run_in_which_nothing_passed_ranks_nothing(gemmwatch: Command, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    outcomes = {"outcomes": {f"tiled/{SMALL}": "failed"}, "reasons": {f"tiled/{SMALL}": "x"}}
    path.write_text(json.dumps(run_document(catalog_document(), {}, **outcomes)))
    assert gemmwatch("scoreboard", path) == Exit.no_answer


def test_list_shows_kernels_problems_and_selections(
    gemmwatch: Command, bench: FakeBench, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gemmwatch("list", "--bench", bench.path, "--json") == Exit.ok
    document = json.loads(capsys.readouterr().out)
    assert [kernel["name"] for kernel in document["kernels"]] == ["tiled", "control"]
    assert document["selections"]["pr"] == {"points": 6, "refused": 0}
    bench.catalog["kernels"][0]["available"] = False
    bench.write()
    assert gemmwatch("list", "--bench", bench.path) == Exit.ok
    text = capsys.readouterr().out
    assert " -  0  tiled" in text
    assert "   1  control" in text
    assert "fp32/nn/256x256x256" in text
    assert "device: host (no GPU)" in text
