"""The blocks of a README that follow from a measurement: written here, never by hand.

A block names the file that it is made of, relative to the README:

    <!-- generated:ladder from=ci/baselines/nvidia-h200/full.json -->
    ...
    <!-- /generated:ladder -->
"""

import difflib
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from reports.files import ReportError, write_whole
from reports.ladder import Ladder, ladders
from reports.ladder_chart import combined_picture
from reports.model import Kernel, Measured
from reports.reading import read_measured
from reports.units import RateUnit, percent, rate_unit, ratio

FIGURES = "reports/figures"  # beside the README
FIGURE_NAME = "ladder"
PREFERRED = ("fp32", "bf16")  # one without tensor cores, one with; a README has room for two

OPEN = re.compile(r"<!-- generated:ladder(?: from=(?P<source>\S+))? -->\n")
CLOSE = "<!-- /generated:ladder -->"


@dataclass(frozen=True)
class Update:
    """What a README and its figures should hold."""

    readme: Path
    old: str
    new: str
    figures: dict[Path, bytes]
    digest: str  # of the numbers that the figures show; kept in their metadata

    def problems(self) -> list[str]:
        """What is not current, in lines to print."""
        lines = list(
            difflib.unified_diff(
                self.old.splitlines(), self.new.splitlines(),
                str(self.readme), f"{self.readme} (as generated)", lineterm="", n=1,
            )
        )  # fmt: skip
        for path in self.figures:
            # Drawing libraries differ from machine to machine, so bytes are not compared.
            if not path.is_file() or self.digest.encode() not in path.read_bytes():
                lines.append(f"{path}: is missing or shows other numbers")
        return lines

    def write(self) -> None:
        for path, content in self.figures.items():
            write_whole(path, content)
        if self.new != self.old:
            write_whole(self.readme, self.new.encode())


def prepare(readme: Path) -> Update:
    """Generates the README's block and the pictures that it shows."""
    try:
        old = readme.read_text(encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{readme}: cannot be read ({error.strerror}); check the path") from error
    opening, end = _find_block(readme, old)
    source = opening["source"]
    if source is None:
        raise ReportError(
            f"{readme}: the block names no source; write <!-- generated:ladder from=FILE -->"
        )
    measured = read_measured(readme.parent / source)
    shown = _shown(measured)
    table = _table(measured, shown)
    digest = hashlib.sha256(table.encode()).hexdigest()
    picture = combined_picture(measured, shown, FIGURE_NAME, source=digest)
    figure = f"{FIGURES}/{FIGURE_NAME}"
    block = "\n".join(
        [
            "<picture>",
            f'<source media="(prefers-color-scheme: dark)" srcset="{figure}-dark.svg">',
            f'<img alt="{picture.alt}" src="{figure}.svg">',
            "</picture>\n",
            table,
            f"{_origin(measured)} From [{source}]({source}); regenerate with `scripts/readme`.\n",
        ]
    )
    return Update(
        readme=readme,
        old=old,
        new=old[: opening.end()] + block + old[end:],
        figures={
            readme.parent / FIGURES / name: content for name, content in picture.files().items()
        },
        digest=digest,
    )


def _find_block(readme: Path, text: str) -> tuple[re.Match[str], int]:
    """The opening marker and where the closing one starts."""
    openings = list(OPEN.finditer(text))
    if len(openings) != 1:
        raise ReportError(
            f"{readme}: has {len(openings)} blocks <!-- generated:ladder from=FILE -->, wants one"
        )
    end = text.find(CLOSE, openings[0].end())
    if end < 0:
        raise ReportError(f"{readme}: the block generated:ladder is not closed; add {CLOSE}")
    return openings[0], end


def _shown(measured: Measured) -> list[Ladder]:
    climbed = ladders(measured)
    if not climbed:
        raise ReportError(
            f"{measured.source}: no kernel was measured on a ladder problem; "
            "measure a selection that has one"
        )
    preferred = [ladder for ladder in climbed if ladder.precision in PREFERRED]
    return (preferred or climbed)[: len(PREFERRED)]


def _table(measured: Measured, shown: list[Ladder]) -> str:
    """Markdown; a row a rung."""
    unit = rate_unit(measured)
    heads = [
        f"{ladder.precision}, {title}"
        for ladder in shown
        for title in (unit.name, *(["of peak"] if _has_peak(measured, ladder) else []), "× control")
    ]
    kernels = [k for k in measured.kernels if any(ladder.rung(k) for ladder in shown)]
    rows = [["rung", "idea", *heads], ["---", "---", *["--:"] * len(heads)]]
    for kernel in sorted(kernels, key=lambda one: one.vendor):
        cells = [cell for ladder in shown for cell in _cells(measured, ladder, kernel, unit)]
        rows.append([f"`{kernel.name}`", _idea(kernel), *cells])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _idea(kernel: Kernel) -> str:
    return kernel.idea.replace("|", "\\|")


def _cells(measured: Measured, ladder: Ladder, kernel: Kernel, unit: RateUnit) -> list[str]:
    width = 3 if _has_peak(measured, ladder) else 2
    rung = ladder.rung(kernel)
    if rung is None:
        return [""] * width
    if rung.performance is None:
        return [rung.outcome.replace("_", " "), *[""] * (width - 1)]
    share = measured.peak_share(rung.performance)
    return [
        unit.of(rung.performance.tflops),
        *([percent(share)] if share is not None else []),
        ratio(rung.performance.speed_ratio),
    ]


def _has_peak(measured: Measured, ladder: Ladder) -> bool:
    return ladder.precision in measured.peaks


def _origin(measured: Measured) -> str:
    problems = " and ".join(f"`{ladder.problem.id}`" for ladder in _shown(measured))
    return (
        f"Measured on {problems}, {measured.machine}, {measured.trials} trials, {measured.when}. "
        f"× control is the speed relative to {measured.control_names}, timed beside each kernel."
    )
