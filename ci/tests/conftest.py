"""The fake bench program, and the gemmwatch command without its report."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import ci.baseline
import ci.comment
import ci.evidence.command
import ci.export
import ci.gate
import ci.listing
import ci.policy
import ci.run
import ci.scoreboard
import ci.tuning.command
import ci.validation.command
from ci.command_line import run_command
from ci.tests.synthetic import catalog_document

COMMANDS = [
    ci.run,
    ci.gate,
    ci.baseline,
    ci.scoreboard,
    ci.tuning.command,
    ci.listing,
    ci.export,
    ci.comment,
    ci.evidence.command,
    ci.validation.command,
]


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """In the background pytest inherits an ignored SIGINT, and so would what it interrupts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class FakeBench:
    """The scenario of tests/fake_bench.py; change it, then write it."""

    file: Path
    path: Path = Path(__file__).parent / "fake_bench.py"
    catalog: dict[str, Any] = field(default_factory=catalog_document)
    behaviour: dict[str, dict[str, Any]] = field(default_factory=dict)
    exit_at_start: int = 0

    def write(self) -> None:
        scenario = {
            "catalog": self.catalog,
            "behaviour": self.behaviour,
            "exit_at_start": self.exit_at_start,
        }
        self.file.write_text(json.dumps(scenario))

    def misbehave(self, point: str, do: str, seed: int | None = None) -> None:
        self.behaviour[point] = {"do": do} | ({} if seed is None else {"seed": seed})
        self.write()

    def behave(self) -> None:
        self.behaviour = {}
        self.write()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBench:
    fake = FakeBench(tmp_path / "scenario.json")
    fake.write()
    monkeypatch.setenv("FAKE_BENCH", str(fake.file))
    return fake


@pytest.fixture
def gemmwatch() -> Callable[..., int]:
    """The command; returns its exit code."""

    def command(*arguments: str | Path) -> int:
        try:
            return run_command(list(map(str, arguments)), [c.add_parser for c in COMMANDS])
        except SystemExit as usage:  # argparse
            assert isinstance(usage.code, int)
            return usage.code

    return command


@pytest.fixture
def roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Empty folders in place of the repository's approved and local baselines."""
    approved, local = tmp_path / "approved", tmp_path / "local"
    monkeypatch.setattr(ci.baseline, "APPROVED", approved)
    monkeypatch.setattr(ci.baseline, "LOCAL", local)
    return approved, local


@pytest.fixture
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ci.policy, "HOST", replace(ci.policy.HOST, point_deadline_s=1.0, start_deadline_s=1.0)
    )
