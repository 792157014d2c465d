import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.tests.machine import ROOT, Machine


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    """A machine without compiler, Python, network or GPU, used by an ordinary user."""
    machine = Machine(tmp_path)
    machine.script("id", "echo 1000")
    return machine


@pytest.fixture
def ready(bare: Machine) -> Machine:
    """A machine on which setup finds everything."""
    for name in ("g++", "cmake", "ninja"):
        bare.link(name)
    bare.link("python3", sys.executable)
    return bare


@pytest.fixture
def checkout(tmp_path: Path) -> Callable[..., Path]:
    """Makes a repository that holds only these of the scripts."""

    def copy(*scripts: str) -> Path:
        root = tmp_path / "checkout"
        (root / "scripts").mkdir(parents=True)
        for name in scripts:
            shutil.copy2(ROOT / "scripts" / name, root / "scripts" / name)
        return root

    return copy
