"""`gemmwatch tune`: from a run to the table of dispatch. gemmwatch-pick is a stand-in, but for the
test that asks the real one."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from typing import Any

import pytest

from ci.bench_program import ROOT
from ci.errors import Exit
from ci.tests.conftest import FakeBench
from ci.tests.synthetic import catalog_document, run_document
from ci.tuning.choose import Rate
from ci.tuning.model import picks

Command = Callable[..., int]
ONE, TWO = "bf16/nn/1024x1024x1024", "bf16/nt/4096x4096x512"
KERNELS = ("large", "large_64x256x1", "dispatch", "control", "vendor2")
FASTER, SLOWER = [-0.10, -0.101, -0.099], [0.0, 0.001, -0.001]


@dataclass
class Tuning:
    """A run, a stand-in for the build that was measured, and the command on both."""

    folder: Path
    gemmwatch: Command
    problems: Sequence[str] = (ONE, TWO)
    series: dict[str, Sequence[float]] = field(default_factory=dict)
    model: str = "large"  # what the model picks for every problem
    environment: dict[str, str] = field(default_factory=lambda: {"commit": "c0ffee", "sms": "132"})
    device: str = "gpu"
    injected: str = ""
    harness: str = "1"

    def __call__(self, **changes: Any) -> int:
        catalog = catalog_document(KERNELS, self.problems, self.device)
        catalog["environment"], catalog["injected"] = self.environment, self.injected
        catalog["fingerprint"] |= {
            "gpu": "Test GPU",
            "driver": "580.1",
            "nvcc": "13.0.88",
            "harness": self.harness,
        }
        catalog["kernels"][KERNELS.index("dispatch")]["stage"] = "dispatch"
        document = run_document(catalog, self.series, **({"selection": "tune"} | changes))
        (self.folder / "run.json").write_text(json.dumps(document))
        program = self.folder / "build" / "kernels" / "gemmwatch-pick"
        program.parent.mkdir(parents=True, exist_ok=True)
        answer = f"sed -n 's/^problem.*/{self.model}/p' {self.folder}/asked"
        program.write_text(
            f"#!/bin/sh\ncat >{self.folder}/asked\necho >>{self.folder}/asked\n{answer}\n"
        )
        program.chmod(0o755)
        flags = ("--build", self.folder / "build", "--out", self.file)
        return self.gemmwatch("tune", self.folder / "run.json", *flags)

    @property
    def file(self) -> Path:
        return self.folder / "tuned.cpp"

    def lines(self) -> list[str]:
        """Rates, then choices, as they stand in the table."""
        text = self.file.read_text().splitlines()
        return [line.strip() for line in text if line.startswith("          ") and "," in line]


@pytest.fixture
def tune(tmp_path: Path, gemmwatch: Command) -> Tuning:
    """`large` is faster on ONE, its other tile on TWO; neither is near the other."""
    series: Mapping[str, Sequence[float]] = {
        f"large/{ONE}": FASTER,
        f"large/{TWO}": SLOWER,
        f"large_64x256x1/{ONE}": SLOWER,
        f"large_64x256x1/{TWO}": FASTER,
        f"dispatch/{ONE}": [-0.5] * 3,
        f"control/{ONE}": [0.0] * 3,
        f"vendor2/{ONE}": [-0.3] * 3,
    }
    return Tuning(tmp_path, gemmwatch, series=dict(series))


def test_each_problem_gets_the_kernel_that_was_fastest_beside_the_control(tune: Tuning) -> None:
    assert tune() == Exit.ok
    assert tune.lines()[-2:] == [
        '{bf16, nn, {1024, 1024, 1024}, "large"},',
        '{bf16, nt, {4096, 4096, 512}, "large_64x256x1"},',
    ]


def test_the_time_beside_the_control_counts_and_not_the_time_alone(tune: Tuning) -> None:
    """The device was slower while the better kernel was measured, and so was the control."""
    assert tune() == Exit.ok
    path = tune.folder / "run.json"
    document = json.loads(path.read_text())
    for row in document["benchmarks"]:
        if row["name"] == f"large/{ONE}":
            row["kernel_us"] *= 3
            row["control_us"] *= 3
    path.write_text(json.dumps(document))
    flags = ("--build", tune.folder / "build", "--out", tune.file)
    assert tune.gemmwatch("tune", path, *flags) == Exit.ok
    assert tune.lines()[-2].endswith('"large"},')


def test_a_rate_is_the_best_over_problems_and_layouts_of_the_median_trial(tune: Tuning) -> None:
    small = "bf16/nt/64x64x64"
    tune.problems = (ONE, TWO, small)
    tune.series |= {f"large/{TWO}": [0.0, 0.0, 9.0], f"large/{small}": FASTER}
    assert tune() == Exit.ok
    # 2 m n k flops in 100 us: 171.8 TFLOP/s on TWO; exp(0.1) times as many on the faster one
    assert tune.lines()[:2] == [
        '{"large", bf16, 171.8},',
        '{"large_64x256x1", bf16, 189.9},',
    ]
    asked = (tune.folder / "asked").read_text().splitlines()
    assert asked == [
        "multiprocessors 132",
        "rate large bf16 171.8",
        "rate large_64x256x1 bf16 189.9",
        f"problem {ONE}",
        f"problem {TWO}",
        f"problem {small}",
    ]


@pytest.mark.parametrize(
    ("other", "chosen"),
    [
        (
            [-0.098, -0.102, -0.094],
            "large_64x256x1",
        ),  # 0.2% behind, but now this, now that is first
        ([-0.098, -0.099, -0.097], "large"),  # 0.2% behind, in each trial
    ],
)
def test_within_the_noise_the_pick_of_the_model_is_kept(
    tune: Tuning, other: list[float], chosen: str
) -> None:
    tune.series[f"large_64x256x1/{ONE}"] = other
    tune.model = "large"
    assert tune() == Exit.ok
    assert tune.lines()[-2].endswith('"large"},'), "the fastest, which the model picks as well"
    tune.model = "large_64x256x1"
    assert tune() == Exit.ok
    assert tune.lines()[-2].endswith(f'"{chosen}"}},')


def test_neither_the_vendor_nor_dispatch_is_picked(tune: Tuning) -> None:
    """They are the fastest on ONE."""
    assert tune() == Exit.ok
    text = tune.file.read_text()
    assert not any(f'"{name}"' in text for name in ("dispatch", "control", "vendor2"))


@pytest.mark.parametrize("outcome", ["incorrect", "failed", "timed_out"])
def test_a_kernel_that_is_unsound_on_one_problem_is_picked_for_none(
    tune: Tuning, outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = f"large/{TWO}"
    del tune.series[bad]
    outcomes = dict.fromkeys(tune.series, "passed") | {bad: outcome}
    assert tune(outcomes=outcomes, reasons={bad: "3 of 9 elements differ"}) == Exit.ok
    assert '"large"' not in tune.file.read_text()
    assert f"left out: large: {outcome} at {bad}: 3 of 9" in capsys.readouterr().out


def test_a_refusal_is_no_fault(tune: Tuning) -> None:
    refused = f"large/{TWO}"
    del tune.series[refused]
    outcomes = dict.fromkeys(tune.series, "passed") | {refused: "refused"}
    assert tune(outcomes=outcomes, reasons={refused: "no"}) == Exit.ok
    assert tune.lines()[-2].endswith('"large"},')


@pytest.mark.parametrize("other", [ONE.replace("bf16", "fp16"), f"{ONE}/batch=4"])
def test_fp16_and_what_is_no_plain_product_have_no_lines(tune: Tuning, other: str) -> None:
    tune.problems = (other, ONE)
    tune.series = {f"large/{other}": FASTER, f"large/{ONE}": FASTER}
    assert tune() == Exit.ok
    assert tune.lines() == ['{"large", bf16, 23.73},', '{bf16, nn, {1024, 1024, 1024}, "large"},']
    assert other not in (tune.folder / "asked").read_text()


def test_what_is_printed(tune: Tuning, capsys: pytest.CaptureFixture[str]) -> None:
    tune.series[f"large/{ONE}"] = [log(1 / 1.25)] * 3
    tune.series[f"vendor2/{ONE}"] = [log(1 / 1.5)] * 3
    tune.series[f"large_64x256x1/{TWO}"] = [log(1 / 1.1)] * 3
    tune.series[f"large/{TWO}"] = [0.0] * 3
    assert tune() == Exit.ok
    head, one, two, *summary = capsys.readouterr().out.splitlines()
    assert head.split() == [
        *("problem", "kernel", "TFLOP/s", "×", "control", "×", "vendor2"),
        *("the", "model", "alone"),
    ]
    # 1.25 times as fast as the control, of which vendor2 is 1.5 times
    assert one.split() == [ONE, "large", "26.84", "1.250", "0.833", "large,", "+0.0%"]
    # where vendor2 was not measured; the model's pick takes 10% longer
    assert two.split() == [TWO, "large_64x256x1", "189", "1.100", "-", "large,", "+10.0%"]
    assert summary[:-1] == [
        f"bf16 nn: × control 1.250 (geometric mean of 1), worst 1.250 at {ONE}",
        f"bf16 nn: × vendor2 0.833 (geometric mean of 1), worst 0.833 at {ONE}",
        f"bf16 nt: × control 1.100 (geometric mean of 1), worst 1.100 at {TWO}",
        "the model alone loses 5.0% of the time of the fastest on average over 2 problems, "
        f"at worst 10.0% at {TWO}",
    ]
    assert summary[-1].startswith(f"{tune.file}: 2 rates, 2 choices")


def test_the_worst_of_a_group_is_named(tune: Tuning, capsys: pytest.CaptureFixture[str]) -> None:
    other = TWO.replace("nt", "nn")
    tune.problems = (other, ONE)
    tune.series = {f"large/{ONE}": [log(1 / 1.44)] * 3, f"large/{other}": [0.0] * 3}
    assert tune() == Exit.ok
    out = capsys.readouterr().out
    assert f"bf16 nn: × control 1.200 (geometric mean of 2), worst 1.000 at {other}" in out


def test_a_pick_that_was_not_measured_has_no_regret(
    tune: Tuning, capsys: pytest.CaptureFixture[str]
) -> None:
    tune.model = "none"
    assert tune() == Exit.ok
    assert "picks none, not measured here" in capsys.readouterr().out
    assert tune.lines()[-2].endswith('"large"},')


def test_the_file_says_where_it_is_from_and_not_when(tune: Tuning) -> None:
    assert tune() == Exit.ok
    text = tune.file.read_text()
    for fact in (
        "Test GPU",
        "580.1",
        "nvcc:     13.0.88",
        "commit:   c0ffee",
        "protocol: 1",
        "trials:   3",
        "gemmwatch tune",
    ):
        assert fact in text
    assert tune(finished="2027-01-02T03:14:05+00:00") == Exit.ok
    assert tune.file.read_text() == text


def source_of(tune: Tuning, problems: int) -> str:
    shapes = [f"{8 * (i + 1)}x16384x{16384 - i}" for i in range(problems)]
    tune.problems = [
        f"{p}/{layout}/{s}" for p, layout in (("fp32", "nn"), ("bf16", "nt")) for s in shapes
    ]
    tune.series = {f"large/{problem}": FASTER for problem in tune.problems}
    assert tune() == Exit.ok
    return tune.file.read_text()


@pytest.mark.parametrize("problems", [1, 2, 40])
def test_the_file_is_formatted_as_the_repository_is(tune: Tuning, problems: int) -> None:
    formatter = ROOT / ".venv-dev" / "bin" / "clang-format"
    if not formatter.exists():
        pytest.skip("scripts/check has not installed its tools here")
    text = source_of(tune, problems)
    style = f"--style=file:{ROOT / '.clang-format'}"
    done = subprocess.run(
        [formatter, style], input=text, capture_output=True, text=True, check=True
    )
    assert done.stdout == text


def test_the_file_compiles(tune: Tuning) -> None:
    source_of(tune, 3)
    command = [
        "g++",
        "-std=c++20",
        "-Wall",
        "-Werror",
        "-fsyntax-only",
        f"-I{ROOT}",
        str(tune.file),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


UNFIT: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"selection": "pr"}, "selection pr; measure `gemmwatch run --selection tune`"),
    ({"device": "host"}, {}, "a host.*measure on a GPU"),
    ({"injected": "slow:large:5%"}, {}, "slow:large:5%.*measure without it"),
    ({"harness": "1 burst"}, {}, "bursts.*measure under another --load"),
    ({}, {"filter": "large"}, "filtered.*measure without --filter"),
    ({"environment": {"commit": "abc"}}, {}, "multiprocessors"),
]


@pytest.mark.parametrize(("state", "changes", "why"), UNFIT)
def test_a_run_that_no_kernel_may_be_chosen_by_is_refused(
    tune: Tuning, state: dict[str, Any], changes: dict[str, Any], why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name, value in state.items():
        setattr(tune, name, value)
    assert tune(**changes) == Exit.bad_input
    message = capsys.readouterr().err
    assert str(tune.folder / "run.json") in message
    assert re.search(why, message)
    assert not tune.file.exists()


def test_a_run_under_sustained_load_may_choose(tune: Tuning) -> None:
    tune.harness = "1 sustained"
    assert tune() == Exit.ok


def test_two_trials_are_too_few(tune: Tuning, capsys: pytest.CaptureFixture[str]) -> None:
    tune.series = {point: values[:2] for point, values in tune.series.items()}
    assert tune() == Exit.bad_input
    assert "with --trials 3" in capsys.readouterr().err


def test_a_disturbed_run_gives_no_answer(tune: Tuning, capsys: pytest.CaptureFixture[str]) -> None:
    tune.series[f"control/{ONE}"] = [0.1] * 3
    assert tune() == Exit.no_answer
    assert "the machine was disturbed" in capsys.readouterr().err
    assert not tune.file.exists()


def test_a_run_in_which_nothing_passed_gives_no_answer(tune: Tuning) -> None:
    tune.series = {f"control/{ONE}": [0.0] * 3}
    assert tune() == Exit.no_answer
    assert not tune.file.exists()


def test_without_the_build_that_was_measured_it_says_what_to_build(
    tune: Tuning, gemmwatch: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune() == Exit.ok
    tune.file.unlink()
    flags = ("--build", tune.folder / "none", "--out", tune.file)
    assert gemmwatch("tune", tune.folder / "run.json", *flags) == Exit.bad_input
    message = capsys.readouterr().err
    assert "none/kernels/gemmwatch-pick" in message
    assert "--build DIR" in message
    assert not tune.file.exists()


def test_the_words_of_the_program_explain_why_it_does_not_answer(
    tune: Tuning, gemmwatch: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune() == Exit.ok
    program = tune.folder / "build" / "kernels" / "gemmwatch-pick"
    program.write_text("#!/bin/sh\ncat >/dev/null\necho 'no kernel is named large' >&2\nexit 2\n")
    flags = ("--build", tune.folder / "build", "--out", tune.file)
    assert gemmwatch("tune", tune.folder / "run.json", *flags) == Exit.bad_input
    assert "no kernel is named large" in capsys.readouterr().err


def test_the_real_program_understands_what_it_is_asked() -> None:
    built = [ROOT / "build" / preset for preset in ("cuda", "cpu")]
    found = [build for build in built if (build / "kernels" / "gemmwatch-pick").exists()]
    if not found:
        pytest.skip("gemmwatch-pick is not built")
    # A kernel that every build has, and that has no tile.
    problems = ["fp32/nn/64x64x64", "bf16/nt/64x64x64"]
    assert picks(found[0], 132, [Rate("cpu_tiled", "fp32", 1.5)], problems) == [None, None]


def test_tune_is_a_selection(bench: FakeBench, gemmwatch: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    flags = ("--bench", bench.path, "--out", out, "--trials", "2")
    assert gemmwatch("run", "--selection", "tune", *flags) == Exit.ok
    document = json.loads((out / "run.json").read_text())
    assert document["context"]["gemmwatch"]["selection"] == "tune"
