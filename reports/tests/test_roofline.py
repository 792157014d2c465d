"""Which limit a point is near, by arithmetic done here a second time."""

import copy
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reports.ladder import ladders
from reports.model import Measured, Performance, Problem, Sample
from reports.reading import read_measured
from reports.roofline import PEAK_MHZ, Roof, intensity, place, placement, roof
from reports.roofline_chart import roofline_picture, spread
from reports.tests.synthetic import Json, write

PEAKS = {"fp32": 60.0, "bf16": 1000.0, "bandwidth_gb_s": 4000.0}


def performance(us: float, side: int, mhz: float | None = None) -> Performance:
    """Of a square problem in bf16."""
    problem = Problem(
        id=f"bf16/nn/{side}x{side}x{side}", precision="bf16", layout="nn", groups=(),
        flops=2.0 * side**3, bytes=2.0 * 3 * side**2,
    )  # fmt: skip
    counters = {} if mhz is None else {"sm_mhz": mhz}
    return Performance(problem, (Sample(0, 0.0, us, us, counters),))


def measured(gpu: str, peaks: dict[str, float] = PEAKS) -> Measured:
    return Measured(
        source=Path("run.json"), device_note="", fingerprint={"gpu": gpu}, environment={},
        injected="", peaks=peaks, kernels=(), points=(), selection="pr", trials=1, when="now",
    )  # fmt: skip


def test_the_roof_is_the_lower_limit() -> None:
    over = Roof(peak=1000, bandwidth=4000)
    assert over.ridge == 250  # 1000e12 FLOP/s over 4000e9 byte/s
    assert over.at(100) == pytest.approx(400)
    assert over.at(250) == over.at(10_000) == 1000


@pytest.mark.parametrize(
    ("side", "share", "bound"),
    [
        # 4096^3 in bf16 has 1365 FLOP/byte, right of the ridge; 256^3 has 85, left of it.
        (4096, 0.61, "compute"),
        (4096, 0.59, "latency"),
        (256, 0.61, "memory"),
        (256, 0.59, "latency"),
    ],
)
def test_a_point_is_bound_by_the_limit_that_it_is_near(side: int, share: float, bound: str) -> None:
    flops, moved = 2.0 * side**3, 6.0 * side**2
    least_s = max(flops / 1000e12, moved / 4000e9)
    at = place(performance(least_s / share * 1e6, side), Roof(1000, 4000))
    assert at.share == pytest.approx(share)
    assert at.bound == bound
    assert intensity(performance(1, side).problem) == pytest.approx(side / 3)


def test_arithmetic_is_that_of_the_measured_clock_and_memory_is_not() -> None:
    card = measured("NVIDIA H200")
    assert roof(card, "bf16") == Roof(1000, 4000)
    slow = roof(card, "bf16", PEAK_MHZ["NVIDIA H200"]["bf16"] / 2)
    assert slow == Roof(500, 4000, mhz=915)
    at = placement(card, performance(2.0 * 4096**3 / 450e12 * 1e6, 4096, mhz=915))
    assert at
    assert at.compute_share == pytest.approx(0.9)
    assert at.bound == "compute"


def test_a_card_of_unknown_clock_is_held_to_the_data_sheet() -> None:
    assert roof(measured("Another GPU"), "bf16", 915) == Roof(1000, 4000)
    assert roof(measured("NVIDIA H200"), "bf16", None) == Roof(1000, 4000)


@pytest.mark.parametrize("lacking", ["bf16", "bandwidth_gb_s"])
def test_without_a_peak_nothing_is_classified(lacking: str) -> None:
    peaks = {name: value for name, value in PEAKS.items() if name != lacking}
    assert placement(measured("NVIDIA H200", peaks), performance(1, 64)) is None


def test_the_clocks_agree_with_the_peaks_of_the_data_sheet() -> None:
    """SMs x FMAs a cycle x 2 x clock, and the rates of the data sheet for the SXM part."""
    fmas = {"fp32": 128, "tf32": 1024, "fp16": 2048, "bf16": 2048}
    rates = {"fp32": 66.9, "tf32": 494.7, "fp16": 989.4, "bf16": 989.4}
    for precision, mhz in PEAK_MHZ["NVIDIA H200"].items():
        rate = 132 * fmas[precision] * 2 * mhz * 1e-6
        assert rate == pytest.approx(rates[precision], rel=1e-3), precision


def test_the_figure_names_every_rung_and_both_roofs(tmp_path: Path, gpu_run: Json) -> None:
    run = copy.deepcopy(gpu_run)
    run["context"]["gemmwatch"]["catalog"]["fingerprint"]["gpu"] = "NVIDIA H200"
    for row in run["benchmarks"]:
        row["sm_mhz"] = 990.0  # half the clock of the data sheet's rate in FP32
    card = read_measured(write(tmp_path / "run.json", run))
    (ladder,) = (one for one in ladders(card) if one.precision == "fp32")
    drawn = roofline_picture(card, ladder)
    assert drawn
    texts = {"".join(one.itertext()) for one in ElementTree.fromstring(drawn.svg).iter()
             if one.tag.endswith("}text")}  # fmt: skip
    assert "peak 67.0; at 990 MHz 33.5" in texts
    assert {rung.kernel.name for rung in ladder.rungs if rung.performance} <= texts


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ([2.0, 5.0], [2.0, 5.0]),
        ([2.0, 2.1, 2.2], [2.0, 3.0, 4.0]),
        ([9.5, 9.6, 9.7], [7.5, 8.5, 9.5]),
        ([0.0, 9.9], [0.5, 9.5]),
    ],
)
def test_names_keep_their_distance_and_stay_inside(
    wanted: list[float], places: list[float]
) -> None:
    assert spread(wanted, gap=1.0, low=0.5, high=9.5) == pytest.approx(places)
