"""What two builds' object files say before anything is measured."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ci.errors import Exit
from ci.resources.ratchet import Finding
from ci.resources.record import Resources
from ci.resources.tests.conftest import function, host_build, resources
from ci.same_code import compare_code
from ci.tests.conftest import FakeBench

Command = Callable[..., int]
ONE, TWO = "int f(int x) { return x * 5; }", "int f(int x) { return x * 7; }"


def builds(
    folder: Path,
    base: dict[str, str],
    head: dict[str, str],
    harness: tuple[str, str] = (ONE, ONE),
) -> tuple[Path, Path]:
    """The bench programs of two builds, of which only the objects are there."""
    sides = [
        host_build(folder / name, kernels, measuring)
        for name, kernels, measuring in zip(("base", "head"), (base, head), harness, strict=True)
    ]
    return sides[0] / "bench" / "gemmwatch-bench", sides[1] / "bench" / "gemmwatch-bench"


def test_a_kernel_of_other_code_is_not_unchanged(tmp_path: Path) -> None:
    kernels = {"tiled": ONE, "packed": ONE, "gone": ONE}
    code = compare_code(*builds(tmp_path, kernels, {"tiled": TWO, "packed": ONE, "new": ONE}))
    assert code.unchanged == {"packed"}
    assert "packed" in code.notes[0]


def test_another_harness_leaves_nothing_unchanged(tmp_path: Path) -> None:
    """It may measure each kernel otherwise, on one side only."""
    programs = builds(tmp_path, {"tiled": ONE}, {"tiled": ONE}, harness=(ONE, TWO))
    assert compare_code(*programs).unchanged == frozenset()
    (tmp_path / "again").mkdir()
    programs = builds(tmp_path / "again", {"tiled": ONE}, {"tiled": ONE}, harness=(ONE, ONE))
    assert compare_code(*programs).unchanged == {"tiled"}


def test_a_slowed_kernel_is_not_what_its_code_says(tmp_path: Path) -> None:
    both = {"tiled": ONE, "packed": ONE}
    code = compare_code(*builds(tmp_path, both, both), slowed={"tiled"})
    assert code.unchanged == {"packed"}


def test_without_object_files_nothing_is_unchanged(tmp_path: Path) -> None:
    code = compare_code(tmp_path / "a" / "bench" / "b", tmp_path / "c" / "bench" / "b")
    assert (code.unchanged, code.notes) == (frozenset(), ())


def test_an_object_that_is_missing_is_told_and_nothing_is_unchanged(tmp_path: Path) -> None:
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


@pytest.fixture
def gate(
    gemmwatch: Command, bench: FakeBench, roots: tuple[Path, Path], tmp_path: Path
) -> Callable[..., int]:
    """Of two builds in which only `other` differs, on one small problem."""
    kernels = {"tiled": ONE, "other": ONE, "control": ONE}
    programs = builds(tmp_path, kernels, kernels | {"other": TWO})
    bench.catalog["kernels"].append(bench.catalog["kernels"][0] | {"name": "other"})
    for problem in [p["id"] for p in bench.catalog["problems"]]:
        point = {"id": f"other/{problem}", "kernel": "other", "problem": problem}
        bench.catalog["points"].append(point)
    bench.write()
    for program in programs:
        program.write_text(f"{bench.path.read_text()}# {program}\n")
        program.chmod(0o755)

    def command(*flags: str) -> int:
        given = ("--base-build", tmp_path / "base", "--bench", programs[1])
        return gemmwatch(
            "gate", *given, "--out", tmp_path / "out", "--filter", "64x64x64", *flags
        )  # fmt: skip

    return command


def lose(bench: FakeBench, kernel: str) -> None:
    name = f"{kernel}/fp32/nn/64x64x64"
    bench.behaviour[name] = {"do": "lose", "loss": 0.3, "build": "head"}
    bench.write()


def verdicts(folder: Path) -> dict[str, str]:
    document = json.loads((folder / "out" / "verdict.json").read_text())
    return {point["id"].split("/")[0]: point["verdict"] for point in document["points"]}


def test_a_gate_is_red_for_the_kernel_that_changed(
    gate: Command, bench: FakeBench, tmp_path: Path
) -> None:
    lose(bench, "other")
    assert gate() == Exit.regression
    assert verdicts(tmp_path) == {"other": "regressed", "tiled": "same", "control": "same"}


def test_a_kernel_of_unchanged_code_is_screened_and_never_a_suspect(
    gate: Command, bench: FakeBench, tmp_path: Path
) -> None:
    lose(bench, "tiled")
    assert gate("--strict") == Exit.ok
    assert verdicts(tmp_path) == {"other": "same", "tiled": "same", "control": "same"}
    verdict = json.loads((tmp_path / "out" / "verdict.json").read_text())
    tiled = next(p for p in verdict["points"] if p["id"].startswith("tiled/"))
    assert "the same code in base and head" in tiled["reason"]
    assert not any(m["id"].startswith("tiled/") for m in verdict["confirmation"]["measured"])


def test_a_wrong_result_of_unchanged_code_is_still_wrong(
    gate: Command, bench: FakeBench, tmp_path: Path
) -> None:
    bench.misbehave("tiled/fp32/nn/64x64x64", "incorrect")
    assert gate() == Exit.incorrect


def test_a_gate_is_red_for_worse_device_code(
    gate: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    spill = Finding("sm_90 gemm::other", "accesses to local memory", "local_loads 0 -> 2")
    monkeypatch.setattr("ci.same_code._losses", lambda *_: [spill])
    assert gate() == Exit.regression
    out = tmp_path / "out"
    assert json.loads((out / "verdict.json").read_text())["resources"] == [
        {"function": spill.function, "loss": spill.loss, "changes": spill.changes}
    ]
    for text in (capsys.readouterr().out, (out / "verdict.md").read_text()):
        assert "sm_90 gemm::other" in text
        assert "so not gated: control, tiled" in text
    assert "sm_90 gemm::other" in (out / "junit.xml").read_text()
