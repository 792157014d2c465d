"""Prints the requirements of pyproject.toml that the interpreter running this lacks, one a line.

Arguments: the names of optional groups that are wanted too, such as test.
Reads installed versions from package metadata rather than importing the packages: setup asks on
every start, and importing scipy and matplotlib takes longer than the rest of setup. Exit code 1 if
something is missing, or if the interpreter is older than 3.11 and has no tomllib.
"""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path


def release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: 1.26.0rc1 -> (1, 26, 0)."""
    return tuple(int(part) for part in re.findall(r"\d+", version.split("rc")[0])[:3])


def is_met(requirement: str) -> bool:
    named, _, minimum = requirement.partition(">=")
    name = named.partition("[")[0]  # psycopg[binary]: its own extras leave no trace of their own
    try:
        return release(metadata.version(name)) >= release(minimum)
    except metadata.PackageNotFoundError:
        return False


def requirements(extras: list[str]) -> list[str]:
    """What the tool needs to run, and what these optional groups need."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    project = tomllib.loads(text)["project"]
    optional = project["optional-dependencies"]
    needed: list[str] = project["dependencies"]
    return needed + [each for extra in extras for each in optional[extra]]


if __name__ == "__main__":
    missing = [requirement for requirement in requirements(sys.argv[1:]) if not is_met(requirement)]
    print("\n".join(missing))
    sys.exit(1 if missing else 0)
