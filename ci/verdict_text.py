"""The verdict for people: on a terminal, and as Markdown that fits a screen."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Sequence

from ci.announcement import Announcement, Side
from ci.catalog import family_of
from ci.verdicts import PointVerdict, Verdict

# What fits a screen; all of it is in verdict.json.
_ROWS = 12
_LINES = 4  # of doubts, and of notes
_TEXT = 600  # characters of a quoted text


def verdict_text(told: Announcement) -> str:
    """The short answer."""
    lines = [f"{told.answer} (exit code {told.answer.exit_code}): {_counts(told)}"]
    lines += [f"  {name}: {_plain(_side(side))}" for name, side in _sides(told)]
    lines += [f"  cannot be trusted: {_plain(doubt)}" for doubt in told.doubts]
    lines += [f"  note: {_plain(note)}" for note in told.notes]
    lines += [f"  worse device code: {_plain(finding)}" for finding in _resources(told)]
    shown, left = _worst(told)
    lines += [f"  {item.verdict}: {item.id}: {_plain(item.reason)}" for item in shown]
    if left:
        lines.append(f"  and {left} more in verdict.json")
    if any(item.fails for item in shown):
        lines.append(f"  since: {_plain(_since(told))}")
        lines.append(f"  measure these again: {_reproduce(told)}")
    return "\n".join(lines)


def verdict_markdown(told: Announcement) -> str:
    """A page for a pull request.

    What it quotes may be hostile: all of it stands in code, where Markdown knows no markup, no
    link and no mention of a person.
    """
    lines = [f"## gemmwatch: {told.answer}", ""]
    lines += [f"{_counts(told)} (exit code {told.answer.exit_code})"]
    shown, left = _worst(told)
    if shown:
        lines += ["", f"| point | verdict | slower by | {told.confidence:.0%} interval | time |"]
        lines += ["|---|---|--:|---|---|", *(_row(item) for item in shown)]
    if left:
        lines += ["", f"and {left} more in verdict.json"]
    lines += [""]
    if any(item.fails for item in shown):
        lines += [f"- since {code(_since(told))}"]
    lines += [f"- {name}: {code(_side(side))}" for name, side in _sides(told)]
    lines += _listed("**worse device code:**", _resources(told))
    lines += _listed("**cannot be trusted:**", told.doubts)
    lines += _listed("note:", told.notes)
    if any(item.fails for item in shown):
        lines += ["", "Measure these again:", "", f"    {_reproduce(told)}"]
    return "\n".join(lines) + "\n"


# -------------------------------------------------------------------------------------------------
# What is told
# -------------------------------------------------------------------------------------------------


def _counts(told: Announcement) -> str:
    counts = [f"{n} {verdict}" for verdict, n in told.counts.items() if n]
    if regressed := sum(family.fails for family in told.families):
        counts.append(f"families regressed: {regressed}")
    return f"{told.compared} points compared; {', '.join(counts) or 'no point was judged'}"


def _resources(told: Announcement) -> list[str]:
    return [f"{f.function}: {f.loss}: {f.changes}" for f in told.resources]


def _sides(told: Announcement) -> Sequence[tuple[str, Side]]:
    return (("base", told.base), ("head", told.head))


def _side(side: Side) -> str:
    return f"{side.label}, commit {side.commit[:12]}, {side.trials} trials, {_age(side.age_days)}"


def _age(days: float) -> str:
    return f"{days:.0f} days old" if days >= 1 else f"{max(days, 0) * 24:.0f} hours old"


def _since(told: Announcement) -> str:
    """What the loss came after: with pairs, all that lies between is what head changes."""
    if told.paired_base:
        return told.paired_base.label
    return f"{told.base.commit[:12]}, the commit of the baseline"


def _worst(told: Announcement) -> tuple[list[PointVerdict], int]:
    """What turned the gate red, else what stayed undecided; and how many more there are."""
    items = [*told.points, *told.families]
    loud = [item for item in items if item.fails] or [
        item for item in items if item.verdict is Verdict.inconclusive
    ]
    loud.sort(key=lambda item: -(item.comparison.change if item.comparison else float("inf")))
    return loud[:_ROWS], max(len(loud) - _ROWS, 0)


def _reproduce(told: Announcement) -> str:
    """One command that measures and judges again what turned the gate red."""
    red = [item.id for item in _worst(told)[0] if item.fails]
    families = {family.id for family in told.families}
    points = [name for name in red if name not in families]
    # A family is measured as a whole only where none of its points is red by itself.
    broad = [name for name in red if name in families - {family_of(point) for point in points}]
    patterns = [re.escape(p) + "$" for p in points] + [re.escape(f) + "/" for f in broad]
    what = ["--selection", told.selection, "--filter", f"^({'|'.join(patterns)})"]
    if told.paired_base:
        how = ["gate", *told.paired_base.flags, *what]
    else:
        how = ["run", *what]
        if told.base.label.endswith(".json"):  # a night of the history is no file
            how += ["--baseline", told.base.label]
    return _plain(shlex.join(["scripts/gemmwatch", *how, "--out", "out/again"]))


# -------------------------------------------------------------------------------------------------
# How it is written
# -------------------------------------------------------------------------------------------------


def _row(item: PointVerdict) -> str:
    cells = [code(item.id), item.verdict, *_numbers(item)]
    return f"| {' | '.join(cells)} |"


def _numbers(item: PointVerdict) -> list[str]:
    """Change, interval and time; where there are none, the reason."""
    comparison = item.comparison
    if comparison is None:
        return ["", code(item.reason).replace("|", "\\|"), ""]
    time = ""
    if comparison.base_us is not None and comparison.head_us is not None:
        time = f"{comparison.base_us:.5g} to {comparison.head_us:.5g} us"
    return [
        f"{comparison.change:+.1%}",
        f"{comparison.low:+.1%} to {comparison.high:+.1%}",
        time,
    ]


def _listed(title: str, texts: Sequence[str]) -> list[str]:
    lines = [f"- {title} {code(text)}" for text in texts[:_LINES]]
    if len(texts) > _LINES:
        lines.append(f"- {title} {len(texts) - _LINES} more in verdict.json")
    return lines


def code(text: str) -> str:
    """Text as a span of code, which nothing in it can end."""
    line = _plain(text).replace("`", "'")
    return f"`{line if len(line) <= _TEXT else line[:_TEXT] + ' ...'}`" if line else ""


def _plain(text: str) -> str:
    """One line without characters that act on a terminal or on the order of what is read."""
    return " ".join("".join(" " if _acts(c) else c for c in text).split())


def _acts(character: str) -> bool:
    """Controls and line ends, and what is not seen: direction, joiners, surrogates, private use."""
    return unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")
