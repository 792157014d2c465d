"""What the compiler gave each kernel, from the recorder's file to the page."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reports.files import ReportError
from reports.model import Kernel
from reports.page import report_files
from reports.reading import read_measured
from reports.resources import Range, of_kernels, read_resources
from reports.tests.html_reader import Page, read_page
from reports.tests.synthetic import Json, function, write
from reports.tests.synthetic import resources as record


def kernels(*names: str) -> list[Kernel]:
    return [Kernel(name, order, "idea", False, False) for order, name in enumerate(names)]


def test_a_kernel_is_the_range_of_its_functions(tmp_path: Path) -> None:
    file = write(
        tmp_path / "resources.json",
        record(
            function("tiled", registers=96, local_loads=2, local_stores=3),
            function("tiled", shared_bytes=5120, resident_warps=16, tensor_instructions=8),
        ),
    )
    (found,) = of_kernels(read_resources([file]), kernels("tiled"))
    assert found.registers == Range(64, 96)
    assert found.shared_kib == Range(2, 5)
    assert found.spills == Range(0, 5)
    assert found.tensor_instructions == Range(0, 8)
    assert found.occupancy == Range(0.25, 0.5)  # of 64 warps


@pytest.mark.parametrize("unknown", [{"arch": "sm_42"}, {"resident_warps": 0}])
def test_occupancy_is_left_open_where_it_is_not_known(tmp_path: Path, unknown: Json) -> None:
    file = write(tmp_path / "r.json", record(function("tiled", **unknown)))
    (found,) = of_kernels(read_resources([file]), kernels("tiled"))
    assert found.occupancy is None


def test_kernels_come_in_the_order_of_the_ladder(tmp_path: Path) -> None:
    one = write(tmp_path / "one.json", record(function("late"), function("unknown")))
    two = write(tmp_path / "two.json", record(function("early", "sm_90a"), function("early")))
    found = of_kernels(read_resources([one, two]), kernels("early", "none", "late"))
    assert [(each.kernel, each.arch) for each in found] == [
        ("early", "sm_90"), ("early", "sm_90a"), ("late", "sm_90"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"kind": "something"}, "is no gemmwatch-resources; `gemmwatch resources record`"),
        ({"schema": 2}, "has schema 2 and this version reads 1"),
        ({"functions": [{"kernel": "tiled", "arch": "sm_90"}]}, "functions.0.registers is missing"),
    ],
)
def test_another_file_is_refused_by_name(tmp_path: Path, change: Json, complaint: str) -> None:
    file = write(tmp_path / "other.json", record() | change)
    with pytest.raises(ReportError, match=r"other\.json") as caught:
        read_resources([file])
    assert complaint in str(caught.value)


def page_of(folder: Path) -> Page:
    return read_page((folder / "index.html").read_text())


def test_the_page_shows_them_where_they_are_given(
    tmp_path: Path, small_run: Json, gemmwatch: Callable[..., int]
) -> None:
    run = write(tmp_path / "run.json", small_run)
    resources = write(tmp_path / "r.json", record(function("cpu_tiled", registers=77)))
    assert gemmwatch("report", run, "--resources", resources, "--out", tmp_path / "page") == 0
    page = page_of(tmp_path / "page")
    row = page.row("cpu_tiled", "sm_90")
    assert row == ["cpu_tiled", "sm_90", "1", "77", "2.00", "50%", "0", "0"]
    assert "Roofline" in page.headings


def test_a_page_without_peaks_or_resources_has_no_roofline(tmp_path: Path, small_run: Json) -> None:
    run = read_measured(write(tmp_path / "run.json", small_run))
    page = read_page(report_files(run, None)["index.html"].decode())
    assert "Roofline" not in page.headings
    assert "bound by" not in page.text
