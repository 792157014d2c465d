"""The rules of the workflows that actionlint and zizmor do not know of."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ci.comment import ARTIFACT, VERDICT
from scripts.tests.machine import ROOT

FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))
OURS = r"(scripts/(lab|comment|test|check|setup|gemmwatch)\b)"
# What makes a machine able to check out and to run our scripts.
BOOTSTRAP = (
    "sudo apt-get update",
    "apt-get update && apt-get install -y git ca-certificates",
    'git config --global --add safe.directory "$GITHUB_WORKSPACE"',
)


def jobs(path: Path) -> Iterator[str]:
    """The text of each job."""
    _, _, text = path.read_text().partition("\njobs:\n")
    yield from re.split(r"^  (?=[\w-]+:\n)", text, flags=re.MULTILINE)[1:]


def commands(text: str) -> Iterator[str]:
    """The lines of each `run:`, whether in one line or in a block."""
    for indent, line, block in re.findall(
        r"^( *)(?:- )?run: (?:\|\n((?: {10,}.*\n)+)|(.*)\n)", text, re.MULTILINE
    ):
        assert indent
        yield from filter(None, map(str.strip, (line or block).splitlines()))


ALL_JOBS = [pytest.param(job, id=f"{path.stem}-{job.split(':')[0]}")
            for path in FILES for job in jobs(path)]  # fmt: skip
GPU_JOBS = [job for job in ALL_JOBS if "self-hosted" in str(job.values[0])]


def test_there_are_jobs_of_both_kinds() -> None:
    assert len(GPU_JOBS) >= 3
    assert len(ALL_JOBS) > len(GPU_JOBS)


@pytest.mark.parametrize("job", ALL_JOBS)
def test_each_step_runs_a_script_of_ours(job: str) -> None:
    found = list(commands(job))
    assert found
    for command in found:
        assert command in BOOTSTRAP or re.match(OURS, command), command


@pytest.mark.parametrize("job", ALL_JOBS)
def test_a_checkout_leaves_no_token_behind(job: str) -> None:
    assert job.count("actions/checkout@") == job.count("persist-credentials: false") > 0


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_actions_are_pinned_and_their_version_is_said(path: Path) -> None:
    for use in re.findall(r"uses: (.*)", path.read_text()):
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use), use


@pytest.mark.parametrize("job", GPU_JOBS)
def test_the_gpu_is_behind_an_environment_and_its_jobs_can_only_read(job: str) -> None:
    assert re.search(r"^    environment: gpu(-main)?\b", job, re.MULTILINE)
    (permissions,) = re.findall(r"^    permissions:\n((?: {6}.*\n)+)", job, re.MULTILINE)
    assert permissions.split() == ["contents:", "read"]
    assert "secrets." not in job or "environment: gpu-main" in job


def test_the_gate_of_a_pull_request_waits_for_a_reviewer_and_measures_what_was_reviewed() -> None:
    text = (ROOT / ".github/workflows/gate.yml").read_text()
    assert "    environment: gpu\n" in text
    assert "ref: ${{ github.event.pull_request.head.sha }}" in text
    assert "group: gate-${{ github.event.pull_request.number }}" in text


def test_the_guide_speaks_of_the_workflows_as_they_are() -> None:
    guide = (ROOT / "ci/RUNNER.md").read_text()
    for name in set(re.findall(r"scripts/(\w+)", guide)):
        assert (ROOT / "scripts" / name).exists(), name
    workflows = "".join(path.read_text() for path in FILES)
    for name in ("gemmwatch-gpu", "gpu-main", *re.findall(r"GEMMWATCH_[A-Z_]+(?=[ ;`\n])", guide)):
        assert name in guide
        assert name in workflows or name in (ROOT / "scripts/lab").read_text(), name
    for path in FILES:
        assert f"| `{path.stem}` |" in guide


def test_no_workflow_with_rights_sees_the_code_of_a_pull_request() -> None:
    for path in FILES:
        text = path.read_text()
        assert "pull_request_target" not in text
        if "write" in text:
            assert "ref:" not in text and "head.sha" not in text, path.name


def test_the_comment_reads_what_the_gate_leaves() -> None:
    gate, comment = ((ROOT / f".github/workflows/{n}.yml").read_text() for n in ("gate", "comment"))
    assert f"name: {ARTIFACT}\n          path: |\n            out/gate/{VERDICT}\n" in gate
    assert "--out out/gate\n" in gate
    assert "workflows: [gate]" in comment
    assert "name: gate\n" in gate
