"""Synthetic runs on disk, made once: their figures take seconds to draw."""

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest

import reports.commands
from reports.site.build import build_site
from reports.site.read_trends import read_trends
from reports.tests import synthetic, synthetic_trends
from reports.tests.synthetic import Json, write


@pytest.fixture(scope="session")
def host_run() -> Json:
    return synthetic.run(synthetic.host(), trials=3)


@pytest.fixture(scope="session")
def gpu_run() -> Json:
    """The GPU's kernels on the ladder's problems and a few more, in fp32 and bf16."""
    machine = synthetic.gpu()
    kept = [
        index
        for index, (problem_id, groups) in enumerate(machine.problems)
        if problem_id.startswith(("fp32", "bf16")) and ("ladder" in groups or index % 6 == 4)
    ]
    machine.problems = [machine.problems[index] for index in kept]
    machine.planted = {
        (kernel, kept.index(index)): outcome
        for (kernel, index), outcome in machine.planted.items()
        if index in kept
    }
    return synthetic.run(machine, trials=3)


@pytest.fixture(scope="session")
def small_run() -> Json:
    """One precision, so that a page is drawn in a second."""
    machine = synthetic.host()
    machine.problems = machine.problems[:4]
    return synthetic.run(machine, trials=3)


@pytest.fixture
def run_file(tmp_path: Path, host_run: Json) -> Path:
    return write(tmp_path / "run.json", host_run)


@pytest.fixture(scope="session")
def site_trends() -> Json:
    """A month of the points of a few problems; one kernel has a hostile name."""
    made = synthetic_trends.trends(synthetic_trends.plan(nights=30, points=22))
    return synthetic_trends.renamed(made, "coalesced", synthetic_trends.HOSTILE)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, site_trends: Json) -> Path:
    """The folder of a site. A test only reads it."""
    folder = tmp_path_factory.mktemp("site")
    trends = read_trends(write(folder / "trends.json", site_trends))
    build_site(trends, None, None, folder / "site")
    return folder / "site"


@pytest.fixture
def gemmwatch() -> Callable[..., int]:
    """The command line: takes its words, gives the exit code."""

    def call(*words: object) -> int:
        parser = argparse.ArgumentParser()
        reports.commands.add_parser(parser.add_subparsers(required=True))
        args = parser.parse_args([str(word) for word in words])
        code = args.execute(args)
        assert isinstance(code, int)
        return code

    return call
