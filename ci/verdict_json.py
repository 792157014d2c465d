"""verdict.json: the whole judgement, for programs."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any

from ci.catalog import SCHEMA
from ci.records import Samples
from ci.verdicts import Confirmation, Judgement, PointVerdict


def verdict_document(judgement: Judgement, now: datetime) -> dict[str, Any]:
    """The document; now dates the age of both sides."""
    answer = judgement.answer
    return {
        "schema": SCHEMA,
        "answer": answer,
        "exit_code": answer.exit_code,
        "policy": dataclasses.asdict(judgement.policy),
        "base": _side(judgement.base, now),
        "head": _side(judgement.head, now),
        "summary": dict(judgement.counts) | {"compared": judgement.compared},
        "doubts": list(judgement.doubts),
        "notes": list(judgement.notes),
        "points": [_item(point) for point in judgement.points],
        "families": [_item(family) for family in judgement.families],
        "confirmation": _confirmation(judgement.confirmation),
        "resources": [dataclasses.asdict(finding) for finding in judgement.resources],
        "canary": [_item(twin) for twin in judgement.canary or ()],
    }


def _confirmation(confirmation: Confirmation | None) -> dict[str, Any] | None:
    """The pairs as they were read, also where that was not gated."""
    if confirmation is None:
        return None
    return {
        "base": {
            "label": confirmation.base.label,
            "commit": confirmation.base.commit,
            "flags": list(confirmation.base.flags),
        },
        "pairs": confirmation.pairs,
        "same_code": confirmation.same_code,
        "alarms": confirmation.alarms,
        "seconds": round(confirmation.seconds, 1),
        "measured": [_item(item) for item in confirmation.measured],
        "unmeasured": list(confirmation.unmeasured),
    }


def _side(samples: Samples, now: datetime) -> dict[str, Any]:
    return {
        "label": samples.label,
        "finished": samples.date.isoformat(),
        "age_days": round(samples.age_days(now), 2),
        "selection": samples.selection,
        "trials": samples.trials,
        "injected": samples.injected,
        "fingerprint": dict(samples.fingerprint),
        "environment": dict(samples.environment),
    }


def _item(item: PointVerdict) -> dict[str, Any]:
    """A point that was not compared has no numbers."""
    document: dict[str, Any] = {
        "id": item.id,
        "verdict": item.verdict,
        "reason": item.reason,
        "fails": item.fails,
    }
    if comparison := item.comparison:
        document["change"] = comparison.change
        for field in dataclasses.fields(comparison):
            if field.name != "effect":
                document[field.name] = getattr(comparison, field.name)
    return document
