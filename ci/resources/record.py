"""resources.json: what the device code of a build costs, read from its object files."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
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
# The compiler names its temporary files by its process, and constructors of globals after them; and
# by its process and the folder what lies in an anonymous namespace of a CUDA file.
_TEMPORARY = re.compile(
    r"tmpxft_\w+?_\w+?_\d+_|\d+_GLOBAL__N__[0-9a-f]{8}_\d+_\w+?_cu_[0-9a-f]{8}(_\d+)?"
)
# Where CMake puts the objects of kernels, and those of all else that gemmwatch-bench is linked of.
_KERNELS = re.compile(r"/gemmwatch_(rungs|vendor|lesson)_\w+\.dir/")
# The pitfall of a lesson is a rung's file, compiled once more as <kernel>+<lesson>.
_LESSON = re.compile(r"/gemmwatch_lesson_(\w+)\.dir/")
_HARNESS = re.compile(r"/gemmwatch(_core|_correctness|_bench_parts|-bench)\.dir/")
# A file registers further tiles of its kernel as <kernel>_<m>x<n>x<blocks>: of the same code.
_TILE = re.compile(r"_\d+x\d+x\d+$")
# The kernel that launches the device code of the others.
_DISPATCH = "dispatch"
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
        """Unique: a lesson's pitfall has the functions of its rung, and is told by its +name."""
        _, plus, lesson = self.kernel.partition("+")
        return f"{self.arch} {self.function}{plus}{lesson}"


@dataclass(frozen=True)
class Resources:
    toolkit: str  # the version of nvcc; "" without device code
    functions: Mapping[str, Function]  # by key
    host_code: Mapping[str, str]  # by kernel: equal for equal code and data of the host
    harness: str = ""  # equal for equal code of all that measures and checks

    @classmethod
    def of(
        cls,
        toolkit: str,
        functions: Iterable[Function],
        host_code: Mapping[str, str],
        harness: str = "",
    ) -> Resources:
        in_order = sorted(functions, key=lambda function: function.key)
        by_key = {function.key: function for function in in_order}
        return cls(toolkit, by_key, host_code, harness)

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
        own = _TILE.sub("", kernel)
        if own not in self.host_code:
            return None
        run = {own}
        if own == _DISPATCH:
            of_others = (function.kernel for function in self.functions.values())
            run.update(name for name in of_others if "+" not in name)  # it launches no pitfall
        codes = sorted(f"{f.key} {f.code}" for f in self.functions.values() if f.kernel in run)
        host = [self.host_code[name] for name in sorted(run & self.host_code.keys())]
        return _digest([*codes, *host])

    def document(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "kind": KIND,
            "toolkit": self.toolkit,
            "harness": self.harness,
            "host_code": dict(self.host_code),
            "functions": [asdict(function) for function in self.functions.values()],
        }

    def write(self, path: Path) -> None:
        write_whole(path, reviewable(self.document()))


def record(build: Path) -> Resources:
    """The resources of the kernels that a build folder holds the objects of."""
    kernels = _kernels(build)
    if not kernels:
        _unfit(build, "it has no kernel", "build gemmwatch-bench there")
    harness = sorted(path for _, path in _objects(build, _HARNESS))
    device = [path for path in (*kernels.values(), *harness) if path.suffixes[-2] == ".cu"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # it waits for cuobjdump and objdump
        read = Cuobjdump().functions if device else None
        functions = dict(zip(device, pool.map(read, device), strict=True)) if read else {}
        every = [*kernels.values(), *harness]
        code = dict(zip(every, pool.map(_host_code, every), strict=True))
    found = [f for name, path in kernels.items() for f in _functions(name, functions.get(path, []))]
    measuring = sorted(f"{f.arch} {f.code}" for path in harness for f in functions.get(path, []))
    return Resources.of(
        toolkit=_toolkit(build) if device else "",
        functions=found,
        host_code={kernel: code[path] for kernel, path in kernels.items()},
        harness=_digest([*(code[path] for path in harness), *measuring]),
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
        harness=fields.text("harness"),
    )


def _function(fields: Fields) -> Function:
    def value(name: str, kind: object) -> str | int:
        return fields.text(name) if kind == "str" else fields.integer(name)

    types = {name: field.type for name, field in Function.__dataclass_fields__.items()}
    values: dict[str, Any] = {name: value(name, kind) for name, kind in types.items()}
    return Function(**values)


def kernel_of_source(source: Path) -> str:
    """The name of the kernel that a file registers; that of its other tiles begins with it."""
    return f"cpu_{source.stem}" if source.parent.name == "cpu" else source.stem


def _kernels(build: Path) -> dict[str, Path]:
    """Each kernel with its object."""
    found: dict[str, Path] = {}
    for source, output in _objects(build, _KERNELS):
        kernel = kernel_of_source(source)
        if lesson := _LESSON.search(str(output)):
            kernel += f"+{lesson[1]}"
        if kernel in found:
            _unfit(build, f"two files are called {kernel}", "give each kernel a name of its own")
        found[kernel] = output
    return found


def _objects(build: Path, wanted: re.Pattern[str]) -> list[tuple[Path, Path]]:
    """Sources and objects, these of this folder even if it is a copy of another."""
    commands = build / "compile_commands.json"
    if not commands.is_file():
        _unfit(build, f"there is no {commands.name} in it", "give a build folder")
    found = []
    for entry in _entries(commands):
        words = shlex.split(entry.text("command"))
        output = build / words[words.index("-o") + 1]
        if wanted.search(str(output)):
            if not output.is_file():
                _unfit(build, f"{output.name} is not built yet", "build it first")
            found.append((Path(entry.text("file")), output))
    return found


def _entries(commands: Path) -> Iterable[Fields]:
    text = '{"entries": ' + commands.read_text(encoding="utf-8") + "}"
    return parse_json(text, commands, "configure the build again").objects("entries")


def _functions(kernel: str, found: Sequence[DeviceFunction]) -> list[Function]:
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
    content = path.read_bytes().decode("latin-1")  # which has a character for every byte
    data = [
        f"{name} {content[int(offset, 16) :][: int(size, 16)]}" for name, offset, size in sections
    ]
    return _digest([_TEMPORARY.sub("", text) for text in (listing, *data)])


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
