"""What may not get worse in device code without a review. Pure; without noise, no tolerance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from ci.resources.record import Function, Resources

# A loss, by the words for it: what grows when a function gets worse.
_WORSE: Mapping[str, Callable[[Function], int]] = {
    "accesses to local memory (spilled registers)": lambda f: f.local_loads + f.local_stores,
    "bytes of stack": lambda f: f.stack_bytes,
    "fewer tensor instructions": lambda f: -f.tensor_instructions,
}
_IDENTITY = ("kernel", "arch", "function", "code")


@dataclass(frozen=True, slots=True)
class Finding:
    """A function that is not as it was approved. An empty `loss` is for information."""

    function: str  # the key
    loss: str
    changes: str


def compare(approved: Resources, head: Resources) -> list[Finding]:
    """Every function that differs, losses first. Both sides were compiled by the same toolkit."""
    keys = sorted(approved.functions.keys() | head.functions.keys())
    found = [
        finding
        for key in keys
        if (finding := _compare(key, approved.functions.get(key), head.functions.get(key)))
    ]
    return sorted(found, key=lambda finding: not finding.loss)


def _compare(key: str, was: Function | None, now: Function | None) -> Finding | None:
    if now is None:
        return Finding(key, "gone", "approved, and not in this build")
    if was is None:
        return Finding(key, "", "new")
    if was == now:
        return None
    losses = [words for words, cost in _WORSE.items() if cost(now) > cost(was)]
    if was.resident_warps and 0 < now.resident_warps < was.resident_warps:
        losses.append("fewer resident warps")
    return Finding(key, ", ".join(losses), _changes(was, now))


def _changes(was: Function, now: Function) -> str:
    changed = [
        f"{field.name} {getattr(was, field.name)} -> {getattr(now, field.name)}"
        for field in fields(Function)
        if field.name not in _IDENTITY and getattr(was, field.name) != getattr(now, field.name)
    ]
    return ", ".join(changed) or "other machine code at the same cost"
