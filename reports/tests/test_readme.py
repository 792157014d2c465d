"""The README's block: made of a file, checked against it."""

import copy
from collections.abc import Callable
from math import exp
from pathlib import Path
from statistics import median

import pytest

from reports.files import ReportError
from reports.readme import FIGURES
from reports.tests import synthetic
from reports.tests.synthetic import Json, write

Command = Callable[..., int]


@pytest.fixture
def readme(tmp_path: Path, small_run: Json) -> Path:
    (tmp_path / "base").mkdir()
    write(tmp_path / "base" / "pr.json", synthetic.baseline(small_run))
    path = tmp_path / "README.md"
    path.write_text(
        "# before\n<!-- generated:ladder from=base/pr.json -->\n<!-- /generated:ladder -->\nafter\n"
    )
    return path


def test_block_is_filled_and_the_rest_is_kept(readme: Path, gemmwatch: Command) -> None:
    assert gemmwatch("readme", readme) == 0
    text = readme.read_text()
    assert text.startswith("# before\n<!-- generated:ladder from=base/pr.json -->\n<picture>\n")
    assert text.endswith("<!-- /generated:ladder -->\nafter\n")
    assert 'srcset="reports/figures/ladder-dark.svg"' in text
    names = sorted(path.name for path in (readme.parent / FIGURES).iterdir())
    assert names == ["ladder-dark.svg", "ladder.png", "ladder.svg"]


def test_table_has_each_rung_with_its_numbers(
    readme: Path, gpu_run: Json, gemmwatch: Command
) -> None:
    write(readme.parent / "base" / "pr.json", synthetic.baseline(gpu_run))
    gemmwatch("readme", readme)
    cells = {
        row[1].strip("`"): row
        for line in readme.read_text().splitlines()
        if line.startswith("| `")
        for row in [[cell.strip() for cell in line.split("|")]]
    }
    rungs = [rung.name for rung in synthetic.GPU_RUNGS if rung.name not in
             ("split_k", "swap_ab", "gemv")]  # fmt: skip
    assert list(cells) == rungs

    point_id = "naive/fp32/nn/4096x4096x4096"
    rows = [row for row in gpu_run["benchmarks"] if row["name"] == point_id]
    tflops = 2 * 4096**3 / median(row["kernel_us"] for row in rows) / 1e6
    speed = exp(-median(row["log_ratio"] for row in rows))
    assert cells["naive"][2:6] == [
        "one thread computes one output", f"{tflops:.2f}", f"{100 * tflops / 67:.1f}%",
        f"{speed:.3f}",
    ]  # fmt: skip
    assert cells["wmma"][3:6] == ["", "", ""]  # no fp32
    assert cells["mma_pipelined"][6:9] == ["incorrect", "", ""]


def test_unknown_peak_has_no_column(readme: Path, gemmwatch: Command) -> None:
    gemmwatch("readme", readme)
    assert "| rung | idea | fp32, GFLOP/s | fp32, × control |\n" in readme.read_text()


def test_check_passes_only_while_current(
    readme: Path, small_run: Json, gemmwatch: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gemmwatch("readme", "--check", readme) == 1
    assert "+| `cpu_naive`" in capsys.readouterr().out
    assert "cpu_naive" not in readme.read_text()

    gemmwatch("readme", readme)
    assert gemmwatch("readme", "--check", readme) == 0
    assert capsys.readouterr().out == ""

    run = copy.deepcopy(small_run)
    for row in run["benchmarks"]:
        if row["name"].startswith("cpu_tiled/fp32/nn/256"):
            row["kernel_us"] *= 1.3
    write(readme.parent / "base" / "pr.json", synthetic.baseline(run))
    assert gemmwatch("readme", "--check", readme) == 1
    output = capsys.readouterr().out
    assert "-| `cpu_tiled`" in output
    assert "ladder.svg: is missing or shows other numbers" in output
    assert "scripts/readme" in output


def test_check_misses_no_figure(
    readme: Path, gemmwatch: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    gemmwatch("readme", readme)
    for name in ("ladder.svg", "ladder-dark.svg", "ladder.png"):
        figure = readme.parent / FIGURES / name
        kept = figure.read_bytes()
        figure.unlink()
        assert gemmwatch("readme", "--check", readme) == 1
        assert f"{name}: is missing" in capsys.readouterr().out
        figure.write_bytes(kept)


def test_hand_edit_is_found(readme: Path, gemmwatch: Command) -> None:
    gemmwatch("readme", readme)
    readme.write_text(readme.read_text().replace("three loops", "3 loops"))
    assert gemmwatch("readme", "--check", readme) == 1


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("no block", "has 0 blocks"),
        ("<!-- generated:ladder from=base/pr.json -->\n", "not closed"),
        ("<!-- generated:ladder -->\n<!-- /generated:ladder -->\n", "names no source"),
        ("<!-- generated:ladder from=x.json -->\n<!-- /generated:ladder -->\n", "x.json: cannot"),
        ("<!-- generated:ladder from=x -->\n<!-- /generated:ladder -->\n" * 2, "has 2 blocks"),
    ],
)
def test_broken_block(readme: Path, gemmwatch: Command, text: str, word: str) -> None:
    readme.write_text(text)
    with pytest.raises(ReportError, match=word) as caught:
        gemmwatch("readme", readme)
    assert str(readme.parent) in str(caught.value)
    assert readme.read_text() == text


def test_missing_readme(tmp_path: Path, gemmwatch: Command) -> None:
    with pytest.raises(ReportError, match=r"nowhere\.md: cannot be read"):
        gemmwatch("readme", tmp_path / "nowhere.md")


def test_source_without_a_ladder(tmp_path: Path, readme: Path, gemmwatch: Command) -> None:
    machine = synthetic.host()
    machine.problems = [("fp32/nn/8x8x8", ["square"])]
    write(readme.parent / "base" / "pr.json", synthetic.run(machine, trials=1))
    with pytest.raises(ReportError, match="no kernel was measured on a ladder problem"):
        gemmwatch("readme", readme)
