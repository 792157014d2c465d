"""Reads run.json, or a baseline that carries its catalog, into the model."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from reports.files import Fields, ReportError, read_json
from reports.model import Kernel, Lesson, Measured, Performance, Point, Problem, Sample

SCHEMA = 1
OUTCOMES = ("passed", "incorrect", "refused", "failed", "timed_out")

# Counters of a row that are shown beside the times.
SHOWN_COUNTERS = (
    "check_s", "timed_s", "point_s",
    "sm_mhz", "mem_mhz", "power_w", "temperature_c", "throttled", "power_capped",
    "kernel_joules", "control_joules", "relative_error",
)  # fmt: skip

Samples = Mapping[str, list[Sample]]  # by point id


def read_measured(path: Path) -> Measured:
    """Either kind of file; raises ReportError if it is neither."""
    fields = read_json(path)
    if fields.values.get("kind") == "gemmwatch-baseline":
        return _baseline(fields)
    if fields.has("benchmarks"):
        return _run(fields)
    raise ReportError(f"{path}: is neither a run.json nor a baseline; `gemmwatch run` writes one")


def check_schema(fields: Fields) -> None:
    found = fields.integer("schema")
    if found != SCHEMA:
        raise ReportError(
            f"{fields.file}: has schema {found} and this version reads {SCHEMA}; "
            "use the gemmwatch that wrote it, or measure again"
        )


def _run(fields: Fields) -> Measured:
    meta = fields.object("context").object("gemmwatch")
    check_schema(meta)
    catalog = meta.object("catalog")
    outcomes = meta.texts("outcomes")
    return Measured(
        source=fields.file,
        device_note=catalog.text("device_note"),
        fingerprint=catalog.texts("fingerprint"),
        environment=catalog.texts("environment"),
        injected=catalog.text("injected"),
        peaks=read_peaks(catalog),
        kernels=read_kernels(catalog),
        points=_points(catalog, outcomes, meta.texts("reasons"), _run_samples(fields, outcomes)),
        selection=meta.text("selection"),
        trials=meta.integer("trials"),
        when=f"measured {_minute(meta, 'started')}",
        lessons=_lessons(catalog),
    )


def _baseline(fields: Fields) -> Measured:
    check_schema(fields)
    if not fields.has("catalog"):
        raise ReportError(
            f"{fields.file}: this baseline carries no catalog (kernels, problems, peaks); "
            "approve it again with this version of gemmwatch, or give a run.json"
        )
    catalog = fields.object("catalog")
    samples = _baseline_samples(fields.object("points"))
    fingerprint = fields.texts("fingerprint")
    return Measured(
        source=fields.file,
        device_note="",
        fingerprint=fingerprint,
        environment=fields.texts("environment"),
        injected="",
        peaks=read_peaks(catalog),
        kernels=read_kernels(catalog),
        points=_points(catalog, fields.texts("outcomes"), {}, samples),
        selection=fields.text("selection"),
        trials=max((len(of_point) for of_point in samples.values()), default=0),
        when=f"approved {_minute(fields, 'approved')}",
    )


def _run_samples(fields: Fields, outcomes: Mapping[str, str]) -> Samples:
    samples: dict[str, list[Sample]] = defaultdict(list)
    for row in fields.objects("benchmarks"):
        # The rows of a point that failed in another trial stay out of its samples.
        point_id = row.text("run_name")
        if row.text("run_type") == "iteration" and outcomes.get(point_id) == "passed":
            samples[point_id].append(
                Sample(
                    trial=row.integer("repetition_index"),
                    log_ratio=row.number("log_ratio"),
                    kernel_us=row.number("kernel_us"),
                    control_us=row.number("control_us"),
                    counters={name: row.number(name) for name in SHOWN_COUNTERS if row.has(name)},
                )
            )
    return samples


def _baseline_samples(points: Fields) -> Samples:
    samples = {}
    for point_id in points.values:
        point = points.object(point_id)
        columns = [point.numbers(name) for name in ("log_ratio", "kernel_us", "control_us")]
        if len({len(column) for column in columns}) != 1:
            raise ReportError(
                f"{points.file}: {point_id} has lists of unequal length; approve the baseline again"
            )
        samples[point_id] = [
            Sample(trial, log_ratio, kernel_us, control_us, counters={})
            for trial, (log_ratio, kernel_us, control_us) in enumerate(zip(*columns, strict=True))
        ]
    return samples


def _minute(fields: Fields, key: str) -> str:
    """The ISO date under key as people write it: 2031-05-04 13:02 UTC."""
    try:
        date = datetime.fromisoformat(fields.text(key))
    except ValueError as error:
        raise fields.error(key, "an ISO date") from error
    return date.strftime("%Y-%m-%d %H:%M %Z").rstrip()


def read_peaks(catalog: Fields) -> dict[str, float]:
    peaks = catalog.object("peaks")
    return {name: peaks.number(name) for name in peaks.values}


def read_kernels(catalog: Fields) -> tuple[Kernel, ...]:
    kernels = [
        Kernel(
            name=kernel.text("name"),
            order=kernel.integer("order"),
            idea=kernel.text("idea"),
            vendor=kernel.flag("vendor"),
            # A history spans builds and does not say what is available on the device of today.
            control=kernel.flag("control")
            and (not kernel.has("available") or kernel.flag("available")),
        )
        for kernel in catalog.objects("kernels")
    ]
    return tuple(sorted(kernels, key=lambda kernel: (kernel.order, kernel.name)))


def read_problems(catalog: Fields) -> list[Problem]:
    return [_problem(problem) for problem in catalog.objects("problems")]


def _problem(problem: Fields) -> Problem:
    problem_id = problem.text("id")
    if problem_id.count("/") < 2:
        raise problem.error("id", "<precision>/<layout>/<m>x<n>x<k>")
    return Problem(
        id=problem_id,
        precision=problem.text("precision"),
        layout=problem.text("layout"),
        groups=problem.strings("groups"),
        flops=problem.number("flops"),
        bytes=problem.number("bytes"),
    )


def _lessons(catalog: Fields) -> tuple[Lesson, ...]:
    if not catalog.has("lessons"):  # a program of before there were any wrote it
        return ()
    return tuple(
        Lesson(
            name=lesson.text("name"),
            title=lesson.text("title"),
            points=tuple(lesson.text("points").split()),
            moral=lesson.text("moral"),
        )
        for lesson in catalog.objects("lessons")
    )


def _points(
    catalog: Fields, outcomes: Mapping[str, str], reasons: Mapping[str, str], samples: Samples
) -> tuple[Point, ...]:
    kernels = {kernel.name: kernel for kernel in read_kernels(catalog)}
    problems = {problem.id: problem for problem in read_problems(catalog)}
    points = []
    for point_id, outcome in outcomes.items():
        kernel_name, _, problem_id = point_id.partition("/")
        if kernel_name not in kernels or problem_id not in problems:
            raise ReportError(f"{catalog.file}: {point_id} is not in the file's own catalog")
        if outcome not in OUTCOMES:
            raise ReportError(f"{catalog.file}: {point_id} has the unknown outcome {outcome!r}")
        kernel, problem = kernels[kernel_name], problems[problem_id]
        of_point = tuple(samples.get(point_id, ()))
        if outcome == "passed" and not of_point:
            raise ReportError(f"{catalog.file}: {point_id} passed, yet no row holds its times")
        if any(sample.kernel_us <= 0 or sample.control_us <= 0 for sample in of_point):
            raise ReportError(f"{catalog.file}: {point_id} has a time that is not above zero")
        performance = Performance(problem, of_point) if outcome == "passed" else None
        reason = reasons.get(point_id, "no reason is stored") if outcome != "passed" else ""
        points.append(Point(point_id, kernel, problem, outcome, reason, performance))
    return tuple(sorted(points, key=_reading_order))


def _reading_order(point: Point) -> tuple[object, ...]:
    return (point.problem.id, point.kernel.order, point.kernel.name)
