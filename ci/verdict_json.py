"""verdict.json: the whole judgement, for programs."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import Any

from ci.catalog import SCHEMA
from ci.records import Samples
from ci.verdicts import Judgement, PointVerdict


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
    }


def _side(samples: Samples, now: datetime) -> dict[str, Any]:
    return {
        "label": samples.label,
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
            if field.name != "estimate":
                document[field.name] = getattr(comparison, field.name)
    return document
