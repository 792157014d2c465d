"""The frame of the gemmwatch command: its parser, and errors as messages and exit codes."""

from __future__ import annotations

import argparse
import math
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, TypeAlias

from ci.errors import Exit, GemmwatchError

SubParsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def run_command(
    arguments: Sequence[str],
    add_parsers: Sequence[Callable[[SubParsers], None]],
    errors: tuple[type[Exception], ...] = (),
) -> int:
    """Runs one subcommand, whose parser has set `execute`, and returns the exit code.

    errors: further types whose message explains them, each a matter of bad input.
    """
    parser = argparse.ArgumentParser(prog="gemmwatch", description="benchmark GEMM kernels")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for add_parser in add_parsers:
        add_parser(subparsers)
    options = parser.parse_args(arguments)
    try:
        code: int = options.execute(options)
        sys.stdout.flush()
        return code
    except GemmwatchError as error:
        return _complain(str(error), error.exit_code)
    except errors as error:
        return _complain(str(error), Exit.bad_input)
    except BrokenPipeError:  # the reader has seen enough, as in `gemmwatch list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.unread
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}", Exit.bad_input)
    except KeyboardInterrupt:
        return Exit.interrupted
    except Exception:  # Python would exit with 1, which is a regression
        traceback.print_exc()
        return _complain("this is a defect of gemmwatch itself, and no answer", Exit.defect)


def _complain(message: str, code: Exit) -> int:
    print(f"gemmwatch: error: {message}", file=sys.stderr)
    return code


@contextmanager
def terminable() -> Iterator[None]:
    """A cancelled job (SIGTERM) ends like an interrupted one: nothing is left running."""
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _interrupt(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def positive_whole(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def positive_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def slowdown(text: str) -> str:
    """KERNEL:PCT without its percent sign."""
    if not re.fullmatch(r"[^:/]+:\d+(\.\d+)?%?", text):
        raise argparse.ArgumentTypeError(f"{text!r} does not look like tiled:5")
    return text.removesuffix("%")
