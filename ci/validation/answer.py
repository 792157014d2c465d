"""The answer on one screen: what moved, whether it matters, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ci.policy import Policy
from ci.validation.cause import causes
from ci.validation.compare import Safety, Validation

_SHOWN = 3  # items of a list; the rest is in the JSON


def answer_text(v: Validation, policy: Policy) -> str:
    return "\n".join(_lines(v, policy))


def answer_document(v: Validation, policy: Policy) -> dict[str, Any]:
    return {
        "schema": 1,
        "answer": v.safety,
        "exit_code": int(v.exit_code),
        "old": {"label": v.old.label, "recorded": v.old.recorded},
        "new": {"label": v.new.label, "recorded": v.new.recorded},
        "facts": list(v.facts),
        "obstacles": list(v.obstacles),
        "causes": causes(v, policy),
        "incorrect": list(v.incorrect),
        "lost": list(v.lost),
        "other_bits": list(v.bits),
        "dispatch": list(v.dispatch),
        "accuracy": list(v.accuracy),
        "resources": [f"{f.function}: {f.loss}: {f.changes}" for f in v.resources],
        "moved": [
            {"id": m.id, "who": m.who, "change": m.change, "reason": m.reason} for m in v.moved
        ],
        "undecided": [verdict.id for verdict in v.undecided],
        "clock": v.clock,
        "common": v.common,
        "doubts": list(v.doubts),
    }


def _lines(v: Validation, policy: Policy) -> Iterator[str]:
    yield f"{v.safety.upper()}: {v.old.label} ({v.old.recorded}) -> {v.new.label}"
    yield from _section("machine", "nothing that is known of it moved", v.facts)
    if v.obstacles:
        yield from _section("why", "", v.obstacles)
    else:
        yield from _results(v)
        yield from _speed(v)
        yield from _section("cause", "nothing moved that would need one", causes(v, policy))
    yield f"next       {_next_step(v)}"


def _results(v: Validation) -> Iterator[str]:
    common = sum(point in v.old.points for point in v.new.points)
    told = [p for p in v.new.points if p in v.old.points and v.new.points[p].digests]
    same = [p for p in told if v.old.points[p].digests == v.new.points[p].digests]
    yield (
        f"numerics   {common} points are correct on both; "
        f"{len(same)} of {len(told)} the same bit for bit"
    )
    yield from _list("wrong now", v.incorrect)
    yield from _list("no result now", v.lost)
    yield from _list("other bits from the same code", v.bits)
    yield from _list("less accurate library", v.accuracy)
    yield f"code       {_code(v)}"
    yield from _list("worse", [f"{f.function}: {f.loss}" for f in v.resources])
    yield from _section("dispatch", "the library chose as before, where that is known", v.dispatch)


def _code(v: Validation) -> str:
    if v.old.program == v.new.program:
        return "one and the same program"
    same = sum(v.old.code[k] == v.new.code.get(k) for k in v.old.code)
    return f"{same} of {len(v.old.code)} kernels are the same machine code"


def _speed(v: Validation) -> Iterator[str]:
    kept = v.compared - len(v.moved) - len(v.undecided)
    yield (
        f"speed      {v.compared} points of our kernels: {kept} as before, {len(v.moved)} moved, "
        f"{len(v.undecided)} undecided"
    )
    words = {True: "slower", False: "faster"}
    yield from _list(
        "moved",
        [f"{m.id}: the {m.who} is {abs(m.change):.1%} {words[m.change > 0]}" for m in v.moved],
    )
    if v.common is not None:
        clock = "not known" if v.clock is None else f"{v.clock:+.1%}"
        yield f"together   time {v.common:+.1%}, SM clock {clock}"
    yield from _list("doubt", v.doubts)


def _section(name: str, otherwise: str, items: Sequence[str]) -> Iterator[str]:
    yield f"{name:<10} {items[0] if items else otherwise}"
    yield from (f"{'':<10} {item}" for item in items[1:_SHOWN])
    if len(items) > _SHOWN:
        yield f"{'':<10} and {len(items) - _SHOWN} more"


def _list(name: str, items: Sequence[str]) -> Iterator[str]:
    for item in items[:_SHOWN]:
        yield f"{'':<10} {name}: {item}"
    if len(items) > _SHOWN:
        yield f"{'':<10} {name}: and {len(items) - _SHOWN} more"


def _next_step(v: Validation) -> str:
    if v.safety is Safety.safe:
        return "move; then `gemmwatch baseline store` a run of the new machine, whose epoch begins"
    if v.incorrect:
        return f"do not move; reproduce with gemmwatch-check '{v.incorrect[0]}'"
    if v.safety is Safety.not_safe:
        return "do not move yet; record once more on both sides, then report the cause above"
    return "record both sides with one program on one kind of machine: `gemmwatch validate record`"
