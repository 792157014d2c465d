"""What two builds' object files say before anything is measured."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ci.errors import Exit
from ci.resources.ratchet import Finding
from ci.resources.record import Resources
from ci.resources.tests.conftest import function, host_build, resources
from ci.same_code import CodeComparison, compare_code
from ci.tests.conftest import FakeBench

Command = Callable[..., int]
ONE, TWO = "int f(int x) { return x * 5; }", "int f(int x) { return x * 7; }"


def builds(folder: Path, base: dict[str, str], head: dict[str, str]) -> tuple[Path, Path]:
    """The bench programs of two builds, of which only the objects are there."""
    sides = host_build(folder / "base", base), host_build(folder / "head", head)
    return sides[0] / "bench" / "gemmwatch-bench", sides[1] / "bench" / "gemmwatch-bench"


def test_only_what_differs_is_to_be_measured(tmp_path: Path) -> None:
    kernels = {"tiled": ONE, "packed": ONE, "gone": ONE}
    code = compare_code(*builds(tmp_path, kernels, {"tiled": TWO, "packed": ONE, "new": ONE}))
    assert code.unchanged == {"packed"}
    assert code.changed == {"tiled", "new"}
    assert not code.alike
    wanted = [k for k in ("tiled", "packed", "gone", "new") if re.search(code.filter(""), f"{k}/x")]
    assert wanted == ["tiled", "gone", "new"]  # that a kernel is gone must be seen
    assert "packed" in code.notes[0]


def test_the_filter_that_was_asked_for_still_holds() -> None:
    code = CodeComparison(frozenset({"packed"}), frozenset({"tiled"}), (), ())
    wanted = code.filter("64x|^packed/|tiled/fp16")
    assert re.search(wanted, "tiled/fp32/64x64x64")
    assert re.search(wanted, "tiled/fp16/8x8x8")
    assert not re.search(wanted, "tiled/fp32/8x8x8")
    assert not re.search(wanted, "packed/fp32/64x64x64")
    assert re.search(code.filter(""), "packed2/fp32/8x8x8")  # a name that only begins so


def test_where_nothing_differs_all_is_measured_as_one_code(tmp_path: Path) -> None:
    code = compare_code(*builds(tmp_path, {"tiled": ONE}, {"tiled": ONE}))
    assert code.alike
    assert code.filter("64x") == "64x"
    assert "A/A" in code.notes[0]


def test_a_slowed_kernel_is_not_what_its_code_says(tmp_path: Path) -> None:
    both = {"tiled": ONE, "packed": ONE}
    code = compare_code(*builds(tmp_path, both, both), slowed={"tiled"})
    assert code.unchanged == {"packed"}
    assert code.changed == {"tiled"}


def test_without_object_files_everything_is_measured(tmp_path: Path) -> None:
    code = compare_code(tmp_path / "a" / "bench" / "b", tmp_path / "c" / "bench" / "b")
    assert (code.filter("64x"), code.unchanged, code.alike) == ("64x", frozenset(), False)


def test_an_object_that_is_missing_is_told_and_everything_is_measured(tmp_path: Path) -> None:
    programs = builds(tmp_path, {"tiled": ONE}, {"tiled": ONE})
    next((tmp_path / "head").rglob("*.o")).unlink()
    code = compare_code(*programs)
    assert code.unchanged == frozenset()
    assert "tiled.cpp.o is not built" in code.notes[0]


@pytest.fixture
def device_code(monkeypatch: pytest.MonkeyPatch) -> Callable[[Resources], None]:
    """Makes this the device code of every build."""

    def use(found: Resources) -> None:
        monkeypatch.setattr("ci.same_code.resources_of", lambda _program: found)

    return use


def test_worse_device_code_than_approved_is_a_loss(
    tmp_path: Path, device_code: Callable[[Resources], None]
) -> None:
    approved = tmp_path / "approved"
    resources([function("f"), function("g")]).only("sm_90").write(approved / "sm_90.json")
    device_code(resources([function("f", local_loads=2), function("g", registers=41)]))
    programs = builds(tmp_path, {"tiled": ONE}, {"tiled": ONE})
    (loss,) = compare_code(*programs, approved=approved).losses
    assert (loss.function, loss.changes) == ("sm_90 f", "local_loads 0 -> 2")


def test_device_code_of_another_toolkit_is_told_and_no_loss(
    tmp_path: Path, device_code: Callable[[Resources], None]
) -> None:
    approved = tmp_path / "approved"
    resources([function("f")]).only("sm_90").write(approved / "sm_90.json")
    device_code(resources([function("f", local_loads=2)], toolkit="13.1.2"))
    code = compare_code(*builds(tmp_path, {"tiled": ONE}, {"tiled": ONE}), approved=approved)
    assert code.losses == ()
    assert any("13.1.2" in note for note in code.notes)


def test_a_gate_measures_what_differs_and_is_red_for_worse_device_code(
    gemmwatch: Command,
    bench: FakeBench,
    roots: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    programs = builds(tmp_path, {"tiled": ONE, "other": ONE}, {"tiled": ONE, "other": TWO})
    bench.catalog["kernels"].append(bench.catalog["kernels"][0] | {"name": "other"})
    for problem in [p["id"] for p in bench.catalog["problems"]]:
        point = {"id": f"other/{problem}", "kernel": "other", "problem": problem}
        bench.catalog["points"].append(point)
    bench.write()
    for program in programs:
        program.parent.mkdir()
        program.write_text(f"{bench.path.read_text()}# {program}\n")
        program.chmod(0o755)
    spill = Finding("sm_90 gemm::other", "accesses to local memory", "local_loads 0 -> 2")
    monkeypatch.setattr("ci.same_code._losses", lambda *_: [spill])
    out = tmp_path / "out"
    code = gemmwatch(
        "gate", "--base-build", tmp_path / "base", "--bench", programs[1], "--out", out,
        "--filter", "64x64x64",
    )  # fmt: skip
    verdict = json.loads((out / "verdict.json").read_text())
    assert code == Exit.regression
    assert {p["id"].split("/")[0] for p in verdict["points"]} == {"other", "control"}
    assert verdict["resources"] == [
        {"function": spill.function, "loss": spill.loss, "changes": spill.changes}
    ]
    for text in (capsys.readouterr().out, (out / "verdict.md").read_text()):
        assert "sm_90 gemm::other" in text
        assert "so not gated: tiled" in text
    assert "sm_90 gemm::other" in (out / "junit.xml").read_text()
