"""What is picked out for the figures, and how their numbers are written."""

import copy
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reports import units
from reports.ladder import ladders
from reports.ladder_chart import ladder_picture
from reports.map_chart import BOUNDS, COLOURS, MOST_COLUMNS, cell_text, map_picture, panels
from reports.model import Measured
from reports.reading import read_measured
from reports.tests import synthetic
from reports.tests.synthetic import Json, write


@pytest.fixture
def host(run_file: Path) -> Measured:
    return read_measured(run_file)


def words(svg: bytes) -> list[str]:
    return ["".join(one.itertext()) for one in ElementTree.fromstring(svg).iter()
            if one.tag.endswith("}text")]  # fmt: skip


def test_ladder_is_the_largest_problem_that_most_kernels_take_up(
    tmp_path: Path, host_run: Json
) -> None:
    run = copy.deepcopy(host_run)
    meta = run["context"]["gemmwatch"]
    small, large = "fp32/nn/128x128x128", "fp32/nn/256x256x256"
    for problem in meta["catalog"]["problems"]:
        problem["groups"] = ["ladder"]
    path = write(tmp_path / "run.json", run)
    assert ladders(read_measured(path))[0].problem.id == large

    # One that failed there has taken it up.
    meta["outcomes"][f"cpu_naive/{large}"] = "failed"
    write(path, run)
    assert ladders(read_measured(path))[0].problem.id == large

    # One that refuses it, being too slow, leaves a ladder without its lowest rung.
    for problem_id in (large, "fp32/nt/16x512x512", "fp32/nn/37x61x53/pad=3.0.8"):
        meta["outcomes"][f"cpu_naive/{problem_id}"] = "refused"
    write(path, run)
    assert ladders(read_measured(path))[0].problem.id == small


def test_vendor_kernels_end_the_ladder_and_have_no_step(host: Measured) -> None:
    rungs = ladders(host)[0].rungs
    assert [rung.kernel.name for rung in rungs] == ["cpu_naive", "cpu_tiled", "cpu_packed",
                                                    "openblas"]  # fmt: skip
    assert [rung.step is None for rung in rungs] == [True, False, False, True]


def test_step_skips_a_rung_without_a_time(tmp_path: Path, host_run: Json) -> None:
    run = copy.deepcopy(host_run)
    run["context"]["gemmwatch"]["outcomes"]["cpu_tiled/fp32/nn/256x256x256"] = "incorrect"
    naive, tiled, packed, _ = ladders(read_measured(write(tmp_path / "run.json", run)))[0].rungs
    assert tiled.step is None
    assert naive.performance and packed.performance
    expected = packed.performance.speed_ratio / naive.performance.speed_ratio
    assert packed.step == pytest.approx(expected)


def test_ladder_chart_names_every_rung_and_unit(host: Measured) -> None:
    drawn = words(ladder_picture(host, ladders(host)[0]).svg)
    for word in ("cpu_naive", "cpu_tiled", "cpu_packed", "openblas", "GFLOP/s", "× control",
                 "share of the control's speed, log scale"):  # fmt: skip
        assert word in drawn


def test_ladder_chart_shows_the_peak_where_it_is_known(tmp_path: Path, gpu_run: Json) -> None:
    measured = read_measured(write(tmp_path / "run.json", gpu_run))
    drawn = words(ladder_picture(measured, ladders(measured)[-1]).svg)
    for word in ("peak 989", "TFLOP/s", "share of peak, log scale", "✕ incorrect"):
        assert word in drawn


def test_figures_let_the_page_s_paper_through(host: Measured) -> None:
    drawn = ladder_picture(host, ladders(host)[0])
    assert b"#ffffff" not in drawn.svg
    assert b"#0d1117" not in drawn.dark_svg


def test_map_marks_each_outcome(tmp_path: Path, host_run: Json) -> None:
    run = copy.deepcopy(host_run)
    outcomes = run["context"]["gemmwatch"]["outcomes"]
    for kernel, outcome in (("cpu_naive", "refused"), ("cpu_packed", "timed_out"),
                            ("openblas", "failed")):  # fmt: skip
        outcomes[f"{kernel}/fp32/nn/128x128x128"] = outcome
    del outcomes["cpu_packed/fp32/nn/256x256x256"]
    measured = read_measured(write(tmp_path / "run.json", run))
    drawn = words(map_picture(measured, panels(measured)[0], "map").svg)
    for mark, name in (("–", "refused"), ("✕", "incorrect"), ("!", "failed"), ("T", "timed out")):
        assert drawn.count(mark) == 2  # in its cell and in the legend
        assert name in drawn
    assert "empty: not selected" in drawn
    numbers = [word for word in drawn if word[:2] in ("0.", "1.", "2.")]
    times = sum(1 for name, outcome in outcomes.items() if "/fp32/" in name and outcome == "passed")
    assert len(numbers) == times + len(BOUNDS)


def test_map_leaves_out_a_kernel_that_refuses_everything_and_says_so(host: Measured) -> None:
    bf16 = panels(host)[-1]
    assert bf16.precision == "bf16"
    assert bf16.refusing == ("openblas",)
    assert "openblas" not in [kernel.name for kernel in bf16.kernels]


def test_wide_map_is_laid_out_in_panels(tmp_path: Path) -> None:
    machine = synthetic.host()
    machine.planted = {}
    machine.problems = [(f"fp32/nn/{size}x8x8", ["square"]) for size in range(1, 51)]
    made = panels(read_measured(write(tmp_path / "run.json", synthetic.run(machine, trials=1))))
    assert len(made) == 3
    assert all(len(panel.problems) <= MOST_COLUMNS for panel in made)
    assert sum(len(panel.problems) for panel in made) == 50


def test_colour_classes_are_centred_on_equal() -> None:
    assert len(COLOURS) == len(BOUNDS) + 1
    assert list(BOUNDS) == sorted(BOUNDS)
    nearest = [bound for bound in BOUNDS if 0.5 <= bound <= 2]
    for low, high in zip(nearest, reversed(nearest), strict=True):
        assert low * high == pytest.approx(1)


@pytest.mark.parametrize(
    ("speed", "text"),
    [(0.002, "<.01"), (0.0095, "0.01"), (0.974, "0.97"), (1.0, "1.00"), (9.99, "9.99"),
     (12.3, "12")],
)  # fmt: skip
def test_cell_text_fits_its_cell(speed: float, text: str) -> None:
    assert cell_text(speed) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.01234, "0.0123"), (9.996, "10.0"), (695.2, "695"), (999.7, "1000"),
     (123456, "123456"), (1e-9, "0.00000000100")],
)  # fmt: skip
def test_significant_digits(value: float, text: str) -> None:
    assert units.significant(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.0213, "2.1%"), (0.02, "2%"), (0.905, "90%"), (1, "100%"), (0.5, "50%")]
)
def test_percent(share: float, text: str) -> None:
    assert units.percent(share) == text
