"""The judgement for people: on a terminal, and as Markdown that fits a screen."""

from __future__ import annotations

import re
import shlex
from datetime import datetime

from ci.catalog import family_of
from ci.verdicts import Judgement, PointVerdict, Verdict

_ROWS = 12  # more do not fit a screen; all are in verdict.json
_REASON = 240  # characters of a reason in a table


def verdict_text(judgement: Judgement, now: datetime) -> str:
    """The short answer."""
    answer = judgement.answer
    lines = [f"{answer} (exit code {answer.exit_code}): {_counts(judgement)}"]
    lines += [f"  {side}" for side in _sides(judgement, now)]
    lines += [f"  cannot be trusted: {doubt}" for doubt in judgement.doubts]
    lines += [f"  note: {note}" for note in judgement.notes]
    shown, left = _worst(judgement)
    lines += [f"  {item.verdict}: {item.id}: {item.reason}" for item in shown]
    if left:
        lines.append(f"  and {left} more in verdict.json")
    if command := _reproduce(judgement):
        lines.append(f"  measure these again: {command}")
    return "\n".join(lines)


def verdict_markdown(judgement: Judgement, now: datetime) -> str:
    """A page for a pull request. What it quotes may be hostile, so all of it is escaped."""
    answer = judgement.answer
    lines = [f"## gemmwatch: {answer}", "", f"{_counts(judgement)} (exit code {answer.exit_code})"]
    lines += ["", *(f"- {_escape(side)}" for side in _sides(judgement, now))]
    lines += [f"- **cannot be trusted:** {_escape(doubt)}" for doubt in judgement.doubts]
    lines += [f"- note: {_escape(note)}" for note in judgement.notes]
    shown, left = _worst(judgement)
    if shown:
        lines += ["", "| point | verdict | time | reason |", "|---|---|---|---|"]
        lines += [_table_row(item) for item in shown]
    if left:
        lines += ["", f"and {left} more in verdict.json"]
    if command := _reproduce(judgement):
        lines += ["", "Measure these again:", "", f"    {_one_line(command)}"]
    return "\n".join(lines) + "\n"


def _counts(judgement: Judgement) -> str:
    counts = [f"{n} {verdict}" for verdict, n in judgement.counts.items() if n]
    regressed = sum(family.fails for family in judgement.families)
    if regressed:
        counts.append(f"families regressed: {regressed}")
    return f"{judgement.compared} points compared; {', '.join(counts) or 'no point was judged'}"


def _sides(judgement: Judgement, now: datetime) -> list[str]:
    return [
        f"{name}: {side.label}, {side.trials} trials, {_age(side.age_days(now))}"
        for name, side in (("base", judgement.base), ("head", judgement.head))
    ]


def _age(days: float) -> str:
    return f"{days:.0f} days old" if days >= 1 else f"{max(days, 0) * 24:.0f} hours old"


def _worst(judgement: Judgement) -> tuple[list[PointVerdict], int]:
    """What turned the gate red, else what stayed undecided; and how many more there are."""
    items = [*judgement.points, *judgement.families]
    loud = [item for item in items if item.fails] or [
        item for item in items if item.verdict is Verdict.inconclusive
    ]
    loud.sort(key=lambda item: -(item.comparison.change if item.comparison else float("inf")))
    return loud[:_ROWS], max(len(loud) - _ROWS, 0)


def _reproduce(judgement: Judgement) -> str:
    """One command that measures and judges again what turned the gate red."""
    red = [item.id for item in _worst(judgement)[0] if item.fails]
    if not red:
        return ""
    families = {family.id for family in judgement.families}
    points = [name for name in red if name not in families]
    # A family is measured as a whole only where none of its points is red by itself.
    broad = [name for name in red if name in families - {family_of(point) for point in points}]
    patterns = [re.escape(p) + "$" for p in points] + [re.escape(f) + "/" for f in broad]
    what = ["--selection", judgement.head.selection, "--filter", f"^({'|'.join(patterns)})"]
    if judgement.confirmation:
        how = ["gate", *judgement.confirmation.base.flags, *what]
    else:
        how = ["run", *what, "--baseline", judgement.base.label]
    return shlex.join(["scripts/gemmwatch", *how, "--out", "out/again"])


def _table_row(item: PointVerdict) -> str:
    comparison = item.comparison
    time = ""
    if comparison and comparison.base_us is not None and comparison.head_us is not None:
        time = f"{comparison.base_us:.5g} to {comparison.head_us:.5g} us"
    reason = item.reason if len(item.reason) <= _REASON else item.reason[:_REASON] + " ..."
    return f"| {_escape(item.id)} | {item.verdict} | {time} | {_escape(reason)} |"


def _escape(text: str) -> str:
    """Text as text: no markup, no link, no table cell, no mention of a person."""
    text = _one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_\[\]#|~])", r"\\\1", text)
    return text.replace("@", "@\u200b")


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text)
