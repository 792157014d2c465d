"""The picture of where in C the wrong elements lie."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.commands import add_parser
from reports.files import ReportError
from reports.wrong import FAINTEST, line_spacing, read_mask, shades, wrong_picture

# 5 x 7 elements in cells of 2 x 3: three rows of three cells, the last of them incomplete.
MASK: dict[str, Any] = {
    "schema": 1,
    "kernel": "tiled",
    "problem": "fp32/nn/5x7x3/batch=2",
    "regime": "wide_integer",
    "seed": 1,
    "batch": 1,
    "rows": 5,
    "columns": 7,
    "cell_rows": 2,
    "cell_columns": 3,
    "wrong": [[6, 3, 0], [0, 0, 2], [0, 0, 1]],
}


def write(path: Path, **changes: object) -> Path:
    path.write_text(json.dumps({**MASK, **changes}))
    return path


def test_shade_is_the_share_of_a_cell_and_never_too_faint_to_see(tmp_path: Path) -> None:
    shade = shades(read_mask(write(tmp_path / "mask.json")))
    assert shade[0, 0] == 1
    assert shade[0, 1] == pytest.approx(FAINTEST + (1 - FAINTEST) / 2)
    assert shade[1, 2] == 1  # a cell of two rows and one column
    assert shade[2, 2] == 1  # and of one row
    assert np.count_nonzero(shade) == 4


@pytest.mark.parametrize(("extent", "spacing"), [(1, 8), (128, 8), (129, 16), (4096, 256)])
def test_lines_are_as_many_as_can_be_told_apart(extent: int, spacing: int) -> None:
    assert line_spacing(extent) == spacing


def test_the_title_names_what_failed(tmp_path: Path) -> None:
    svg = wrong_picture(read_mask(write(tmp_path / "mask.json"))).svg.decode()
    assert "tiled on fp32/nn/5x7x3/batch=2" in svg
    assert "12 of 35 elements wrong on wide_integer inputs, matrix 1 of the batch" in svg


def test_command_writes_a_png_beside_the_mask(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    args = parser.parse_args(["wrong", str(write(tmp_path / "mask.json"))])
    assert args.execute(args) == 0
    assert (tmp_path / "mask.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.strip() == str(tmp_path / "mask.png")


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": 2},
        {"wrong": "none"},
        {"wrong": [[1, 2, 3]]},
        {"wrong": [[1, 2], [3]]},
        {"rows": "five"},
    ],
)
def test_a_file_that_is_no_mask_is_named(tmp_path: Path, changes: dict[str, object]) -> None:
    path = write(tmp_path / "mask.json", **changes)
    with pytest.raises(ReportError, match=str(path)):
        read_mask(path)
