"""What a bench program can measure on this machine, as it writes it with --gemmwatch_list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ci.files import Fields

SCHEMA = 1

# An id becomes a line of a file, a part of a command, a cell of a table.
_ID = re.compile(r"[A-Za-z0-9_.+=-]+(/[A-Za-z0-9_.+=-]+)*")


@dataclass(frozen=True, slots=True)
class Kernel:
    name: str
    stage: str
    title: str
    idea: str
    arch: str
    order: int
    vendor: bool
    control: bool
    available: bool  # it runs on this device


@dataclass(frozen=True, slots=True)
class Problem:
    id: str
    precision: str
    layout: str
    groups: tuple[str, ...]
    why: str
    flops: float


@dataclass(frozen=True, slots=True)
class Point:
    id: str
    kernel: str
    problem: str


@dataclass(frozen=True)
class Catalog:
    """The catalog of one selection on one machine. document is the JSON it came from."""

    document: Mapping[str, Any]
    device: str
    device_note: str
    fingerprint: Mapping[str, str]
    environment: Mapping[str, str]
    injected: str
    kernels: tuple[Kernel, ...]  # ladder order
    problems: tuple[Problem, ...]
    points: tuple[Point, ...]
    refused: Mapping[str, str]  # id: reason

    @cached_property
    def point(self) -> Mapping[str, Point]:
        """Points by id."""
        return {point.id: point for point in self.points}

    def at_commit(self, commit: str) -> Catalog:
        """The same, recording which commit was measured; never compared."""
        environment = {**self.environment, "commit": commit}
        document = {**self.document, "environment": environment}
        return replace(self, document=document, environment=environment)

    @property
    def control_names(self) -> frozenset[str]:
        return frozenset(kernel.name for kernel in self.kernels if kernel.control)


def parse_catalog(fields: Fields) -> Catalog:
    """Raises BadInput that names the field which breaks the contract."""
    require_schema(fields)
    device = fields.text("device")
    if device not in ("gpu", "host"):
        fields.fail(f'device is "{device}", not gpu or host')
    return Catalog(
        document=fields.value,
        device=device,
        device_note=fields.text("device_note"),
        fingerprint=fields.texts("fingerprint"),
        environment=fields.texts("environment"),
        injected=fields.text("injected"),
        kernels=tuple(_kernel(kernel) for kernel in fields.objects("kernels")),
        problems=tuple(_problem(problem) for problem in fields.objects("problems")),
        points=tuple(
            Point(checked_id(p, p.text("id")), p.text("kernel"), p.text("problem"))
            for p in fields.objects("points")
        ),
        refused={
            checked_id(point, point.text("id")): point.text("reason")
            for point in fields.objects("refused")
        },
    )


def require_schema(fields: Fields) -> None:
    schema = fields.integer("schema")
    if schema != SCHEMA:
        fields.fail(f"its schema is {schema}, this program reads schema {SCHEMA}")


def checked_id(fields: Fields, name: str) -> str:
    """The id itself, if it is one."""
    if not _ID.fullmatch(name) or len(name) > 250:
        fields.fail(f"{name[:250]!r} is not a benchmark id")
    return name


def kernel_of(point_id: str) -> str:
    return point_id.split("/")[0]


def family_of(point_id: str) -> str:
    """Kernel and precision: the points whose mean is judged as one hypothesis."""
    return "/".join(point_id.split("/")[:2])


def _kernel(fields: Fields) -> Kernel:
    return Kernel(
        name=fields.text("name"),
        stage=fields.text("stage"),
        title=fields.text("title"),
        idea=fields.text("idea"),
        arch=fields.text("arch"),
        order=fields.integer("order"),
        vendor=fields.flag("vendor"),
        control=fields.flag("control"),
        available=fields.flag("available"),
    )


def _problem(fields: Fields) -> Problem:
    return Problem(
        id=checked_id(fields, fields.text("id")),
        precision=fields.text("precision"),
        layout=fields.text("layout"),
        groups=tuple(fields.strings("groups")),
        why=fields.text("why"),
        flops=fields.number("flops"),
    )
