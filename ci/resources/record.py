"""resources.json: what the device code of a build costs, read from its object files."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from ci.errors import BadInput
from ci.files import Fields, parse_json, read_json, reviewable, write_whole
from ci.resources.listing import Cuobjdump, DeviceFunction
from ci.resources.occupancy import resident_warps

SCHEMA = 1
KIND = "gemmwatch-resources"
_WAY_OUT = "make it again with `gemmwatch resources record`"
# The compiler names its temporary files by its process, and constructors of globals after them.
_TEMPORARY = re.compile(r"tmpxft_\w+?_\w+?_\d+_")
# Where CMake puts the objects of kernels, those of a library's included.
_KERNELS = re.compile(r"/gemmwatch_(rungs|vendor)_\w+\.dir/")
_SECTION = re.compile(r"\] (\.(?:ro)?data\S*) +PROGBITS +\w+ (\w+) (\w+)")


@dataclass(frozen=True, slots=True)
class Function:
    """A device function on one architecture. Counts are of instructions, as written, not as run."""

    kernel: str
    arch: str
    function: str  # in C++, without its parameters; in one kernel and architecture unique
    registers: int  # of a thread
    stack_bytes: int  # of a thread
    shared_bytes: int  # of a block; static
    resident_warps: int  # of a multiprocessor, as far as registers and static shared memory allow
    local_loads: int  # spilled registers, or arrays that have none
    local_stores: int
    tensor_instructions: int
    ffma: int
    code_bytes: int
    code: str  # equal for equal machine code

    @property
    def key(self) -> str:
        return f"{self.arch} {self.function}"


@dataclass(frozen=True)
class Resources:
    toolkit: str  # the version of nvcc; "" without device code
    functions: Mapping[str, Function]  # by key
    host_code: Mapping[str, str]  # by kernel: equal for equal code and data of the host

    @classmethod
    def of(
        cls, toolkit: str, functions: Iterable[Function], host_code: Mapping[str, str]
    ) -> Resources:
        in_order = sorted(functions, key=lambda function: function.key)
        return cls(toolkit, {function.key: function for function in in_order}, host_code)

    @property
    def architectures(self) -> list[str]:
        return sorted({function.arch for function in self.functions.values()})

    def only(self, arch: str) -> Resources:
        """Of one architecture, without the host's side."""
        functions = [f for f in self.functions.values() if f.arch == arch]
        return Resources.of(self.toolkit, functions, {})

    def code_of(self, kernel: str) -> str | None:
        """Equal for two builds in which the kernel runs and is launched by the same machine code.

        None: a kernel that was not built here. What a library does inside is not seen.
        """
        codes = sorted(f"{f.key} {f.code}" for f in self.functions.values() if f.kernel == kernel)
        host = self.host_code.get(kernel)
        return None if host is None else _digest([*codes, host])

    def document(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "kind": KIND,
            "toolkit": self.toolkit,
            "host_code": dict(self.host_code),
            "functions": [asdict(function) for function in self.functions.values()],
        }

    def write(self, path: Path) -> None:
        write_whole(path, reviewable(self.document()))


def record(build: Path) -> Resources:
    """The resources of the kernels that a build folder holds the objects of."""
    objects = _objects(build)
    if not objects:
        _unfit(build, "no kernel of it is built", "build gemmwatch-bench there")
    rungs = [each for each in objects if each[1].suffixes[-2] == ".cu"]
    found: list[Function] = []
    if rungs:
        read = Cuobjdump().functions
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # it waits for cuobjdump
            for functions in pool.map(lambda each: _functions(each[0], each[1], read), rungs):
                found += functions
    return Resources.of(
        toolkit=_toolkit(build) if rungs else "",
        functions=found,
        host_code={kernel: _host_code(path) for kernel, path in objects},
    )


def resources_of(program: Path) -> Resources | None:
    """Of the build folder that a bench program lies in; None for one that was copied elsewhere."""
    build = program.resolve().parents[1]
    return record(build) if (build / "compile_commands.json").is_file() else None


def load_resources(path: Path) -> Resources:
    """Raises BadInput if the file is not what `record` writes."""
    fields = read_json(path, _WAY_OUT)
    if "kind" not in fields or fields.text("kind") != KIND or fields.integer("schema") != SCHEMA:
        fields.fail(f"is no {KIND} of schema {SCHEMA}")
    return Resources.of(
        toolkit=fields.text("toolkit"),
        functions=[_function(values) for values in fields.objects("functions")],
        host_code=fields.texts("host_code"),
    )


def _function(fields: Fields) -> Function:
    def value(name: str, kind: object) -> str | int:
        return fields.text(name) if kind == "str" else fields.integer(name)

    types = {name: field.type for name, field in Function.__dataclass_fields__.items()}
    values: dict[str, Any] = {name: value(name, kind) for name, kind in types.items()}
    return Function(**values)


def _objects(build: Path) -> list[tuple[str, Path]]:
    """Each kernel with its object; the file's name is the kernel's."""
    commands = build / "compile_commands.json"
    if not commands.is_file():
        _unfit(build, f"there is no {commands.name} in it", "give a build folder")
    found = []
    for entry in _entries(commands):
        words = shlex.split(entry.text("command"))
        output = Path(entry.text("directory"), words[words.index("-o") + 1])
        if _KERNELS.search(str(output)):
            if not output.is_file():
                _unfit(build, f"{output.name} is not built yet", "build it first")
            found.append((Path(entry.text("file")).stem, output))
    return found


def _entries(commands: Path) -> Iterable[Fields]:
    text = '{"entries": ' + commands.read_text(encoding="utf-8") + "}"
    return parse_json(text, commands, "configure the build again").objects("entries")


def _functions(
    kernel: str, path: Path, read: Callable[[Path], Sequence[DeviceFunction]]
) -> list[Function]:
    found = read(path)
    names = _demangled([function.symbol for function in found])
    return [
        Function(
            kernel=kernel,
            arch=function.arch,
            function=name,
            registers=function.registers,
            stack_bytes=function.stack_bytes,
            shared_bytes=function.shared_bytes,
            resident_warps=resident_warps(function),
            local_loads=function.local_loads,
            local_stores=function.local_stores,
            tensor_instructions=function.tensor_instructions,
            ffma=function.ffma,
            code_bytes=function.code_bytes,
            code=function.code,
        )
        for function, name in zip(found, names, strict=True)
    ]


def _demangled(symbols: Sequence[str]) -> list[str]:
    if unstable := [symbol for symbol in symbols if "_GLOBAL__N_" in symbol]:
        raise BadInput(
            unstable[0],
            "a device function in an anonymous namespace has another name in each build",
            "move it to the namespace of the rung's path",
        )
    return _output(["c++filt", "--no-params"], "\n".join(symbols)).splitlines()


def _host_code(path: Path) -> str:
    """Of the host's instructions, with the names that they refer to, and of its data."""
    listing = _output(["objdump", "-dr", "--no-show-raw-insn", path.name], folder=path.parent)
    sections = _SECTION.findall(_output(["readelf", "-SW", str(path)]))
    content = path.read_bytes()
    data = [
        f"{name} {content[int(offset, 16) :][: int(size, 16)].hex()}"
        for name, offset, size in sections
    ]
    return _digest([_TEMPORARY.sub("", listing), *data])


def _toolkit(build: Path) -> str:
    texts = [f.read_text() for f in build.glob("CMakeFiles/*/CMakeCUDACompiler.cmake")]
    version = re.search(r'COMPILER_VERSION "([^"]+)"', "\n".join(texts))
    if not version:
        _unfit(build, "does not say which nvcc compiled it", "configure it again")
    return version[1]


def _unfit(build: Path, wrong: str, way_out: str) -> NoReturn:
    raise BadInput(f"--build {build}", wrong, way_out)


def _output(command: Sequence[str], text: str = "", folder: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, check=False, cwd=folder
        )
    except OSError as error:
        raise BadInput(
            command[0], f"cannot be run ({error.strerror})", "install binutils"
        ) from error
    if done.returncode != 0:
        raise BadInput(command[0], f"failed: {done.stderr.strip()}", "build again")
    return done.stdout


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
