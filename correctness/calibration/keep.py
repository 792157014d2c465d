"""Keeps what scripts/calibrate measured: a record a machine, its figure, and the README's tables.

python -m correctness.calibration.keep FOLDER    adds the results in FOLDER as a record
python -m correctness.calibration.keep           draws and writes from the records as they are
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

HERE = Path(__file__).parent
RECORDS = HERE / "records"
README = HERE / "README.md"
BOUNDS = RECORDS / "bounds.json"
BLOCK = re.compile(r"(?<=<!-- generated:records -->\n).*(?=<!-- /generated:records -->)", re.DOTALL)

PRECISIONS = ("fp32", "tf32", "fp16", "bf16")
REGIMES = ("symmetric", "cancellation", "positive", "wide_range")
DRAWN = ("symmetric", "positive")
MOST_LINES = 10  # that a figure shows: as many as there are colours

Record = dict[str, Any]


def machine(record: Record) -> str:
    fingerprint = record["fingerprint"]
    return str(fingerprint.get("gpu") or fingerprint["cpu"])


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def records() -> list[Record]:
    return [json.loads(path.read_text()) for path in sorted(RECORDS.glob("*.json"))
            if path != BOUNDS]  # fmt: skip


def new_record(folder: Path) -> Record:
    catalog = json.loads((folder / "catalog.json").read_text())
    return {
        "schema": 1,
        "kind": "gemmwatch-calibration",
        "recorded": datetime.now(UTC).date().isoformat(),
        "fingerprint": catalog["fingerprint"],
        "errors": json.loads((folder / "errors.json").read_text()),
        "alarms": json.loads((folder / "alarms.json").read_text()),
    }


def write_whole(path: Path, content: str | bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(content.encode() if isinstance(content, str) else content)
    partial.rename(path)


def reviewable(value: Any, depth: int = 2) -> str:
    """JSON with a line for each entry down to a depth, so that a diff shows which one changed."""
    if depth == 0 or not isinstance(value, dict | list):
        return json.dumps(value)
    if isinstance(value, dict):
        lines = [f"{json.dumps(key)}: {reviewable(item, depth - 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + "\n}"
    return "[\n" + ",\n".join(reviewable(item, depth - 1) for item in value) + "\n]"


# -- The figure ----------------------------------------------------------------------------------


def bounds() -> dict[tuple[str, str], dict[int, float]]:
    return {
        (one["precision"], one["regime"]): dict(zip(one["k"], one["f"], strict=True))
        for one in json.loads(BOUNDS.read_text())
    }


def draw(record: Record) -> Figure:
    """Errors over k, log-log, a panel for each precision and sign of the data, and the bound."""
    figure = Figure(figsize=(12, 6), layout="constrained")
    panels = figure.subplots(len(DRAWN), len(PRECISIONS), sharex=True, sharey="row")
    styles = line_styles(record)
    for row, regime in enumerate(DRAWN):
        for column, precision in enumerate(PRECISIONS):
            draw_panel(panels[row, column], record, styles, precision, regime)
        panels[row, 0].set_ylabel(r"largest error / $(u\,|A||B|)$")
    figure.suptitle(f"{machine(record)}: errors of sound kernels and the bound f(k)")
    lines = {line.get_label(): line for panel in panels.flat for line in panel.get_lines()}
    figure.legend(lines.values(), lines.keys(), loc="outside right upper")
    return figure


def labels(record: Record) -> dict[str, str]:
    """By kernel, what its line is called: if there are too many, that of all but the vendors'."""
    kernels = record["alarms"]["kernels"]
    own = [row["kernel"] for row in kernels if not row["vendor"]]
    together = f"largest of {len(own)} kernels" if len(kernels) > MOST_LINES else None
    return {
        row["kernel"]: row["kernel"] if row["vendor"] else together or row["kernel"]
        for row in kernels
    }


def line_styles(record: Record) -> dict[str, dict[str, Any]]:
    """By label: a colour each, and solid lines for the vendors'."""
    vendors = {row["kernel"] for row in record["alarms"]["kernels"] if row["vendor"]}
    return {
        label: {"color": f"C{index}", "marker": "o", "linestyle": "-" if label in vendors else ":",
                "markersize": 3}
        for index, label in enumerate(dict.fromkeys(labels(record).values()))
    }  # fmt: skip


def curves(record: Record, precision: str, regime: str) -> dict[str, dict[int, float]]:
    """Error over k, the largest of all kernels that share a label."""
    label_of = labels(record)
    found: dict[str, dict[int, float]] = {}
    for series in record["errors"]:
        if (series["precision"], series["regime"]) == (precision, regime):
            curve = found.setdefault(label_of[series["kernel"]], {})
            for k, error in zip(series["k"], series["error"], strict=True):
                curve[k] = max(curve.get(k, 0.0), error)
    return found


def draw_panel(
    axes: Axes, record: Record, styles: dict[str, dict[str, Any]], precision: str, regime: str
) -> None:
    bound = bounds()[precision, regime]
    axes.loglog(bound.keys(), bound.values(), color="black", linewidth=2, label="f(k)")
    for label, curve in curves(record, precision, regime).items():
        # 0: every element is the exact result, rounded; a logarithm has no place for it.
        seen = [(k, error) for k, error in sorted(curve.items()) if error > 0]
        axes.loglog(*zip(*seen, strict=True), label=label, **styles[label])
    axes.set_title(f"{precision}, {regime}", fontsize=10)
    axes.grid(True, alpha=0.3)
    axes.set_xlabel("k")


# -- The tables ----------------------------------------------------------------------------------


def shares(record: Record) -> Iterator[tuple[str, str, float, str, int]]:
    """Precision, regime, error / f, kernel and k of every measured point."""
    limits = bounds()
    for series in record["errors"]:
        precision, regime = series["precision"], series["regime"]
        for k, error in zip(series["k"], series["error"], strict=True):
            yield precision, regime, error / limits[precision, regime][k], series["kernel"], k


def table(rows: Iterable[Iterable[object]]) -> str:
    first, *rest = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join([first, "|---" * (first.count("|") - 1) + "|", *rest, ""])


def share_table(record: Record) -> str:
    worst: dict[tuple[str, str], tuple[float, str, int]] = {}
    for precision, regime, share, kernel, k in shares(record):
        worst[precision, regime] = max(worst.get((precision, regime), (0.0, "", 0)),
                                       (share, kernel, k))  # fmt: skip
    cells = [[f"{worst[p, r][0]:.2f} ({worst[p, r][1]}, {worst[p, r][2]})" for p in PRECISIONS]
             for r in REGIMES]  # fmt: skip
    return table([["largest error / f (kernel, k)", *PRECISIONS],
                  *([f"`{r}`", *row] for r, row in zip(REGIMES, cells, strict=True))])  # fmt: skip


def alarm_table(record: Record) -> str:
    return table(
        [["kernel", "examined", "refused", "failed", "largest share of the bound"]]
        + [
            [f"`{row['kernel']}`" + (" (vendor)" if row["vendor"] else ""), row["examined"],
             row["refused"], len(row["alarms"]), f"{row['worst_share_of_bound']:.2f}"]
            for row in record["alarms"]["kernels"]
        ]
    )  # fmt: skip


def section(record: Record) -> str:
    name = machine(record)
    first, last = record["alarms"]["seeds"]
    return (
        f"### {name}, {record['recorded']}\n\n![errors over k](records/{slug(name)}.png)\n\n"
        f"{share_table(record)}\nSeeds {first} to {last}:\n\n{alarm_table(record)}"
    )


def readme_with_records(text: str) -> str:
    sections = "\n".join(section(record) for record in records())
    return BLOCK.sub(lambda _: sections, text)


def main(arguments: list[str]) -> int:
    for folder in map(Path, arguments):
        record = new_record(folder)
        write_whole(RECORDS / f"{slug(machine(record))}.json", reviewable(record, 3) + "\n")
        write_whole(BOUNDS, reviewable(json.loads((folder / "bounds.json").read_text())) + "\n")
    for record in records():
        draw(record).savefig(RECORDS / f"{slug(machine(record))}.png", dpi=110)
    write_whole(README, readme_with_records(README.read_text()))
    print(f"records, figures and tables are current in {HERE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
