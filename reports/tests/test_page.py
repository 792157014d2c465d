"""What stands on the page of a run."""

import copy
import re
from collections.abc import Callable, Iterator
from math import exp, log
from pathlib import Path
from statistics import median

import pytest

from reports.page import report_files
from reports.reading import read_measured
from reports.tests import synthetic
from reports.tests.html_reader import Page, read_page
from reports.tests.synthetic import Json, write
from reports.verdict import read_verdict


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def files(folder: Path, gpu_run: Json) -> dict[str, bytes]:
    run = write(folder / "run.json", gpu_run)
    verdict = write(folder / "verdict.json", synthetic.verdict(gpu_run))
    return report_files(read_measured(run), read_verdict(verdict))


@pytest.fixture(scope="module")
def page(files: dict[str, bytes]) -> Page:
    return read_page(files["index.html"].decode())


def samples(run: Json, point_id: str, counter: str) -> list[float]:
    return [row[counter] for row in run["benchmarks"] if row["name"] == point_id and counter in row]


def host_page(tmp_path: Path, run: Json, verdict: Json | None = None) -> Page:
    measured = read_measured(write(tmp_path / "run.json", run))
    read = read_verdict(write(tmp_path / "verdict.json", verdict)) if verdict else None
    return read_page(report_files(measured, read)["index.html"].decode())


def test_sections_come_in_the_reader_s_order(page: Page) -> None:
    assert page.headings == [
        "GEMM kernels on Synthetic GPU",
        "Ladder", "Roofline", "Map", "Verdict", "Figures", "Without a time", "Machine",
    ]  # fmt: skip


def test_page_needs_nothing_from_outside(files: dict[str, bytes], page: Page) -> None:
    references = page.references()
    assert len(references) > 6
    assert all(one.startswith(("data:image/svg+xml;base64,", "#")) for one in references)
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in page.tags}
    assert "url(" not in files["index.html"].decode()
    assert "@import" not in files["index.html"].decode()


def test_page_fits_a_phone_and_the_dark(files: dict[str, bytes], page: Page) -> None:
    viewports = [a["content"] for tag, a in page.tags if tag == "meta" and a.get("name")]
    assert viewports == ["width=device-width, initial-scale=1"]
    assert "@media (prefers-color-scheme: dark)" in files["index.html"].decode()
    images = [a for tag, a in page.tags if tag == "img"]
    dark = [a for tag, a in page.tags if tag == "source"]
    assert len(images) == len(dark) == 6
    assert {one["media"] for one in dark} == {"(prefers-color-scheme: dark)"}
    assert all(len(one["alt"]) > 20 for one in images)


def test_every_table_and_figure_scrolls_by_itself(files: dict[str, bytes]) -> None:
    html = files["index.html"].decode()
    assert html.count("<table") == html.count('tabindex="0"><table') > 6
    assert html.count("<figure") == html.count('<figure class="scroll">') == 6


def test_anchors_lead_somewhere(page: Page) -> None:
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    targets = {one[1:] for one in page.references() if one.startswith("#")}
    assert targets == ids


def test_each_figure_is_also_a_file(files: dict[str, bytes]) -> None:
    stems = {name.removesuffix(".png") for name in files if name.endswith(".png")}
    assert {"figures/ladder-fp32", "figures/roofline-fp32", "figures/map-1-fp32"} <= stems
    wanted = {f"{stem}{end}" for stem in stems for end in (".svg", "-dark.svg", ".png")}
    assert set(files) == wanted | {"index.html"}


def test_every_point_is_on_the_page(gpu_run: Json, page: Page) -> None:
    outcomes = gpu_run["context"]["gemmwatch"]["outcomes"]
    assert set(outcomes.values()) == {"passed", "incorrect", "refused", "failed", "timed_out"}
    first_cells = {row[0] for row in page.rows if row}
    assert {name for name, outcome in outcomes.items() if outcome == "passed"} <= first_cells
    reasons = gpu_run["context"]["gemmwatch"]["reasons"]
    for point_id, outcome in outcomes.items():
        if outcome != "passed":
            kernel, problem_id = point_id.split("/", 1)
            row = page.row(outcome.replace("_", " "), kernel, reasons[point_id])
            assert problem_id in row[3]


def test_points_without_a_time_have_no_numbers(gpu_run: Json, page: Page) -> None:
    outcomes = gpu_run["context"]["gemmwatch"]["outcomes"]
    untimed = {name for name, outcome in outcomes.items() if outcome != "passed"}
    timed_table = [row for row in page.rows if row and row[0] in outcomes]
    assert timed_table
    assert not untimed & {row[0] for row in timed_table}


def test_numbers_of_a_point_follow_from_its_rows(gpu_run: Json, page: Page) -> None:
    point_id = "wgmma_pingpong/bf16/nn/4096x4096x4096"
    micros = median(samples(gpu_run, point_id, "kernel_us"))
    row = page.row(point_id)
    assert row[1] == f"{micros:.0f}"
    assert row[2] == f"{2 * 4096**3 / micros / 1e6:.0f}"
    assert row[3] == f"{2 * 3 * 4096**2 / micros / 1e3:.0f}"
    assert row[5] == f"{exp(-median(samples(gpu_run, point_id, 'log_ratio'))):.2f}"


def test_bound_of_a_point_follows_from_its_time_and_the_peaks(gpu_run: Json, page: Page) -> None:
    point_id = "warp_tiled/fp32/nn/4096x4096x4096"
    micros = median(samples(gpu_run, point_id, "kernel_us"))
    share = 2 * 4096**3 / micros / 1e6 / 67
    assert 0.6 < share < 1
    assert page.row(point_id)[-2:] == [f"{100 * share:.0f}%", "compute"]
    assert page.row("naive/fp32/nn/4096x4096x4096")[-1] == "latency"
    bandwidth = 4 * 3 * 4096**2 / micros / 1e3
    assert ["warp_tiled", f"{100 * share:.0f}%", f"{bandwidth:.1f}", "compute"] in [
        row[:4] for row in page.rows
    ]


def test_score_takes_the_fastest_own_kernel_and_the_best_vendor(gpu_run: Json, page: Page) -> None:
    problem_id = "fp32/nn/4096x4096x4096"
    kernels = {kernel["name"]: kernel for kernel in synthetic_kernels(gpu_run)}
    speeds = {
        name: exp(-median(values))
        for name in kernels
        if (values := samples(gpu_run, f"{name}/{problem_id}", "log_ratio"))
    }
    own = {name: speed for name, speed in speeds.items() if not kernels[name]["vendor"]}
    best = max(own, key=lambda name: own[name])
    row = page.row(problem_id)
    assert row[1] == best
    assert row[9] == f"{own[best]:.2f}"
    assert row[10] == "cublaslt_best"
    assert row[11] == f"{own[best] / max(1.0, speeds['cublaslt_best']):.2f}"


def synthetic_kernels(run: Json) -> list[Json]:
    kernels = run["context"]["gemmwatch"]["catalog"]["kernels"]
    assert isinstance(kernels, list)
    return kernels


def test_ladder_table_has_every_rung_and_its_step(gpu_run: Json, page: Page) -> None:
    def speed(kernel: str) -> float:
        return exp(-median(samples(gpu_run, f"{kernel}/fp32/nn/4096x4096x4096", "log_ratio")))

    (row,) = [row for row in page.rows if row[:1] == ["coalesced"] and "×" in row[3]]
    assert row[2] == f"{speed('coalesced'):.2f}"
    assert row[3] == f"×{speed('coalesced') / speed('naive'):.2f}"
    assert row[-1] == "neighbouring threads read neighbouring addresses"
    assert ["mma_pipelined", "", "incorrect"] in [row[:3] for row in page.rows]


def test_group_score_is_the_geometric_mean(tmp_path: Path) -> None:
    machine = synthetic.host()
    machine.planted = {}
    machine.problems = machine.problems[:4]
    run = synthetic.run(machine, trials=1)
    wanted = {"128x128x128": 2.0, "256x256x256": 0.5, "37x61x53/pad=3.0.8": 1.331}
    for row in run["benchmarks"]:
        for problem, speed in wanted.items():
            if row["name"] == f"cpu_packed/fp32/nn/{problem}":
                row["log_ratio"] = -log(speed)
    row = host_page(tmp_path, run).row("square", "fp32")
    assert row == ["square", "fp32", "3", "1.10", "1.10", "2 of 3"]


def test_verdict_is_told_worst_first(tmp_path: Path, small_run: Json) -> None:
    verdict = synthetic.verdict(small_run)
    verdict["points"].append({"id": "cpu_tiled/fp32/nn/37x61x53/pad=3.0.8", "verdict": "incorrect",
                              "reason": "C is wrong", "fails": True})  # fmt: skip
    page = host_page(tmp_path, small_run, verdict)
    assert "Regression" in page.text
    assert "baseline of 2000-01-02, 12 days old" in page.text
    assert "an invented note" in page.text
    order = [row[0] for row in page.rows if len(row) == 8 and row[1].count("/") >= 3]
    ranks = ["incorrect", "missing", "regressed", "incomparable", "inconclusive", "new", "improved"]
    assert order[:7] == ranks
    assert set(order[7:]) == {"same"}
    regressed = next(row for row in page.rows if row[0] == "regressed" and "/" in row[1])
    assert regressed[2:] == ["an invented reason for regressed", "+6.2%", "+5.4% to +7.0%",
                             "100", "106", "+1.5%"]  # fmt: skip
    assert page.row("tau_fail") == ["tau_fail", "0.02"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("pass", "The gate found no regression."),
        ("incorrect", "At least one kernel computed a wrong result."),
        ("untrusted", "The gate could not decide: this is not a pass."),
    ],
)
def test_answer_in_words(tmp_path: Path, small_run: Json, answer: str, words: str) -> None:
    verdict = read_verdict(write(tmp_path / "v.json", synthetic.verdict(small_run, answer)))
    assert verdict.sentence == words


def test_planted_change_is_announced(tmp_path: Path, small_run: Json) -> None:
    run = copy.deepcopy(small_run)
    run["context"]["gemmwatch"]["catalog"]["injected"] = "slow:cpu_tiled:5%"
    text = host_page(tmp_path, run).text
    assert "Not a true measurement" in text
    assert "slow:cpu_tiled:5%" in text


def test_machine_and_telemetry(gpu_run: Json, page: Page) -> None:
    for table in ("fingerprint", "environment"):
        for name, value in gpu_run["context"]["gemmwatch"]["catalog"][table].items():
            assert [name, value] in page.rows
    clocks = [
        row["sm_mhz"]
        for row in gpu_run["benchmarks"]
        if row["repetition_index"] == 1 and "sm_mhz" in row
    ]
    header = next(row for row in page.rows if row[0] == "trial")
    assert header[2:4] == ["SM clock, MHz", "memory clock, MHz"]
    trial = page.row("1", str(len(clocks)))
    seen = [float(number) for number in trial[2].split("·")]
    assert seen == [round(min(clocks)), round(median(clocks)), round(max(clocks))]


HOSTILE = "<script>alert('x')</script><img src=http://evil.example/x onerror=y>\"&"


def strings(value: object) -> Iterator[tuple[Json, str]]:
    """Every place in a document that holds a free string."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str):
                yield value, key
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def test_hostile_words_are_shown_and_not_obeyed(tmp_path: Path, small_run: Json) -> None:
    run = copy.deepcopy(small_run)
    meta = run["context"]["gemmwatch"]
    catalog = meta["catalog"]
    free = [meta["reasons"], catalog["environment"], catalog["fingerprint"]]
    for texts in free:
        texts.update(dict.fromkeys(texts, HOSTILE))
    catalog["device_note"] = catalog["injected"] = meta["selection"] = HOSTILE
    for kernel in catalog["kernels"]:
        kernel["idea"] = kernel["title"] = HOSTILE
    verdict = synthetic.verdict(run)
    for place, key in list(strings([verdict["points"], verdict["families"], verdict["base"]])):
        if key in ("id", "reason", "label"):
            place[key] = HOSTILE
    verdict["notes"] = verdict["doubts"] = [HOSTILE]
    verdict["policy"] = {HOSTILE: HOSTILE}
    page = host_page(tmp_path, run, verdict)
    assert page.text.count(HOSTILE) > 20
    assert "script" not in {tag for tag, _ in page.tags}
    assert not [one for one in page.references() if "evil" in one]
    assert not [a for _, a in page.tags if "onerror" in a]


def test_same_input_gives_the_same_bytes(
    tmp_path: Path, small_run: Json, gemmwatch: Callable[..., int]
) -> None:
    run_file = write(tmp_path / "run.json", small_run)
    assert gemmwatch("report", run_file, "--out", tmp_path / "one") == 0
    assert gemmwatch("report", run_file, "--out", tmp_path / "two") == 0
    first, second = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path / "one", tmp_path / "two")
    )
    assert len(first) > 6
    assert first == second
    svg = first[Path("figures/ladder-fp32.svg")].decode()
    assert not re.search(r"<dc:date>|20[2-9]\d-", svg)


def sustained() -> Json:
    """A few points of the GPU, whose joules the load measures."""
    machine = synthetic.gpu()
    machine.fingerprint["harness"] = "1 sustained"
    machine.problems = [one for one in machine.problems if one[0] == "bf16/nn/4096x4096x4096"]
    machine.planted = {}
    return synthetic.run(machine, trials=3)


def test_joules_of_a_sustained_run_stand_beside_the_times(tmp_path: Path) -> None:
    run = sustained()
    page = host_page(tmp_path, run)
    problem_id = "bf16/nn/4096x4096x4096"
    point_id = f"wgmma_tma/{problem_id}"
    joules, control = (
        samples(run, point_id, f"{who}_joules") for who in ("kernel", "control")
    )  # fmt: skip
    header = next(row for row in page.rows if row[0] == "point")
    row = page.row(point_id)
    assert row[header.index("J a launch")] == f"{median(joules):.3f}"
    assert row[header.index("control, J a launch")] == f"{median(control):.3f}"
    best = page.row(problem_id)[1]
    joules, control = (
        samples(run, f"{best}/{problem_id}", f"{who}_joules") for who in ("kernel", "control")
    )
    ratio = f"{median(one / other for one, other in zip(joules, control, strict=True)):.2f}"
    assert page.row(problem_id)[-2:] == [f"{median(joules):.3f}", ratio]
    assert page.row("square", "bf16")[-2] == ratio
    assert "under the load sustained" in " ".join(page.text.split())


def test_a_counter_of_energy_that_stood_still_gives_no_ratio(tmp_path: Path) -> None:
    run = sustained()
    for row in run["benchmarks"]:
        row |= {"kernel_joules": 0.0, "control_joules": 0.0}
    assert "× control's" not in host_page(tmp_path, run).text


def test_a_run_without_joules_shows_none(page: Page) -> None:
    """What the GPU drew during a point's rounds, the control's included, is not a launch's."""
    assert "J a launch" not in page.text
    assert "joules" not in page.text.lower()
    assert "under the load" not in page.text
