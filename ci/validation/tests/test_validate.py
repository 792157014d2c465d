"""Two records with a known difference: what is concluded from it."""

from __future__ import annotations

import json
from dataclasses import replace
from math import exp
from pathlib import Path

import numpy as np
import pytest

from ci.errors import BadInput, Exit
from ci.policy import COMMON_LIMIT, GPU
from ci.records import Outcome, PointSamples
from ci.resources.ratchet import Finding
from ci.resources.tests.conftest import function, resources
from ci.tests.synthetic import catalog_document, run_document
from ci.validation.answer import answer_text
from ci.validation.cause import causes
from ci.validation.compare import Safety, Validation, validate
from ci.validation.record import (
    MachineRecord,
    PointRecord,
    load_record,
    record_of,
    write_record,
)

OURS = [f"tiled/bf16/nt/{n}x{n}x{n}" for n in (1024, 2048, 4096)]
LIBRARY = [f"cublas/bf16/nt/{n}x{n}x{n}" for n in (1024, 2048, 4096)]
TRIALS = 10
SPREAD = np.linspace(-0.002, 0.002, TRIALS)


def point(kernel_us: float, control_us: float = 100.0, mhz: float = 1700.0) -> PointRecord:
    times = kernel_us * np.exp(SPREAD), np.full(TRIALS, control_us)
    return PointRecord(
        samples=PointSamples(np.log(times[0] / times[1]), *times),
        digests=list(range(TRIALS)),
        sm_mhz=[mhz] * TRIALS,
        bound_share=0.2,
        dispatch="",
    )


def record(**changes: object) -> MachineRecord:
    points = {**{p: point(200.0) for p in OURS}, **{p: point(100.0) for p in LIBRARY}}
    fields: dict[str, object] = {
        "label": "machine.json", "recorded": "2026-01-02T03:04:05+00:00", "selection": "pr",
        "trials": TRIALS, "program": "aa", "toolkit": "13.0.88", "vendor": frozenset({"cublas"}),
        "fingerprint": {"device": "gpu", "gpu": "NVIDIA H200", "driver": "580", "cublas": "13.0"},
        "environment": {"gpu_uuid": "GPU-1", "ecc": "on"}, "code": {"tiled": "cc"},
        "points": points, "outcomes": dict.fromkeys(points, Outcome.passed), "reasons": {},
    }  # fmt: skip
    return MachineRecord(**(fields | changes))  # type: ignore[arg-type]


def moved(old: MachineRecord, **facts: str) -> MachineRecord:
    return replace(old, fingerprint={**old.fingerprint, **facts}, label="new.json")


def with_points(old: MachineRecord, points: dict[str, PointRecord]) -> MachineRecord:
    return replace(old, points={**old.points, **points})


def judged(old: MachineRecord, new: MachineRecord) -> Validation:
    return validate(old, new, GPU)


def test_a_new_driver_that_changes_nothing_is_safe() -> None:
    v = judged(record(), moved(record(), driver="590"))
    assert (v.safety, v.exit_code) == (Safety.safe, Exit.ok)
    assert v.facts == ["driver: 580 -> 590"]
    assert causes(v, GPU) == []
    assert "3 as before" in answer_text(v, GPU)


def test_another_card_of_the_model_is_no_change() -> None:
    other = replace(record(), environment={"gpu_uuid": "GPU-2", "ecc": "on"})
    assert judged(record(), other).facts == []


def test_our_kernels_slower_under_a_new_driver_is_the_driver() -> None:
    slow = with_points(moved(record(), driver="590"), {OURS[0]: point(220.0)})
    v = judged(record(), slow)
    assert (v.safety, v.exit_code) == (Safety.not_safe, Exit.regression)
    (item,) = v.moved
    assert (item.id, item.who) == (OURS[0], "kernel")
    assert item.change == pytest.approx(0.10, abs=0.001)
    (cause,) = causes(v, GPU)
    assert cause.startswith("driver: driver: 580 -> 590")


def test_a_slower_library_is_told_from_faster_kernels() -> None:
    """The ratio says that our kernels gained 10%; the cycles say that the control lost it."""
    slow = {p: point(200.0, control_us=110.0) for p in OURS}
    v = judged(record(), with_points(moved(record(), cublas="13.1"), slow))
    assert {(m.who, round(m.change, 3)) for m in v.moved} == {("control", 0.1)}
    assert v.safety is Safety.not_safe
    (cause,) = causes(v, GPU)
    assert cause.startswith("library: cublas: 13.0 -> 13.1")
    assert "3 changed speed while our kernels kept theirs" in cause


def test_a_faster_library_is_safe_and_told() -> None:
    fast = {p: point(200.0, control_us=90.0) for p in OURS}
    v = judged(record(), with_points(moved(record(), cublas="13.1"), fast))
    assert v.safety is Safety.safe
    assert all(m.who == "control" and m.change < 0 for m in v.moved)


def test_a_lower_clock_is_told_and_not_put_down_to_kernels() -> None:
    """Times rise by 4%, cycles do not: everything is as before, but the clock."""
    slow = {p: point(208.0, control_us=104.0, mhz=1700 / 1.04) for p in OURS}
    slow |= {p: point(104.0, control_us=104.0, mhz=1700 / 1.04) for p in LIBRARY}
    v = judged(record(), with_points(moved(record(), power_limit_w="600"), slow))
    assert v.moved == []
    assert v.clock == pytest.approx(1 / 1.04 - 1)
    (cause,) = causes(v, GPU)
    assert cause.startswith("clocks: the SM clock moved by -3.8%, power_limit_w: not told -> 600")


def test_everything_slower_together_is_not_hidden_by_ratios() -> None:
    factor = 1 + COMMON_LIMIT + 0.02
    slow = {p: point(200 * factor, control_us=100 * factor) for p in OURS}
    v = judged(record(), with_points(moved(record(), driver="590"), slow))
    assert v.moved == []
    assert v.common == pytest.approx(factor - 1)
    assert v.safety is Safety.not_safe


def test_a_wrong_result_outweighs_all() -> None:
    new = moved(record(), driver="590")
    points = {name: p for name, p in new.points.items() if name != LIBRARY[0]}
    wrong = {**new.outcomes, LIBRARY[0]: Outcome.incorrect}
    v = judged(record(), replace(new, points=points, outcomes=wrong))
    assert v.exit_code == Exit.incorrect
    assert v.incorrect == [LIBRARY[0]]
    assert f"gemmwatch-check '{LIBRARY[0]}'" in answer_text(v, GPU)


@pytest.mark.parametrize("end", [Outcome.failed, Outcome.timed_out, None])
def test_a_point_without_a_result_is_not_safe(end: Outcome | None) -> None:
    new = moved(record(), driver="590")
    outcomes = {name: o for name, o in new.outcomes.items() if name != OURS[0]}
    if end:
        outcomes[OURS[0]] = end
    points = {name: p for name, p in new.points.items() if name != OURS[0]}
    v = judged(record(), replace(new, points=points, outcomes=outcomes))
    assert (v.safety, v.lost) == (Safety.not_safe, [OURS[0]])


def test_other_bits_from_the_same_code_are_not_safe() -> None:
    other = replace(point(200.0), digests=[99, *range(1, TRIALS)])
    v = judged(record(), with_points(moved(record(), driver="590"), {OURS[1]: other}))
    assert (v.safety, v.bits) == (Safety.not_safe, [OURS[1]])


def test_other_bits_from_the_library_are_its_own_affair() -> None:
    other = replace(point(100.0), digests=[99] * TRIALS)
    v = judged(record(), with_points(moved(record(), cublas="13.1"), {LIBRARY[1]: other}))
    assert (v.safety, v.bits) == (Safety.safe, [])
    assert "5 of 6 the same bit for bit" in answer_text(v, GPU)


def test_another_toolkit_may_change_code_bits_and_speed_and_is_the_cause() -> None:
    new = replace(moved(record()), program="bb", toolkit="13.1.2", code={"tiled": "dd"})
    slow = replace(point(220.0), digests=[99] * TRIALS)
    v = judged(record(), with_points(new, {OURS[0]: slow}))
    assert v.bits == []
    assert v.safety is Safety.not_safe
    (cause,) = causes(v, GPU)
    assert cause.startswith("toolkit: nvcc 13.0.88 -> 13.1.2; 1 points")


def test_worse_device_code_is_not_safe() -> None:
    new = replace(moved(record()), program="bb", toolkit="13.1.2", code={"tiled": "dd"})
    spill = Finding("sm_90 tiled", "accesses to local memory", "local_stores 0 -> 2")
    v = validate(record(), new, GPU, [spill, Finding("sm_90 other", "", "new")])
    assert v.safety is Safety.not_safe
    assert v.resources == [spill]


def test_code_that_differs_under_one_toolkit_is_not_comparable() -> None:
    new = replace(record(), program="bb", code={"tiled": "dd"})
    v = judged(record(), new)
    assert v.exit_code == Exit.no_answer
    assert "that compares commits" in v.obstacles[0]


def test_a_rebuilt_program_of_the_same_kernels_is_comparable() -> None:
    assert judged(record(), replace(record(), program="bb")).safety is Safety.safe


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"fingerprint": {**record().fingerprint, "gpu": "NVIDIA H100"}}, "gpu"),
        ({"environment": {"mig": "on"}}, "mig"),
        ({"points": {}, "outcomes": {}}, "no point in common"),
        ({"trials": 2}, "trials"),
    ],
)
def test_what_makes_records_incomparable(changed: dict[str, object], words: str) -> None:
    v = judged(record(), replace(record(), **changed))  # type: ignore[arg-type]
    assert v.exit_code == Exit.no_answer
    assert words in " ".join(v.obstacles)
    assert "NOT COMPARABLE" in answer_text(v, GPU)


def test_a_library_that_chose_otherwise_is_listed() -> None:
    old = with_points(record(), {LIBRARY[0]: replace(point(100.0), dispatch="kernel_128x128")})
    new = with_points(old, {LIBRARY[0]: replace(point(100.0), dispatch="kernel_256x128")})
    v = judged(old, moved(new, cublas="13.1"))
    assert v.dispatch == [f"{LIBRARY[0]}: kernel_128x128 -> kernel_256x128"]
    assert v.safety is Safety.safe


def test_a_less_accurate_library_is_told() -> None:
    worse = replace(point(100.0), bound_share=0.5)
    v = judged(record(), with_points(moved(record(), cublas="13.1"), {LIBRARY[2]: worse}))
    assert v.accuracy == [f"{LIBRARY[2]}: 20% -> 50% of the allowed deviation"]


def test_noise_that_hides_all_is_no_answer() -> None:
    wild = np.exp(np.linspace(-1, 1, TRIALS))
    noisy = {
        p: replace(point(200.0), samples=PointSamples(np.log(2 * wild), 200 * wild, 100 + 0 * wild))
        for p in OURS
    }
    v = judged(with_points(record(), noisy), with_points(moved(record(), driver="590"), noisy))
    assert v.exit_code == Exit.no_answer
    assert "3 of 3 points could not be decided" in answer_text(v, GPU)


def test_a_disturbed_record_makes_nothing_safe() -> None:
    hot = replace(record(), doubts=["the device was throttled"])
    for v in (judged(hot, record()), judged(record(), hot)):
        assert v.exit_code == Exit.no_answer
        assert "the device was throttled" in answer_text(v, GPU)


def test_the_answer_fits_a_screen_however_much_moved() -> None:
    slow = {p: replace(point(300.0, mhz=1000), digests=[9] * TRIALS) for p in OURS}
    facts = {f"fact{i}": str(i) for i in range(40)}
    v = judged(record(), with_points(moved(record(), **facts), slow))
    lines = answer_text(v, GPU).splitlines()
    assert len(lines) < 40
    assert max(map(len, lines)) < 160


@pytest.mark.parametrize(
    ("environment", "jit"),
    [
        ({"compute_capability": "9.0"}, "no"),
        ({"compute_capability": "9.0", "cuda_force_ptx_jit": "1"}, "yes"),
        ({"compute_capability": "10.0"}, "yes"),  # no machine code for it: it begins with PTX
        ({}, None),
    ],
)
def test_a_record_says_whether_the_driver_compiles_ptx(
    tmp_path: Path, environment: dict[str, str], jit: str | None
) -> None:
    catalog = catalog_document()
    catalog["environment"] |= environment
    run = tmp_path / "run.json"
    run.write_text(json.dumps(run_document(catalog, {"tiled/fp32/nn/64x64x64": [0.1] * 5})))
    made = record_of(run, resources([function()]), "aa")
    assert made.environment.get("ptx_jit") == jit


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    write_record(record(), path)
    again = load_record(path)
    assert again.points[OURS[0]].samples.kernel_us == pytest.approx(200 * np.exp(SPREAD), rel=1e-4)
    assert judged(record(), again).safety is Safety.safe
    assert replace(again, points={}, label="") == replace(record(), points={}, label="")
    assert list(again.points) == list(record().points)
    assert again.points[OURS[0]].digests == list(range(TRIALS))


def test_a_digest_keeps_all_its_bits(tmp_path: Path) -> None:
    large = 2**53 - 1
    write_record(
        with_points(record(), {OURS[0]: replace(point(1.0), digests=[large])}), tmp_path / "m.json"
    )
    assert load_record(tmp_path / "m.json").points[OURS[0]].digests == [large]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kernel_us": [0.0] * TRIALS},  # no launch takes no time
        {"log_ratio": [0.1]},
        {"log_ratio": [], "kernel_us": [], "control_us": []},
        {"sm_mhz": [0.0] * TRIALS},
    ],
)
def test_samples_that_no_trial_can_have_given_are_named(
    tmp_path: Path, wrong: dict[str, list[float]]
) -> None:
    path = tmp_path / "machine.json"
    write_record(record(), path)
    document = json.loads(path.read_text())
    document["points"][OURS[0]] |= wrong
    path.write_text(json.dumps(document))
    with pytest.raises(BadInput, match=OURS[0]):
        load_record(path)


@pytest.mark.parametrize("text", ["", "{", "{}", '{"schema": 1, "kind": "gemmwatch-baseline"}'])
def test_another_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "machine.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"machine\.json"):
        load_record(path)


def test_the_effect_is_the_ratio_of_cycles() -> None:
    """10% more time at a clock 10% lower is no change of a kernel."""
    slow = {p: point(200 * exp(0.1), control_us=100.0, mhz=1700 * exp(-0.1)) for p in OURS}
    v = judged(record(), with_points(moved(record(), driver="590"), slow))
    assert {m.who for m in v.moved} == {"control"}  # in cycles, the control gained
