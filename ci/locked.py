"""`gemmwatch locked`: a command that has the GPU for itself, such as a check and then a gate."""

from __future__ import annotations

import argparse
import os
import re
import signal
from pathlib import Path
from typing import NoReturn

from ci.bench_program import BenchProgram, find_bench
from ci.command_line import SubParsers
from ci.device_lock import device_lock, gpu_of
from ci.errors import BadInput
from ci.measure import SELECTIONS

GPU = "GEMMWATCH_GPU"  # tells the command which one it has: a UUID, "" on a host


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser(
        "locked",
        help="run a command that has the GPU for itself",
        description="Waits until nobody on this host measures on the GPU, then runs COMMAND, which "
        f"finds the GPU's UUID in {GPU}, and ends as it does. A gemmwatch within waits for nobody.",
    )
    parser.add_argument(
        "--bench", type=Path, metavar="PATH", help="default: build/cuda's, else build/cpu's"
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="after --")
    parser.set_defaults(execute=_execute)


def _execute(arguments: argparse.Namespace) -> NoReturn:
    catalog = BenchProgram(find_bench(arguments.bench), SELECTIONS[0], "auto").catalog()
    with device_lock(catalog):
        os.environ[GPU] = _as_nvidia_smi_has_it(gpu_of(catalog))
        # Python ignores it, but the command must not. The lock ends with the last who inherits it.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        try:
            os.execvp(arguments.command[0], arguments.command)
        except OSError as error:
            raise BadInput(arguments.command[0], f"cannot be run ({error.strerror})",
                           "give a command after --") from error  # fmt: skip


def _as_nvidia_smi_has_it(gpu: str) -> str:
    """CUDA tells the bytes of a UUID, nvidia-smi knows it by their usual groups."""
    groups = r"-(\w{8})(\w{4})(\w{4})(\w{4})(\w{12})"
    return re.sub(f"^GPU{groups}$", r"GPU-\1-\2-\3-\4-\5", gpu)
