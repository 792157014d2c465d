"""Which of driver, toolkit, library, clocks and code explains what moved. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ci.policy import Policy
from ci.validation.compare import Validation


def causes(validation: Validation, policy: Policy) -> list[str]:
    """The likeliest first; each with what it rests on. Empty if nothing moved."""
    return [*_clocks(validation, policy), *_library(validation), *_ours(validation)]


def _clocks(v: Validation, policy: Policy) -> list[str]:
    if v.clock is None or abs(v.clock) <= policy.tau:
        return []
    others = _changed(v, ("power_limit_w",))
    why = f", {others[0]}" if others else ", the power limit is the same"
    return [f"clocks: the SM clock moved by {v.clock:+.1%}{why}"]


def _library(v: Validation) -> list[str]:
    moved = [item for item in v.moved if item.who == "control"]
    if not moved and not v.dispatch:
        return []
    version = _changed(v, ("cublas", "cublas_path", "blas"))
    suspect = version[0] if version else _driver_or_unknown(v, "its version is the same")
    return [
        f"library: {suspect}; {len(v.dispatch)} points are dispatched to other functions, "
        f"{len(moved)} changed speed while our kernels kept theirs"
    ]


def _ours(v: Validation) -> list[str]:
    moved = [item for item in v.moved if item.who == "kernel"]
    found = []
    if moved or v.bits or v.common_loss:
        what = f"{len(moved)} points of our kernels changed speed, {len(v.bits)} their bits"
        toolkit = f"toolkit: nvcc {v.old.toolkit or 'none'} -> {v.new.toolkit or 'none'}"
        driver = f"driver: {_driver_or_unknown(v, 'driver and runtime are the same')}"
        found.append(f"{driver if v.old.toolkit == v.new.toolkit else toolkit}; {what}")
    if v.resources:
        found.append(f"toolkit: {len(v.resources)} device functions are worse than they were")
    return found


def _driver_or_unknown(v: Validation, otherwise: str) -> str:
    changed = _changed(v, ("driver", "cuda_runtime"))
    return ", ".join(changed) if changed else otherwise


def _changed(v: Validation, keys: Sequence[str]) -> list[str]:
    return [fact for fact in v.facts if fact.split(":", 1)[0] in keys]
