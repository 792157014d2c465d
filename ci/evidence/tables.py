"""The summary as Markdown tables, for README.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

START, END = "<!-- generated: gemmwatch evidence -->", "<!-- /generated -->"
_STAGES = {
    "screen": "the screen alone",
    "suspected": "suspected by the screen",
    "confirmation": "pairs alone",
    "both": "screen, then pairs",
}
_CLASSES = {"0.005": "up to 0.5%", "0.01": "to 1%", "0.02": "to 2%", "1": "above 2%"}


def tables(summary: Mapping[str, Any]) -> str:
    lines = [*_real(summary["aa_real"]), *_real_power(summary["power_real"])]
    for name, study in summary["records"].items():
        lines += ["", f"### {name}", "", study["source"] + ".", ""]
        lines += _innocent(study["aa_resampled"])
        lines += ["", "Power, by what flags a slowdown at one point:", ""]
        lines += _power(study["power"], "stages", _STAGES, "flagged by")
        lines += ["", "Screen, then pairs, by the spread of the point between processes:", ""]
        lines += _power(study["power"], "by_spread", _CLASSES, "standard deviation")
        lines += ["", "A slowdown of 3%, by the number of pairs:", ""]
        lines += _by_pairs(study["power_at_3_percent_by_pairs"])
    return "\n".join(lines) + "\n"


def with_tables(readme: str, summary: Mapping[str, Any]) -> str:
    """The README with its block replaced."""
    before, _, rest = readme.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{tables(summary)}\n{END}{after}"


def _real(real: Mapping[str, Any]) -> list[str]:
    lines = [
        f"Real gates of identical builds: {real['gates']} "
        f"({real['hypotheses']} hypotheses), alarms: {real['alarms']}.",
    ]
    if real["with_pairs"]:
        lines.append(
            f"Of these {real['with_pairs']} were whole gates with pairs, on {real['cards']} cards: "
            f"a median of {real['measured_median']:g} points measured again and of "
            f"{real['seconds_median']:g} s; {real['untrusted']} could not be trusted."
        )
    return lines


def _real_power(power: Mapping[str, Any]) -> list[str]:
    if not power:
        return []
    rows = {
        "red gates": [f"{tally['red']} of {tally['gates']}" for tally in power.values()],
        "points flagged": [_cell(tally) for tally in power.values()],
    }
    return [
        "", "Real gates in which a kernel of head was slowed in device time:", "",
        "| slowdown | " + " | ".join(f"{float(loss):.0%}" for loss in power) + " |",
        "|---" * (len(power) + 1) + "|",
        *(f"| {title} | " + " | ".join(cells) + " |" for title, cells in rows.items()),
    ]  # fmt: skip


def _innocent(study: Mapping[str, Any]) -> list[str]:
    return [
        f"Resampled gates of identical builds: {study['gates']}; alarms: {study['alarms']}; the "
        f"screen alone would have raised {study['screen_alarms']}. Of {study['points']} points a "
        f"median of {study['measured_median']} was measured again by pairs.",
    ]


def _power(power: Mapping[str, Any], kind: str, names: Mapping[str, str], title: str) -> list[str]:
    losses = list(power)
    rows = [
        f"| {title} | " + " | ".join(f"{float(loss):.0%}" for loss in losses) + " |",
        "|---" * (len(losses) + 1) + "|",
    ]
    for key, words in names.items():
        cells = [_cell(power[loss][kind][key]) for loss in losses]
        if any(cells):
            rows.append(f"| {words} | " + " | ".join(cells) + " |")
    return rows


def _by_pairs(by_pairs: Mapping[str, Any]) -> list[str]:
    return [
        "| pairs | " + " | ".join(by_pairs) + " |",
        "|---" * (len(by_pairs) + 1) + "|",
        "| flagged | " + " | ".join(_cell(tally) for tally in by_pairs.values()) + " |",
    ]


def _cell(tally: Mapping[str, Any]) -> str:
    """A share with Wilson's 95% interval; nothing where nothing was tried."""
    if not tally["trials"]:
        return ""
    share = tally["flagged"] / tally["trials"]
    return f"{share:.3f} ({tally['low']:.3f} to {tally['high']:.3f})"
