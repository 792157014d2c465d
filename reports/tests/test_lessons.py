"""Lessons: what is compared, and how page, figure and terminal tell it."""

import copy
from collections.abc import Callable, Iterator
from math import exp
from pathlib import Path
from statistics import median

import pytest

from reports.files import ReportError
from reports.ladder import ladders
from reports.lesson_chart import lessons_picture
from reports.lesson_table import lesson_table
from reports.lessons import Measurement, measured_lessons
from reports.model import Measured
from reports.page import report_files
from reports.reading import read_measured
from reports.resources import of_kernels, read_resources
from reports.scoreboard import scores
from reports.tests import browser as browsers
from reports.tests import synthetic
from reports.tests.browser import Browser
from reports.tests.html_reader import read_page
from reports.tests.synthetic import Json, end_badly, function, write
from reports.tests.test_figures import words

SOUND = "vectorized/fp32/nn/4096x4096x4096"
SPOILED = "vectorized+bank_conflicts/fp32/nn/4096x4096x4096"


@pytest.fixture(scope="module")
def made() -> Json:
    return synthetic.lessons_run()


@pytest.fixture
def run(made: Json) -> Json:
    return copy.deepcopy(made)


@pytest.fixture
def read(tmp_path: Path) -> Callable[[Json], Measured]:
    return lambda run: read_measured(write(tmp_path / "run.json", run))


def one(measured: Measured, name: str) -> Measurement:
    return next(found for found in measured_lessons(measured) if found.lesson.name == name)


def names(measured: Measured) -> list[str]:
    return [found.lesson.name for found in measured_lessons(measured)]


def speed(run: Json, point_id: str) -> float:
    """Beside the control."""
    ratios = [row["log_ratio"] for row in run["benchmarks"] if row["name"] == point_id]
    return exp(-median(ratios))


def forget(run: Json, point_id: str) -> None:
    """As a filter does."""
    del run["context"]["gemmwatch"]["outcomes"][point_id]
    run["benchmarks"] = [row for row in run["benchmarks"] if row["name"] != point_id]


# -------------------------------------------------------------------------------------------------
# What is compared
# -------------------------------------------------------------------------------------------------


def test_cost_is_the_time_beside_that_of_the_first_point_through_the_control(
    run: Json, read: Callable[[Json], Measured]
) -> None:
    for row in run["benchmarks"]:
        if row["name"] == SPOILED:  # measured on a slower hour, as was its control
            row["kernel_us"] *= 2
            row["control_us"] *= 2
    sound, spoiled = one(read(run), "bank_conflicts").compared
    assert sound.cost == 1
    assert spoiled.cost == pytest.approx(speed(run, SOUND) / speed(run, SPOILED))


def test_each_problem_has_a_first_point_of_its_own(
    run: Json, read: Callable[[Json], Measured]
) -> None:
    compared = one(read(run), "register_spills").compared
    assert [each.first for each in compared] == [True, False, True, False]
    small = "fp32/nn/2048x2048x2048"
    expected = speed(run, f"warp_tiled/{small}") / speed(run, f"warp_tiled+register_spills/{small}")
    assert compared[3].cost == pytest.approx(expected)


def test_a_wrong_first_point_leaves_the_others_without_a_cost(
    run: Json, read: Callable[[Json], Measured]
) -> None:
    end_badly(run, SOUND, "incorrect")
    sound, spoiled = one(read(run), "bank_conflicts").compared
    assert (sound.cost, spoiled.cost) == (None, None)
    assert not spoiled.first


def test_points_of_different_problems_do_not_compare_time(
    run: Json, read: Callable[[Json], Measured]
) -> None:
    assert not one(read(run), "bf16_accuracy").compares_time
    assert one(read(run), "bank_conflicts").compares_time


def test_a_lesson_is_measured_where_its_spoiled_rung_was(
    run: Json, read: Callable[[Json], Measured]
) -> None:
    """The sound rungs are measured by other selections too, on several problems."""
    assert names(read(run)) == [name for name, *_ in synthetic.LESSONS]
    for size in (2048, 4096):
        forget(run, f"warp_tiled+register_spills/fp32/nn/{size}x{size}x{size}")
    assert "register_spills" not in names(read(run))


def test_a_lesson_of_which_one_point_was_tried_compares_nothing(
    run: Json, read: Callable[[Json], Measured]
) -> None:
    forget(run, SOUND)
    end_badly(run, "dispatch/fp32/nn/4096x4096x4096", "failed")
    for problem in ("tf32/nt", "bf16/nn"):
        run["context"]["gemmwatch"]["outcomes"][f"dispatch/{problem}/4096x4096x4096"] = "refused"
    assert {"bank_conflicts", "bf16_accuracy"}.isdisjoint(names(read(run)))


def test_a_run_without_lessons_in_its_catalog_has_none(
    run: Json, read: Callable[[Json], Measured]
) -> None:
    del run["context"]["gemmwatch"]["catalog"]["lessons"]
    assert names(read(run)) == []


def test_a_spoiled_rung_is_no_rung(run: Json, read: Callable[[Json], Measured]) -> None:
    for row in run["benchmarks"]:
        if "+" in row["name"]:
            row["log_ratio"] -= 9  # it would be the fastest of all
    measured = read(run)
    assert not [name for ladder in ladders(measured) for name in ladder.names if "+" in name]
    assert not [score for score in scores(measured) if "+" in score.kernel.name]


# -------------------------------------------------------------------------------------------------
# Its table
# -------------------------------------------------------------------------------------------------


def test_table_of_a_lesson(run: Json, read: Callable[[Json], Measured]) -> None:
    measured = read(run)
    table = lesson_table(measured, one(measured, "bank_conflicts"), [])
    assert table.names == ("kernel",)
    assert table.problem == "fp32 nn 4096×4096×4096"
    assert table.numbers == ("µs", "time", "TFLOP/s", "relative error")
    micros = median(row["kernel_us"] for row in run["benchmarks"] if row["name"] == SPOILED)
    assert table.rows[1].names == ("vectorized+bank_conflicts",)
    assert table.rows[1].numbers == (
        f"{micros:.0f}",
        f"×{speed(run, SOUND) / speed(run, SPOILED):.2f}",
        f"{2 * 4096**3 / micros / 1e6:.1f}",
        "4.0e-7",
    )


def test_the_problem_is_a_column_where_it_varies_and_no_time_is_compared_across(
    run: Json, read: Callable[[Json], Measured]
) -> None:
    measured = read(run)
    table = lesson_table(measured, one(measured, "bf16_accuracy"), [])
    assert (table.names, table.problem) == (("kernel", "problem"), "")
    assert table.numbers == ("µs", "TFLOP/s", "relative error")
    assert table.rows[2].names == ("dispatch", "bf16 nn 4096×4096×4096")
    assert table.rows[2].numbers[-1] == "2.9e-3"


def test_resources_are_those_of_the_architecture_that_ran(
    tmp_path: Path, run: Json, read: Callable[[Json], Measured]
) -> None:
    measured = read(run)
    file = write(tmp_path / "r.json", synthetic.resources(
        function("vectorized+bank_conflicts", "sm_80", registers=1),
        function("vectorized+bank_conflicts", "sm_99", registers=2),
        function("vectorized+bank_conflicts", "sm_90a", registers=80, stack_bytes=0),
        function("vectorized+bank_conflicts", "sm_90a", registers=96, stack_bytes=24),
    ))  # fmt: skip
    resources = of_kernels(read_resources([file]), measured.kernels)
    table = lesson_table(measured, one(measured, "bank_conflicts"), resources)
    assert table.numbers[-3:] == ("registers", "spilled, bytes", "occupancy")
    assert table.rows[0].numbers[-3:] == ("", "", "")
    assert table.rows[1].numbers[-3:] == ("80 to 96", "0 to 24", "50%")
    other = lesson_table(measured, one(measured, "bf16_accuracy"), resources)
    assert "registers" not in other.numbers


# -------------------------------------------------------------------------------------------------
# Page, figure and terminal
# -------------------------------------------------------------------------------------------------


def test_page_has_a_section_of_lessons(run: Json, read: Callable[[Json], Measured]) -> None:
    end_badly(run, SPOILED, "incorrect")
    files = report_files(read(run), None)
    page = read_page(files["index.html"].decode())
    assert page.headings[1:4] == ["Ladder", "Lessons", "Roofline"]
    for _, title, _, _, moral in synthetic.LESSONS:
        assert title in page.text
        assert moral in page.text
    told = [row for row in page.rows if row[0] == "vectorized+bank_conflicts"]
    reason = run["context"]["gemmwatch"]["reasons"][SPOILED]
    assert told == [["vectorized+bank_conflicts", f"incorrect: {reason}"]]
    assert {"figures/lessons.svg", "figures/lessons-dark.svg", "figures/lessons.png"} <= set(files)
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert ids == {one[1:] for one in page.references() if one.startswith("#")}


def test_page_of_another_run_has_none(small_run: Json, read: Callable[[Json], Measured]) -> None:
    files = report_files(read(small_run), None)
    assert "Lessons" not in read_page(files["index.html"].decode()).headings
    assert not [name for name in files if "lessons" in name]


def test_spoiled_rungs_stand_with_their_lesson_and_not_among_the_compiler_s(
    tmp_path: Path, run: Json, gemmwatch: Callable[..., int]
) -> None:
    file = write(tmp_path / "run.json", run)
    record = synthetic.resources(function("vectorized"), function("vectorized+bank_conflicts"))
    resources = write(tmp_path / "r.json", record)
    assert gemmwatch("report", file, "--resources", resources, "--out", tmp_path / "page") == 0
    page = read_page((tmp_path / "page" / "index.html").read_text())
    assert [row[0] for row in page.rows if "sm_90" in row] == ["vectorized"]


def test_figure_has_a_bar_for_each_cost_and_each_error(
    run: Json, read: Callable[[Json], Measured]
) -> None:
    end_badly(run, SPOILED, "incorrect")
    drawn = words(lessons_picture(measured_lessons(read(run))).svg)
    for name, *_ in synthetic.LESSONS:
        assert drawn.count(name) == 1
    costs = [word for word in drawn if word.startswith("×")]
    assert len(costs) == 3  # two of register_spills, one of compiler_scheduling
    assert drawn.count("✕ incorrect") == 1
    assert {"4.0e-7", "3.0e-4", "2.9e-3"} <= set(drawn)
    assert "relative error, log scale" in drawn


def test_figure_leaves_out_the_half_that_is_empty(
    run: Json, read: Callable[[Json], Measured]
) -> None:
    found = measured_lessons(read(run))
    assert "relative error, log scale" not in words(lessons_picture(found[:1]).svg)
    only_errors = words(lessons_picture(found[-1:]).svg)
    assert not [word for word in only_errors if word.startswith("time")]


def test_a_lesson_on_the_terminal(
    tmp_path: Path, run: Json, gemmwatch: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    end_badly(run, SPOILED, "incorrect")
    file = write(tmp_path / "run.json", run)
    assert gemmwatch("report", file, "--lesson", "bank_conflicts") == 0
    text = capsys.readouterr().out
    title, where, table, moral = text.strip().split("\n\n")
    assert title == "Rows of shared memory that begin in one bank"
    assert where == "Synthetic GPU, fp32 nn 4096×4096×4096"
    heads, sound, spoiled = table.splitlines()
    assert heads.split() == ["kernel", "µs", "time", "TFLOP/s", "relative", "error"]
    assert sound.split()[0::2] == ["vectorized", "×1.00", "4.0e-7"]
    assert len(sound) == len(heads)
    reason = run["context"]["gemmwatch"]["reasons"][SPOILED]
    assert spoiled == f"vectorized+bank_conflicts  incorrect: {reason}"
    assert " ".join(moral.split()) == synthetic.LESSONS[0][-1]
    assert max(map(len, moral.splitlines())) <= 80
    assert list(tmp_path.iterdir()) == [file]  # no page


@pytest.mark.parametrize(
    ("name", "words_of_it"),
    [
        ("bank_conflict", "knows no lesson bank_conflict; it measured register_spills, "),
        ("bank_conflicts", "did not measure the lesson bank_conflicts; it measured register_"),
    ],
)
def test_a_lesson_that_is_not_there_is_refused_with_those_that_are(
    tmp_path: Path, run: Json, gemmwatch: Callable[..., int], name: str, words_of_it: str
) -> None:
    forget(run, SPOILED)
    file = write(tmp_path / "run.json", run)
    with pytest.raises(ReportError) as caught:
        gemmwatch("report", file, "--lesson", name)
    assert str(caught.value).startswith(f"{file}: {words_of_it}")


def test_a_run_without_lessons_says_how_to_measure_them(
    run_file: Path, gemmwatch: Callable[..., int]
) -> None:
    with pytest.raises(ReportError, match="gemmwatch run --selection lessons"):
        gemmwatch("report", run_file, "--lesson", "bank_conflicts")


@pytest.mark.parametrize("flags", [("--out", "x"), ("--verdict", "x"), ("--site", "x")])
def test_a_lesson_is_no_page(
    run_file: Path, gemmwatch: Callable[..., int], flags: tuple[str, str]
) -> None:
    with pytest.raises(ReportError, match="a RUN and --lesson NAME for a lesson"):
        gemmwatch("report", run_file, "--lesson", "bank_conflicts", *flags)


def test_hostile_words_of_a_lesson_are_shown_and_not_obeyed(
    run: Json, read: Callable[[Json], Measured]
) -> None:
    hostile = "<script>alert('x')</script>"
    for lesson in run["context"]["gemmwatch"]["catalog"]["lessons"]:
        lesson["title"] = lesson["moral"] = hostile
    page = read_page(report_files(read(run), None)["index.html"].decode())
    assert page.text.count(hostile) == 8
    assert "script" not in {tag for tag, _ in page.tags}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from browsers.started()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_window(
    browser: Browser, tmp_path: Path, run: Json, read: Callable[[Json], Measured], width: int
) -> None:
    end_badly(run, SPOILED, "incorrect")
    page = tmp_path / "index.html"
    page.write_bytes(report_files(read(run), None)["index.html"])
    browser.open(page, width)
    assert browser.complaints() == []
    assert browser.ask("document.documentElement.scrollWidth") <= width
    shown = browser.ask("document.querySelector('#lessons img').getBoundingClientRect().width")
    assert 0 < shown <= width
