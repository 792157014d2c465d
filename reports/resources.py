"""What the compiler gave the device functions of each kernel, as `resources record` wrote it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.files import Fields, ReportError, read_json
from reports.model import Kernel
from reports.reading import check_schema

KIND = "gemmwatch-resources"
# Warps that a multiprocessor can hold, from the CUDA C++ programming guide's table of limits.
MOST_WARPS = {"sm_80": 64, "sm_86": 48, "sm_89": 48, "sm_90": 64}


@dataclass(frozen=True)
class Function:
    """A device function on one architecture; a kernel has one for each type and layout."""

    kernel: str
    arch: str
    registers: int  # of a thread
    stack_bytes: int  # of a thread; what it keeps in local memory for want of registers
    shared_bytes: int  # of a block; what a launch adds is not known here
    resident_warps: int  # of a multiprocessor, at most; 0 if the compiler could not tell
    spills: int  # loads and stores of local memory
    tensor_instructions: int


@dataclass(frozen=True)
class Range:
    """Over the functions of a kernel."""

    low: float
    high: float


@dataclass(frozen=True)
class Resources:
    """Of a kernel's functions on one architecture."""

    kernel: str
    arch: str
    functions: tuple[Function, ...]

    @property
    def registers(self) -> Range:
        return _range(one.registers for one in self.functions)

    @property
    def stack_bytes(self) -> Range:
        return _range(one.stack_bytes for one in self.functions)

    @property
    def shared_kib(self) -> Range:
        return _range(one.shared_bytes / 1024 for one in self.functions)

    @property
    def spills(self) -> Range:
        return _range(one.spills for one in self.functions)

    @property
    def tensor_instructions(self) -> Range:
        return _range(one.tensor_instructions for one in self.functions)

    @property
    def occupancy(self) -> Range | None:
        """The share of a multiprocessor's warps that may be resident, at most."""
        most = MOST_WARPS.get(self.arch.rstrip("a"))
        warps = [one.resident_warps for one in self.functions]
        return _range(one / most for one in warps) if most and all(warps) else None


def read_resources(paths: Sequence[Path]) -> list[Function]:
    """The functions of all files; raises ReportError if one is not what the recorder writes."""
    return [_function(one) for path in paths for one in _read(path).objects("functions")]


def of_kernels(functions: Iterable[Function], kernels: Sequence[Kernel]) -> list[Resources]:
    """In the order of the kernels, then by architecture; a kernel without a function has none."""
    found: dict[tuple[str, str], list[Function]] = defaultdict(list)
    for function in functions:
        found[function.kernel, function.arch].append(function)
    order = {kernel.name: place for place, kernel in enumerate(kernels)}
    known = sorted((key for key in found if key[0] in order), key=lambda k: (order[k[0]], k[1]))
    return [Resources(kernel, arch, tuple(found[kernel, arch])) for kernel, arch in known]


def _read(path: Path) -> Fields:
    fields = read_json(path)
    if fields.values.get("kind") != KIND:
        raise ReportError(f"{path}: is no {KIND}; `gemmwatch resources record` writes one")
    check_schema(fields)
    return fields


def _function(fields: Fields) -> Function:
    return Function(
        kernel=fields.text("kernel"),
        arch=fields.text("arch"),
        registers=fields.integer("registers"),
        stack_bytes=fields.integer("stack_bytes"),
        shared_bytes=fields.integer("shared_bytes"),
        resident_warps=fields.integer("resident_warps"),
        spills=fields.integer("local_loads") + fields.integer("local_stores"),
        tensor_instructions=fields.integer("tensor_instructions"),
    )


def _range(values: Iterable[float]) -> Range:
    found = list(values)
    return Range(min(found), max(found))
