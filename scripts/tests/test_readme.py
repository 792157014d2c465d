"""Every command that a README shows is executed here, or is listed with where else it is proved.

The commands run in a scratch copy of the working tree that shares the build and the Python
environment, in the order in which a reader meets them: first README.md, then each folder's.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.tests.machine import ROOT

# Commands that are not executed here, as they stand in a README, and what executes them.
ELSEWHERE = {
    "scripts/run": "test_the_main_job",
    "scripts/gemmwatch run --selection smoke": "scripts/run measures with it, to judge at once",
    "scripts/gemmwatch run --selection smoke --judge": "scripts/run measures with it",
    "scripts/gemmwatch run --selection pr --load sustained": "ci/tests/test_run.py; takes minutes",
    "scripts/test": "is running this",
    "scripts/check": ".ci/run",
    "scripts/check --fix": "scripts/check is the same steps without the corrections",
    ".ci/run": "continuous integration",
    "scripts/faults": "ctest runs its program with --quick",
    "scripts/faults --quick": "ctest: faults_host and faults_gpu",
    "scripts/calibrate": "test_calibrate.py; it takes minutes and changes the records",
    "scripts/calibrate --device=host --seeds=1..10000": "likewise",
    "scripts/faults --fault=cpu_ld_ignored": "ctest runs its program for all faults",
    "scripts/gemmwatch gate --base main --selection pr": "ci/tests/test_paired_gate.py",
    "scripts/gemmwatch evidence": "ci/tests/test_evidence.py; it takes minutes",
    "scripts/gemmwatch evidence --check": "ci/tests/test_evidence.py",
    "scripts/gemmwatch evidence measure --name NAME --source TEXT --minutes 9": "likewise",
    "scripts/comment": "scripts/tests/test_lab.py",
    "build/cuda/kernels/emulation/gemmwatch-emulate --device=host "
    "--under-emulation": "ctest: emulate_*",
    "build/cuda/kernels/emulation/gemmwatch-emulate --device=host --kernel=wgmma_tma "
    "--problem=bf16/nn/129x264x64": "likewise; it wants the CUDA toolkit",
    "scripts/tune": "scripts/tests/test_tune.py; it wants a GPU",
    "scripts/gemmwatch tune RUN.json": "ci/tests/test_tune.py; it wants a run on a GPU",
    "scripts/gemmwatch validate record --selection pr --out before": "test_validate_command.py",
    "scripts/gemmwatch validate record --selection pr --out after": "likewise",
    "scripts/gemmwatch validate compare before after": "likewise",
    "scripts/gemmwatch resources record": "ci/resources/tests; it wants a CUDA build",
    "scripts/gemmwatch resources check": "likewise",
    "scripts/gemmwatch resources approve": "likewise; it changes what is approved",
    "scripts/gemmwatch history show RUN": "ci/history/tests/test_store.py; an id is no constant",
    "scripts/gemmwatch history anchor RUN": "likewise",
    "scripts/gemmwatch history evaluate": "ci/history/tests/test_evaluation.py, with less effort",
    "scripts/gemmwatch nightly": "ci/history/tests/test_nightly.py; it takes minutes",
    "scripts/gemmwatch evidence record RUN.json... --name NAME --source TEXT": "test_evidence.py",
}

# What a README may tell a reader to run and this test then runs.
EXECUTED = ("scripts/gemmwatch ", "scripts/readme", "scripts/setup", "build/")

# Words that stand for a file of the reader's.
PLACEHOLDERS = {"FILE": "out/smoke/run.json", "RUN.json": "out/smoke/run.json"}


def readmes() -> list[Path]:
    """README.md of the root first, then those of the folders."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", "*README.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return sorted(map(Path, listed.stdout.split()), key=lambda path: (len(path.parts), path))


def commands(text: str) -> Iterator[str]:
    """The shell commands of fenced sh blocks, and of indented blocks that call the repository."""
    for block in re.findall(r"^```(?:sh|bash)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from lines_of(block)
    indented = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for line in lines_of("\n".join(re.findall(r"^    (\S.*)$", indented, re.MULTILINE))):
        if line.startswith(("scripts/", "build/")):
            yield line


def lines_of(block: str) -> Iterator[str]:
    for line in block.replace("\\\n", " ").splitlines():
        if command := re.sub(r"(^|\s)#.*", "", line).strip():
            yield re.sub(r"\s+", " ", command)


SHOWN = [(path, command) for path in readmes() for command in commands((ROOT / path).read_text())]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the working tree, in which baselines and results are nobody's."""
    root = tmp_path_factory.mktemp("scratch")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    for shared in ("build", ".venv"):
        if (ROOT / shared).exists():
            (root / shared).symlink_to(ROOT / shared)
    return root


@pytest.fixture(scope="module")
def main_job(scratch: Path) -> subprocess.CompletedProcess[str]:
    return execute("scripts/run smoke", scratch)


def execute(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = " ".join(PLACEHOLDERS.get(word, word) for word in command.split(" "))
    if not (ROOT / "build/cpu").exists():
        command = command.replace("build/cpu/", "build/cuda/")
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
    )


def test_the_main_job(main_job: subprocess.CompletedProcess[str], scratch: Path) -> None:
    # 1 and 4 are answers too: what the judge makes of this machine's speed is no matter of a test.
    assert main_job.returncode in (0, 1, 4), main_job.stdout + main_job.stderr
    for result in ("run.json", "report/index.html", "check.log"):
        assert (scratch / "out/smoke" / result).stat().st_size > 0
    table = main_job.stdout[main_job.stdout.rindex("index.html") :]
    assert "cpu_tiled" in table, "the scoreboard is what is printed last"


def test_the_readme_shows_the_two_commands_of_a_newcomer() -> None:
    shown = [command for path, command in SHOWN if path == Path("README.md")]
    assert {"scripts/run", "scripts/test"} <= set(shown)


@pytest.mark.parametrize(
    ("path", "command"), [shown for shown in SHOWN if shown[1] not in ELSEWHERE], ids=str
)
@pytest.mark.usefixtures("main_job")
def test_a_command_in_a_readme_works(path: Path, command: str, scratch: Path) -> None:
    assert command.startswith(EXECUTED), f"{path}: neither executed here nor listed in ELSEWHERE"
    done = execute(command, scratch)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def test_generated_parts_of_the_readme_are_current(scratch: Path) -> None:
    done = execute("scripts/readme --check", scratch)
    assert done.returncode == 0, done.stdout + done.stderr
