"""The pages of the site, one by one: each template is filled here, and decides nothing."""

import base64
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment
from markupsafe import Markup

from reports import units
from reports.ladder import ladders
from reports.ladder_chart import ladder_figure
from reports.map_chart import map_figure, panels
from reports.model import Measured, geometric_mean
from reports.page import environment
from reports.reading import OUTCOMES
from reports.roofline import NEAR, intensity, placement, roof
from reports.roofline_chart import roofline_figure
from reports.scoreboard import scores
from reports.site import accuracy, hover, moves, resources, trend_chart
from reports.site.inline_svg import DARK_VARIABLES, LIGHT_VARIABLES, PAGE, inline_svg
from reports.site.names import slug
from reports.site.trends import Night, Series, Trends
from reports.style import figure_style
from reports.verdict import ANSWERS, Verdict

TEMPLATES = Path(__file__).parent / "templates"
MOST = 12  # of what moved, shown at once
Context = dict[str, Any]


@dataclass(frozen=True)
class Page:
    path: str  # inside the site
    kind: str  # of its template
    subject: str = ""  # a kernel or a problem
    title: str = ""  # in the menu; empty: not there


MENU = (
    Page("index.html", "overview", title="Overview"),
    Page("ladder.html", "ladder", title="Ladder"),
    Page("roofline.html", "roofline", title="Roofline"),
    Page("map.html", "map", title="Map"),
    Page("resources.html", "resources", title="Resources"),
    Page("accuracy.html", "accuracy", title="Accuracy"),
)


def pages(trends: Trends) -> list[Page]:
    """All of them; those that take longest to draw come first."""
    return [
        *(Page(f"problems/{slug(one.id)}.html", "problem", one.id) for one in trends.problems),
        *(Page(f"kernels/{slug(one.name)}.html", "kernel", one.name) for one in trends.kernels),
        *MENU,
    ]


@dataclass(frozen=True)
class Drawn:
    """Something together with its picture."""

    of: object
    picture: Markup


class Site:
    """What the pages say; a page is made when it is asked for."""

    def __init__(self, trends: Trends, newest: Measured, verdict: Verdict | None) -> None:
        self.trends = trends
        self.newest = newest  # the newest night as a run
        self.verdict = verdict
        self.rate = units.rate_unit(newest)

    def render(self, page: Page) -> bytes:
        contexts: dict[str, Callable[[], Context]] = {
            "overview": self._overview,
            "ladder": self._ladder,
            "map": self._map,
            "roofline": self._roofline,
            "accuracy": self._accuracy,
            "resources": lambda: self._functions(None),
            "kernel": lambda: self._kernel(page.subject),
            "problem": lambda: self._problem(page.subject),
        }
        with figure_style():
            context = contexts[page.kind]()
        template = self._environment.get_template(f"{page.kind}.html.j2")
        root = "../" * page.path.count("/")
        return template.render(context, path=page.path, root=root).encode()

    @cached_property
    def _environment(self) -> Environment:
        script = (TEMPLATES / "site.js").read_text(encoding="utf-8")
        digest = base64.b64encode(sha256(script.encode()).digest()).decode()
        made = environment(TEMPLATES)
        made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
        made.globals.update(
            trends=self.trends,
            night=self.trends.nights[-1],
            compared_with=self._compared_with,
            newest=self.newest,
            rate=self.rate,
            menu=MENU,
            slug=slug,
            fine_ratio=units.fine_ratio,
            p_value=lambda value: f"{value:.2g}",
            resource_names=resources.NAMES,
            script=Markup(script),
            script_hash=f"sha256-{digest}",
            light_variables=LIGHT_VARIABLES,
            dark_variables=DARK_VARIABLES,
        )
        return made

    @property
    def _compared_with(self) -> Night | None:
        number = self.trends.compared_with
        return self.trends.nights[number] if number is not None else None

    def _overview(self) -> Context:
        trends = self.trends
        moved = moves.moves(trends)
        week = moves.recent_changes(trends, moves.WEEK)
        month = moves.recent_changes(trends, moves.MONTH)
        changed = Counter(one.series.kernel for one in month)
        return {
            "verdict": self.verdict,
            "answers": ANSWERS,
            "counts": self._counts(),
            "turned": moves.turns(trends),
            "clear": [move for move in moved if move.clear],
            "compared": len(moved),
            "shown": MOST,
            "week": week,
            "month": [found for found in month if found not in week],
            "creeping": moves.creeping(trends),
            "disturbed": [night for night in reversed(trends.nights) if night.doubts],
            "untimed": moves.without_a_time(trends),
            "reasons": {point.id: point.reason for point in self.newest.points},
            "kernels": [
                {"kernel": kernel, "means": self._means(kernel.name), "changes": changed[kernel]}
                for kernel in trends.kernels
            ],
            "scores": {score.problem.id: score for score in scores(self.newest)},
        }

    def _counts(self) -> str:
        outcomes = Counter(series.outcome(self.trends.last) for series in self.trends.series)
        named = {**{name: name.replace("_", " ") for name in OUTCOMES}, "": "not visited"}
        return ", ".join(f"{outcomes[key]} {named[key]}" for key in named if outcomes[key])

    def _means(self, kernel: str) -> dict[str, float | None]:
        """By precision: the geometric mean of the speed relative to the control."""
        speeds = defaultdict(list)
        for point in self.newest.points:
            if point.kernel.name == kernel and point.performance:
                speeds[point.problem.precision].append(point.performance.speed_ratio)
        return {
            name: geometric_mean(speeds[name]) if name in speeds else None
            for name in self.newest.precisions
        }

    def _ladder(self) -> Context:
        climbed = ladders(self.newest)
        drawn = [
            Drawn(one, inline_svg(
                ladder_figure(self.newest, [one], PAGE),
                f"Speed of each kernel on {one.problem.id}, lowest rung first",
                f"ladder-{one.precision}",
            ))
            for one in climbed
        ]  # fmt: skip
        return {
            "ladders": drawn,
            "measured": self.newest,
            "climbers": set().union(*(ladder.names for ladder in climbed)),
        }

    def _map(self) -> Context:
        drawn = [
            Drawn(panel, inline_svg(
                map_figure(self.newest, panel, PAGE),
                f"{len(panel.kernels)} kernels by {len(panel.problems)} problems "
                f"in {panel.precision}, coloured by speed against the control",
                f"map-{number}",
            ))
            for number, panel in enumerate(panels(self.newest))
        ]  # fmt: skip
        return {"panels": drawn}

    def _roofline(self) -> Context:
        drawn = [
            inline_svg(
                roofline_figure(self.newest, ladder, nominal, PAGE),
                f"Roofline in {ladder.precision}: the kernels on {ladder.problem.id}",
                f"roofline-{ladder.precision}",
            )
            for ladder in ladders(self.newest)
            if (nominal := roof(self.newest, ladder.precision))
        ]
        placed = [
            {"score": score, "at": at}
            for score in scores(self.newest)
            if (at := placement(self.newest, score.performance))
        ]
        return {"pictures": drawn, "placed": placed, "near": NEAR, "intensity": intensity}

    def _accuracy(self) -> Context:
        found = accuracy.accuracies(self.trends)
        charts = [accuracy.accuracy_chart(found, name) for name in self.newest.precisions]
        return {"kernels": accuracy.by_kernel(found), "charts": [c for c in charts if c]}

    def _functions(self, kernel: str | None) -> Context:
        found = resources.functions(self.trends, kernel)
        lines = [
            resources.register_line(self.trends, one, f"registers-{number}") if one.steps else ""
            for number, one in enumerate(found)
        ]  # a flat line tells nothing
        return {"functions_found": found, "lines": lines}

    def _kernel(self, name: str) -> Context:
        tiles = defaultdict(list)
        own = self.trends.of_kernel(name)
        for series in sorted(own, key=lambda one: self.trends.problems.index(one.problem)):
            anchor = slug(series.problem.id)
            tiles[series.problem.precision].append({
                "name": anchor,
                "series": series,
                "outcome": series.outcome(self.trends.last),
                "line": trend_chart.sparkline(self.trends, series, anchor),
            })  # fmt: skip
        return {
            "kernel": next(one for one in self.trends.kernels if one.name == name),
            "means": {key: mean for key, mean in self._means(name).items() if mean is not None},
            "by_precision": tiles,
            "found": moves.changes_of(own),
            **self._functions(name),
        }

    def _problem(self, problem_id: str) -> Context:
        own = sorted(self.trends.of_problem(problem_id), key=lambda one: one.kernel.order)
        return {
            "problem": next(one for one in self.trends.problems if one.id == problem_id),
            "cards": [self._card(series) for series in own],
            "hover": {
                "nights": hover.hover_nights(self.trends, self.rate),
                "charts": {slug(one.kernel.name): hover.hover(one, self.rate) for one in own},
            },
        }

    def _card(self, series: Series) -> Context:
        name = slug(series.kernel.name)
        return {
            "name": name,
            "series": series,
            "charts": trend_chart.trend_charts(self.trends, series, self.rate, name),
            "move": moves.move_of(self.trends, series),
            "readout": self._readout(series),
        }

    def _readout(self, series: Series) -> str:
        """The newest night in words, as the script says the others."""
        night = self.trends.last
        outcome = series.outcome(night)
        if outcome != "passed":
            return f"Newest night: {outcome.replace('_', ' ') or 'not visited'}"
        interval = ""
        if np.isfinite(series.speed_low[night]):
            ends = (series.speed_low[night], series.speed_high[night])
            interval = f" ({' to '.join(map(units.fine_ratio, ends))})"
        return (
            f"Newest night: {units.fine_ratio(series.speed[night])} × control{interval} · "
            f"{self.rate.of(series.tflops[night])} {self.rate.name}"
        )
