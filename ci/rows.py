"""Rows of Google Benchmark's JSON, also of a file whose writer died."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ci.records import Outcome, clean_name

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RowFile:
    context: dict[str, Any]
    rows: list[Row]


def read_rows(path: Path) -> RowFile:
    """All complete rows. A process that died early has left a prefix of the file, or nothing."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    start = re.search(r'"benchmarks"\s*:\s*\[', text)
    if not start:
        return RowFile({}, [])
    head = text[: start.start()].rstrip().rstrip(",")
    context: dict[str, Any] = json.loads(head + "}")["context"]
    decoder = json.JSONDecoder()
    rows = []
    position = text.find("{", start.end())
    while position >= 0:
        try:
            row, end = decoder.raw_decode(text, position)
        except ValueError:
            break  # the row that was being written
        rows.append(row)
        position = text.find("{", end)
    return RowFile(context, rows)


def row_id(row: Row) -> str:
    return clean_name(str(row.get("run_name", row.get("name", ""))))


def failure_of(row: Row) -> tuple[Outcome, str] | None:
    """Why a row has no time, or None if it has one."""
    if row.get("error_occurred") or row.get("skipped"):
        message = str(row.get("error_message", ""))
        kind, colon, rest = message.partition(": ")
        if kind == "incorrect" and colon:
            return Outcome.incorrect, rest
        return Outcome.failed, rest if kind == "failed" and colon else message
    for counter in ("kernel_us", "control_us", "log_ratio"):
        value = row.get(counter)
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            return Outcome.failed, f"the bench program reported {counter} = {value}"
    if row["kernel_us"] <= 0 or row["control_us"] <= 0:
        return Outcome.failed, "the bench program reported a time that is not above 0"
    return None
