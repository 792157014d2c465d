"""scripts/setup: it does nothing where nothing is missing, and names or installs what is."""

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.tests.machine import ROOT, Machine, write_script

SETUP = ROOT / "scripts/setup"
LIBRARIES = ["libbenchmark-dev", "libgtest-dev", "libgmock-dev", "nlohmann-json3-dev"]
LIBRARIES += ["libopenblas-dev", "libeigen3-dev"]


def test_nothing_to_do_is_nothing_done(ready: Machine) -> None:
    ready.logging("apt-get", "exit 1")
    for _ in range(2):
        done = ready.run(SETUP)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert ready.calls() == []


@pytest.mark.parametrize(
    ("command", "package"), [("ninja", "ninja-build"), ("cmake", "cmake"), ("g++", "g++")]
)
def test_a_user_is_told_what_to_install(ready: Machine, command: str, package: str) -> None:
    ready.logging("apt-get")
    ready.lose(command)
    done = ready.run(SETUP)
    assert done.returncode == 2
    line = next(line for line in done.stderr.splitlines() if "sudo" in line)
    assert line.split()[:4] == ["sudo", "apt-get", "install", "-y"]
    assert package in line.split()
    assert ready.calls() == []


def test_an_old_tool_is_a_missing_one(ready: Machine) -> None:
    ready.script("cmake", "echo 'cmake version 3.18.4'")
    ready.script("g++", "echo 11.4.0")
    assert ready.run(SETUP, "--missing").stdout.split() == ["g++", *LIBRARIES, "cmake"]


def test_libraries_are_looked_for_where_cmake_looks(ready: Machine, tmp_path: Path) -> None:
    real = (ready.commands / "g++").rename(ready.commands / "real-g++")
    ready.script("g++", f'exec {real} -nostdinc -isystem {ready.commands} "$@"')  # sees no header
    assert ready.run(SETUP, "--missing").stdout.split() == LIBRARIES

    ready.script("uname", "echo x86_64")
    elsewhere = tmp_path / "elsewhere"
    for header in ("benchmark/benchmark.h", "x86_64-linux-gnu/openblas-pthread/openblas_config.h"):
        (elsewhere / "include" / header).parent.mkdir(parents=True)
        (elsewhere / "include" / header).touch()
    missing = ready.run(SETUP, "--missing", CMAKE_PREFIX_PATH=f"/nowhere:{elsewhere}")
    assert missing.stdout.split() == [
        name for name in LIBRARIES if name not in ("libbenchmark-dev", "libopenblas-dev")
    ]


def test_root_installs_what_is_missing(ready: Machine) -> None:
    ready.script("id", "echo 0")
    package = (ready.commands / "ninja").rename(ready.commands / "ninja.deb")
    ready.link("mv")
    ready.logging("apt-get", f"[[ $1 != install ]] || mv {package} {package.with_suffix('')}")
    done = ready.run(SETUP)
    assert done.returncode == 0, done.stderr
    assert ready.calls() == [
        "apt-get update",
        "apt-get install -y --no-install-recommends ninja-build",
    ]


def test_an_installation_that_fails_shows_why(ready: Machine) -> None:
    ready.script("id", "echo 0")
    ready.lose("ninja")
    ready.script("apt-get", "echo no route to host; exit 100")
    done = ready.run(SETUP)
    assert done.returncode == 2
    assert "no route to host" in done.stderr


def test_an_installation_without_effect_is_not_a_success(ready: Machine) -> None:
    ready.script("id", "echo 0")
    ready.lose("ninja")
    ready.script("apt-get", "exit 0")
    done = ready.run(SETUP)
    assert done.returncode == 2
    assert "ninja-build" in done.stderr


def test_other_systems_are_told_the_names(ready: Machine) -> None:
    ready.lose("ninja")
    done = ready.run(SETUP)
    assert done.returncode == 2
    assert "no apt-get" in done.stderr and "ninja-build" in done.stderr


def test_an_unknown_option_is_refused(ready: Machine) -> None:
    done = ready.run(SETUP, "--everything")
    assert done.returncode == 2
    assert "Usage: scripts/setup" in done.stderr


# ---- what only the tests use ---------------------------------------------------------------------


@pytest.fixture
def testable(ready: Machine, fresh: Path) -> Path:
    """scripts/setup of a repository whose Python packages are all there, on such a machine."""
    require(fresh, "pip>=9")
    ready.script("find", "echo /usr/lib/postgresql/15/bin/initdb")
    for name in ("chromium", "chromedriver"):
        ready.script(name, "exit 0")
    return fresh / "scripts/setup"


def test_programs_of_the_tests_that_are_there_are_left_alone(
    ready: Machine, testable: Path
) -> None:
    done = ready.run(testable, "--with", "test")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_root_installs_the_programs_of_the_tests(ready: Machine, testable: Path) -> None:
    ready.script("id", "echo 0")
    ready.script("find", "exit 1")
    ready.lose("chromedriver")
    ready.logging("apt-get")
    assert ready.run(testable, "--with", "history", "test").returncode == 0
    install = "apt-get install -y --no-install-recommends"
    assert [call for call in ready.calls() if "install" in call] == [
        f"{install} postgresql",
        f"{install} chromium chromium-driver",
        f"{install} libbenchmark-tools",
    ]


@pytest.mark.parametrize("user", [0, 1000])
def test_what_cannot_be_had_for_the_tests_is_said_and_is_no_failure(
    ready: Machine, testable: Path, user: int
) -> None:
    ready.script("id", f"echo {user}")
    ready.lose("chromium")
    ready.script("apt-get", "exit 100")
    done = ready.run(testable, "--with", "test")
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = [line for line in done.stdout.splitlines() if "skipped" in line]
    assert "Chromium" in line and "chromium chromium-driver" in line


def test_without_the_tests_their_programs_are_not_looked_for(
    ready: Machine, testable: Path
) -> None:
    ready.lose("chromium")
    done = ready.run(testable, "--with", "history")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("extras", [[], ["everything"]])
def test_an_unknown_extra_is_refused(ready: Machine, extras: list[str]) -> None:
    done = ready.run(SETUP, "--with", *extras)
    assert done.returncode == 2
    assert "extra" in done.stderr


# ---- the virtual environment -------------------------------------------------------------------


@pytest.fixture
def fresh(checkout: Callable[..., Path]) -> Path:
    """A repository whose requirement no interpreter meets, and whose lock needs no network."""
    root = checkout("setup", "lib.sh", "missing_requirements.py")
    (root / "requirements.lock").touch()
    require(root, "nowhere-to-be-found>=1")
    return root


def require(root: Path, requirement: str, history: str = "pip[extra]>=9") -> None:
    (root / "pyproject.toml").write_text(
        f'[project]\ndependencies = ["{requirement}"]\n'
        f'[project.optional-dependencies]\ntest = []\nhistory = ["{history}"]\n'
    )


def test_a_virtual_environment_is_made_once_and_remade_when_it_is_not_whole(
    ready: Machine, fresh: Path
) -> None:
    setup, venv, lock = fresh / "scripts/setup", fresh / ".venv", fresh / "requirements.lock"
    write_script(fresh / "interpreter", "exit 0")
    make = f'[[ $2 == venv ]] && mkdir -p "$3/bin" && ln -s {fresh}/interpreter "$3/bin/python"'
    ready.script("python3", f'{make} || exec {sys.executable} "$@"')  # a real one takes seconds
    ready.link("ln")

    def made_anew() -> bool:
        """Runs setup; tells whether it began the environment again."""
        (venv / "mark").touch()
        done = ready.run(setup)
        assert done.returncode == 0, done.stderr
        stamp = (venv / "lock.sha256").read_text().split()[0]
        assert stamp == hashlib.sha256(lock.read_bytes()).hexdigest()
        return not (venv / "mark").exists()

    venv.mkdir()
    assert made_anew()
    assert not made_anew()
    (venv / "lock.sha256").unlink()  # an installation that was interrupted
    assert made_anew()
    (venv / "bin/python").unlink()  # an interpreter that was upgraded away
    assert made_anew()
    lock.write_text("# nothing, in other words\n")
    assert made_anew()
    assert not made_anew()


def test_without_a_network_the_missing_package_and_a_way_out_are_named(
    ready: Machine, fresh: Path
) -> None:
    (fresh / "requirements.lock").write_text("nowhere-to-be-found==1 --hash=sha256:" + "0" * 64)
    done = ready.run(fresh / "scripts/setup", PIP_NO_INDEX="1")
    assert done.returncode == 2
    assert "python3 lacks nowhere-to-be-found>=1" in done.stderr
    assert "PIP_FIND_LINKS" in done.stderr
    assert not (fresh / ".venv/lock.sha256").exists()


def test_a_python_that_has_everything_is_used_as_it_is(ready: Machine, fresh: Path) -> None:
    require(fresh, "pip>=9")
    done = ready.run(fresh / "scripts/setup")
    assert (done.returncode, done.stdout) == (0, "")
    assert not (fresh / ".venv").exists()


def test_what_an_extra_needs_is_asked_for_with_the_extra_only(ready: Machine, fresh: Path) -> None:
    require(fresh, "pip>=9", history="nowhere-to-be-found>=1")
    (fresh / "requirements.lock").write_text("nowhere-to-be-found==1 --hash=sha256:" + "0" * 64)
    assert ready.run(fresh / "scripts/setup").returncode == 0
    done = ready.run(fresh / "scripts/setup", "--with", "history", PIP_NO_INDEX="1")
    assert done.returncode == 2
    assert "python3 lacks nowhere-to-be-found>=1" in done.stderr


@pytest.mark.parametrize(
    ("requirement", "missing"),
    [("pip>=9", ""), ("pip>=9999.1", "pip>=9999.1"), ("no-such>=1", "no-such>=1")],
)
def test_a_requirement_is_met_by_name_and_version(
    ready: Machine, fresh: Path, requirement: str, missing: str
) -> None:
    require(fresh, requirement)
    done = ready.run(Path("python3"), fresh / "scripts/missing_requirements.py")
    assert (done.returncode, done.stdout.strip()) == (int(bool(missing)), missing)
