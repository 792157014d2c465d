"""The verdict for people: what it says, that it fits a screen, and that it quotes text as text."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.announcement import Announcement, announcement
from ci.base_build import BaseBuild
from ci.errors import BadInput
from ci.judge import judge
from ci.policy import GPU
from ci.records import Outcome
from ci.tests.synthetic import LOG_SPREAD, POINT, make_samples, two_sides, with_outcome
from ci.verdict_json import verdict_document
from ci.verdict_text import code, verdict_markdown, verdict_text
from ci.verdicts import Confirmation, Judgement

NOW = datetime(2026, 1, 12, tzinfo=UTC)


def red() -> Judgement:
    return judge(*two_sides(), GPU)


def told(judgement: Judgement) -> Announcement:
    """Through the file, as the comment on a pull request reads it."""
    document = json.loads(json.dumps(verdict_document(judgement, NOW), allow_nan=False))
    return announcement(document)


def test_markdown_says_what_by_how_much_since_when_and_how_to_see_it_again() -> None:
    text = verdict_markdown(told(red()))
    assert text.startswith("## gemmwatch: regression\n")
    row = next(line for line in text.splitlines() if POINT in line)
    point = next(p for p in verdict_document(red(), NOW)["points"] if p["id"] == POINT)
    assert row == (
        f"| `{POINT}` | regressed | +10.0% | {point['low']:+.1%} to {point['high']:+.1%} "
        "| 100 to 110 us |"
    )
    assert "| slower by | 90% interval |" in text
    assert "- since `abc, the commit of the baseline`" in text
    assert "- base: `base.json, commit abc, 10 trials, 10 days old`" in text
    assert (
        "    scripts/gemmwatch run --selection pr --filter "
        "'^(tiled/bf16/nt/4096x4096x4096$)' --baseline base.json"
    ) in text


def test_what_pairs_confirmed_is_since_the_merge_base_and_measured_against_it_again() -> None:
    base = BaseBuild(
        Path("bench"), "1a59ffb, the merge-base with main", "1a59ffb", ("--base", "main")
    )
    confirmation = Confirmation(base, 14, False, (), (), 0.0, ())
    text = verdict_markdown(told(replace(red(), confirmation=confirmation)))
    assert "- since `1a59ffb, the merge-base with main`" in text
    assert "    scripts/gemmwatch gate --base main --selection pr --filter" in text


def test_a_base_that_is_no_file_is_not_given_as_one() -> None:
    """A night is judged against a night of the history."""
    night = replace(red().base, label="night 1a59ffb of 2026-01-02")
    text = verdict_text(told(replace(red(), base=night)))
    assert "scripts/gemmwatch run --selection pr" in text
    assert "--baseline" not in text


def test_a_broad_loss_is_measured_again_as_a_whole() -> None:
    names = [f"tiled/bf16/nt/{n}x{n}x{n}" for n in range(1, 20)]
    base = make_samples(dict.fromkeys(names, LOG_SPREAD))
    head = make_samples(dict.fromkeys(names, LOG_SPREAD + 0.025))
    assert "--filter '^(tiled/bf16/)'" in verdict_text(told(judge(base, head, GPU)))


def test_markdown_fits_a_screen_however_much_regressed() -> None:
    names = [f"tiled/bf16/nt/{n}x{n}x{n}" for n in range(1, 200)]
    base = make_samples(dict.fromkeys(names, LOG_SPREAD))
    head = make_samples(dict.fromkeys(names, LOG_SPREAD + 0.2))
    text = verdict_markdown(told(judge(base, head, GPU)))
    assert len(text.splitlines()) < 40
    assert "more in verdict.json" in text


def test_a_screen_is_kept_also_by_doubts_and_notes() -> None:
    many = tuple(f"doubt {n} " + "x" * 1000 for n in range(100))
    text = verdict_markdown(told(replace(red(), doubts=many, notes=many)))
    assert len(text.splitlines()) < 40
    assert len(text) < 10_000
    assert "96 more in verdict.json" in text


HOSTILE = (
    "|x|\n# pwned <img src=x> [a](http://b) `c` ``d`` @someone #1 \u202egnp.exe\u2066 \u200b\x1b[2J"
)


@pytest.mark.parametrize("place", ["reason", "label", "doubts", "notes", "selection"])
def test_markdown_quotes_hostile_text_as_text(place: str) -> None:
    """Outside of code there are only words of ours."""
    judgement = red()
    if place == "reason":
        base, head = two_sides()
        judgement = judge(base, with_outcome(head, POINT, Outcome.failed, HOSTILE), GPU)
    document = verdict_document(judgement, NOW)
    if place in ("label", "selection"):
        document["head"][place] = HOSTILE
    elif place in ("doubts", "notes"):
        document[place] = [HOSTILE]
    text = verdict_markdown(announcement(document))
    for line in text.splitlines():
        assert line.count("`") % 2 == 0 or line.startswith("    ")
    prose = re.sub(r"`[^`\n]*`|^    .*$", "", text, flags=re.MULTILINE)
    assert not re.search(r"[<@\[\]]|pwned|http|exe", prose)
    assert not re.search("[\u200b\u202a-\u202e\u2066-\u2069\x00-\x09\x0b-\x1f]", text)
    assert "pwned" in text


@given(st.text())
def test_nothing_ends_the_code_that_it_is_quoted_in(text: str) -> None:
    quoted = code(text)
    assert re.fullmatch(r"(`[^`]+`)?", quoted)
    assert len(quoted.splitlines()) <= 1


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("answer",), "fine"),
        (("schema",), 2),
        (("summary", "same"), "many"),
        (("head", "selection"), None),
        (("points",), {}),
        (("points", 0, "id"), "tiled `x`"),
        (("points", 0, "verdict"), "<b>"),
        (("points", 0, "fails"), 1),
        (("points", 0, "change"), -1.0),
        (("points", 0, "low"), "1"),
        (("families",), [3]),
        (("doubts",), [{}]),
        (("confirmation",), {"base": {"label": "x", "flags": "--base"}}),
    ],
    ids=str,
)
def test_a_verdict_that_is_none_is_refused(place: tuple[str | int, ...], value: Any) -> None:
    document: Any = json.loads(json.dumps(verdict_document(red(), NOW)))
    *path, last = place
    inner = document
    for key in path:
        inner = inner[key]
    inner[last] = value
    with pytest.raises(BadInput, match=r"^verdict\.json: .*; judge again$"):
        announcement(document)


def test_the_terminal_says_why_an_answer_cannot_be_trusted() -> None:
    base, head = two_sides(0)
    other = replace(head, fingerprint={**head.fingerprint, "driver": "9"})
    text = verdict_text(told(judge(base, other, GPU)))
    assert text.startswith("untrusted (exit code 4)")
    assert "driver is 580.1 in base and 9 in head" in text
