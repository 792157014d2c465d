"""One self-contained page about a run: the template is filled here, and decides nothing."""

from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reports import units
from reports.files import ReportError
from reports.ladder import ladders
from reports.ladder_chart import ladder_picture
from reports.lesson_chart import lessons_picture
from reports.lesson_table import Table, lesson_table
from reports.lessons import measured_lessons
from reports.map_chart import map_picture, panels
from reports.model import Lesson, Measured, Point
from reports.reading import OUTCOMES
from reports.resources import Function, of_kernels
from reports.roofline import NEAR, placement
from reports.roofline_chart import roofline_picture
from reports.scoreboard import group_scores, problem_order, scores
from reports.style import Picture
from reports.telemetry import SECONDS, SHARES, SPREADS, trials
from reports.unmeasured import unmeasured
from reports.verdict import Verdict

TEMPLATES = Path(__file__).parent / "templates"
POINT_COUNTERS = {"sm_mhz": "SM, MHz", "power_w": "W", "kernel_joules": "J a launch",
                  "control_joules": "control, J a launch"}  # fmt: skip
FIGURES = "figures"


@dataclass(frozen=True)
class Drawn:
    """Something together with its picture."""

    of: object
    picture: Picture


@dataclass(frozen=True)
class Told:
    """A lesson with its table."""

    lesson: Lesson
    table: Table


def report_files(
    measured: Measured, verdict: Verdict | None, functions: Sequence[Function] = ()
) -> dict[str, bytes]:
    """The page and its figures, by path inside the report's folder."""
    if not measured.points:
        raise ReportError(
            f"{measured.source}: holds no point; measure a selection that is not empty"
        )
    if verdict and verdict.head_fingerprint != measured.fingerprint:
        raise ReportError(
            f"{measured.source}: the verdict is about another machine or build; "
            "give the verdict that `gemmwatch gate` wrote for this run"
        )
    climbed = ladders(measured)
    drawn_ladders = [Drawn(one, ladder_picture(measured, one)) for one in climbed]
    drawn_rooflines = [
        Drawn(one, picture) for one in climbed if (picture := roofline_picture(measured, one))
    ]
    drawn_panels = [
        Drawn(panel, map_picture(measured, panel, f"map-{number}-{panel.precision}"))
        for number, panel in enumerate(panels(measured), start=1)
    ]
    resources = of_kernels(functions, measured.kernels)
    spoiled = {kernel.name for kernel in measured.kernels if measured.spoiled(kernel)}
    lessons = measured_lessons(measured)
    drawn_lessons = lessons_picture(lessons) if lessons else None
    page = (
        environment()
        .get_template("page.html.j2")
        .render(
            _facts(measured),
            ladders=drawn_ladders,
            rooflines=drawn_rooflines,
            panels=drawn_panels,
            verdict=verdict,
            resources=[one for one in resources if one.kernel not in spoiled],
            lessons=[Told(one.lesson, lesson_table(measured, one, resources)) for one in lessons],
            lessons_picture=drawn_lessons,
        )
    )
    files = {"index.html": page.encode()}
    pictures = [drawn.picture for drawn in [*drawn_ladders, *drawn_rooflines, *drawn_panels]]
    for picture in [*pictures, *([drawn_lessons] if drawn_lessons else [])]:
        for name, content in picture.files().items():
            files[f"{FIGURES}/{name}"] = content
    return files


def environment(*more: Path) -> Environment:
    """Where templates are found: in the folders named, then in that of all reports."""
    made = Environment(
        loader=FileSystemLoader([*more, TEMPLATES]), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters["data_uri"] = _data_uri
    made.filters["spaced"] = lambda name: name.replace("_", " ")
    made.globals.update(
        count=units.count,
        significant=units.significant,
        ratio=units.ratio,
        percent=units.percent,
        signed_percent=units.signed_percent,
    )
    return made


def _data_uri(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{b64encode(svg).decode()}"


def _facts(measured: Measured) -> dict[str, object]:
    """Everything in the page that follows from the measurements, except the pictures."""
    found = scores(measured)
    climbed = ladders(measured)
    on_ladder = {ladder.problem for ladder in climbed}
    conditions = trials(measured)
    timed = sorted((point for point in measured.points if point.performance), key=_point_order)
    return {
        "measured": measured,
        "rate": units.rate_unit(measured),
        "outcomes": _outcome_counts(measured),
        "tops": [score for score in found if score.problem in on_ladder],
        "climbers": set().union(*(ladder.names for ladder in climbed)),
        "scores": found,
        "groups": group_scores(found),
        "has_roof": any(placement(measured, p.performance) for p in timed if p.performance),
        "placed": partial(placement, measured),
        "near": NEAR,
        "peaks": _peaks(measured),
        "has_joules": any(p.performance and p.performance.joules_ratio is not None for p in timed),
        "timed": timed,
        "point_counters": {
            name: title
            for name, title in POINT_COUNTERS.items()
            if any(p.performance and p.performance.counter(name) is not None for p in timed)
        },
        "unmeasured": unmeasured(measured),
        "trials": conditions,
        "trial_columns": {
            name: title
            for name, title in (SPREADS | SHARES | SECONDS).items()
            if any(name in {*one.spreads, *one.shares, *one.seconds} for one in conditions)
        },
    }


def _point_order(point: Point) -> tuple[object, ...]:
    return (*problem_order(point.problem), point.kernel.order, point.kernel.name)


def _outcome_counts(measured: Measured) -> str:
    counts = Counter(point.outcome for point in measured.points)
    return ", ".join(
        f"{counts[name]} {name.replace('_', ' ')}" for name in OUTCOMES if counts[name]
    )


def _peaks(measured: Measured) -> dict[str, str]:
    return {
        name.removesuffix("_gb_s"): f"{units.significant(value, 4)} "
        + ("GB/s" if name.endswith("_gb_s") else "TFLOP/s")
        for name, value in measured.peaks.items()
    }
