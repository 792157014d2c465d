"""Device functions as cuobjdump shows them: their resources and their machine code.

cuobjdump is part of the CUDA toolkit and of the Python package nvidia-cuda-cuobjdump; for machine
code it starts nvdisasm. Both read code of older toolkits than their own.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ci.errors import BadInput

_WAY_OUT = "install the CUDA toolkit, or nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm with pip"

_ARCH = re.compile(r"^arch = (sm_\w+)")
_RESOURCES = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+)")
_FUNCTION = re.compile(r"^\s*Function :? ?(\w+)")
_INFO = re.compile(r"^\.nv\.info\.(\w+)")
_MAX_THREADS = re.compile(r"Value:\s*(0x\w+) (0x\w+) (0x\w+)")
# An instruction, perhaps under a predicate, and the word that encodes it; a second line may follow
# with the rest of its encoding.
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?\w+ )?([A-Z]\w*)")
_ENCODING = re.compile(r"/\* (0x[0-9a-f]{16}) \*/\s*$")

TENSOR = frozenset({"HMMA", "HGMMA", "QGMMA", "IGMMA", "IMMA", "DMMA"})


@dataclass
class DeviceFunction:
    """What one function costs on one architecture. Stack is a thread's, shared memory a block's."""

    symbol: str
    arch: str
    registers: int = 0
    stack_bytes: int = 0
    shared_bytes: int = 0  # static: what a launch asks for besides is not in the code
    max_threads: int = 0  # of a block, from __launch_bounds__; 0: not bounded
    code_bytes: int = 0
    local_loads: int = 0  # LDL and STL: spilled registers, or an array that has no register
    local_stores: int = 0
    tensor_instructions: int = 0
    ffma: int = 0
    _code: hashlib._Hash = field(default_factory=hashlib.sha256, repr=False)

    @property
    def code(self) -> str:
        """Equal for equal machine code, whatever was its name and whoever disassembled it."""
        return self._code.hexdigest()[:16]

    def add(self, mnemonic: str) -> None:
        self.local_loads += mnemonic == "LDL"
        self.local_stores += mnemonic == "STL"
        self.tensor_instructions += mnemonic in TENSOR
        self.ffma += mnemonic == "FFMA"

    def add_encoding(self, word: str) -> None:
        self.code_bytes += 8
        self._code.update(word.encode())


class Cuobjdump:
    def __init__(self) -> None:
        self._environment = os.environ | {"PATH": _search_path()}
        program = shutil.which("cuobjdump", path=self._environment["PATH"])
        if not program or not shutil.which("nvdisasm", path=self._environment["PATH"]):
            raise BadInput("cuobjdump", "is not here, or nvdisasm, which it starts", _WAY_OUT)
        self._program = program

    def functions(self, code: Path) -> list[DeviceFunction]:
        """The device functions in an object file or program, in machine code; not those in PTX."""
        found: dict[tuple[str, str], DeviceFunction] = {}
        for arch, symbol, line in _by_function(self._dump("-res-usage", code), _FUNCTION):
            if values := _RESOURCES.search(line):
                registers, stack, shared = map(int, values.groups())
                found[arch, symbol] = DeviceFunction(symbol, arch, registers, stack, shared)
        self._read_bounds(code, found)
        for arch, symbol, line in _by_function(self._dump("-sass", code), _FUNCTION):
            if instruction := _INSTRUCTION.match(line):
                found[arch, symbol].add(instruction[1])
            if encoding := _ENCODING.search(line):
                found[arch, symbol].add_encoding(encoding[1])
        return list(found.values())

    def _read_bounds(self, code: Path, found: dict[tuple[str, str], DeviceFunction]) -> None:
        wanted = False
        for arch, symbol, line in _by_function(self._dump("-elf", code), _INFO):
            if "Attribute:" in line:
                wanted = "EIATTR_MAX_THREADS" in line
            elif wanted and (value := _MAX_THREADS.search(line)):
                x, y, z = (int(word, 16) for word in value.groups())
                found[arch, symbol].max_threads = x * y * z

    def _dump(self, flag: str, code: Path) -> Iterator[str]:
        """The lines of a listing, as they come: there can be a million."""
        with subprocess.Popen(
            [self._program, flag, str(code)],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout and process.stderr
            yield from process.stdout
            complaint = process.stderr.read().strip()
        if process.returncode != 0:
            raise BadInput(code, f"cuobjdump {flag} cannot read it: {complaint}", "build it again")


def _search_path() -> str:
    """PATH, then the toolkit's usual place, then that of the Python packages."""
    packages = Path(sysconfig.get_path("purelib")) / "nvidia"
    places = [Path("/usr/local/cuda/bin"), *sorted(packages.glob("cu*/bin"))]
    return os.pathsep.join([os.environ.get("PATH", ""), *map(str, places)])


def _by_function(lines: Iterable[str], heading: re.Pattern[str]) -> Iterator[tuple[str, str, str]]:
    """Each line below the heading of a function, with the function's architecture and symbol."""
    arch = symbol = ""
    for line in lines:
        if new := _ARCH.match(line):
            arch, symbol = new[1], ""
        elif heading_found := heading.match(line):
            symbol = heading_found[1]
        elif symbol:
            yield arch, symbol, line
