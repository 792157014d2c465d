"""Epochs: stretches of nights on one fingerprint, within which alone numbers are compared. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Epoch:
    """Nights first up to but without end. changed: field to its old and new value."""

    first: int
    end: int
    fingerprint: Mapping[str, str]
    changed: Mapping[str, tuple[str, str]]


def find_epochs(fingerprints: Sequence[Mapping[str, str]]) -> list[Epoch]:
    """The epochs of nights with these fingerprints, oldest first; going back opens one too."""
    firsts = [
        night
        for night, fingerprint in enumerate(fingerprints)
        if night == 0 or fingerprint != fingerprints[night - 1]
    ]
    ends = [*firsts[1:], len(fingerprints)]
    return [
        Epoch(
            first=first,
            end=end,
            fingerprint=fingerprints[first],
            changed=difference(fingerprints[first - 1], fingerprints[first]) if first else {},
        )
        for first, end in zip(firsts, ends, strict=True)
    ]


def difference(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The fields that differ, with both values."""
    pairs = {key: (old.get(key, "absent"), new.get(key, "absent")) for key in sorted({*old, *new})}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
