import argparse

import pytest

from ci.command_line import SubParsers, run_command
from ci.errors import Exit


def test_a_defect_is_told_with_its_traceback_and_is_never_a_regression(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_arguments: argparse.Namespace) -> int:
        raise ZeroDivisionError("a slip")

    def add_parser(subparsers: SubParsers) -> None:
        subparsers.add_parser("slip").set_defaults(execute=fail)

    assert run_command(["slip"], [add_parser]) == Exit.defect
    told = capsys.readouterr().err
    assert "ZeroDivisionError: a slip" in told
    assert "a defect of gemmwatch itself" in told
