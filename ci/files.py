"""Reading JSON strictly, writing files whole."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import IO, Any, NoReturn

from ci.errors import BadInput


def write_whole(path: Path, content: str | bytes) -> None:
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """To write a file so that a reader sees the old one or the new one, never a part of either."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o644)  # mkstemp's files are private
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_json(path: Path, document: object) -> None:
    """Writes a document whole, as indented JSON without NaN or infinities."""
    write_whole(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def reviewable(document: Mapping[str, Any]) -> str:
    """Compact JSON with a line for each point, so that a diff shows which ones moved."""
    fields = [f" {json.dumps(key)}: {_lines(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _lines(value: object) -> str:
    if isinstance(value, dict):
        lines = [f"  {json.dumps(k)}: {_compact(v)}" for k, v in value.items()]
        return "{\n" + ",\n".join(lines) + "\n }"
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return "[\n" + ",\n".join(f"  {_compact(item)}" for item in value) + "\n ]"
    return _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def read_json(path: Path, way_out: str) -> Fields:
    """The object in a JSON file. way_out: what the reader of a BadInput can do about the file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadInput(path, f"cannot be read ({reason})", way_out) from error
    return parse_json(text, path, way_out)


def parse_json(text: str, path: Path, way_out: str) -> Fields:
    """The object in a text. path: where the text is from, for messages."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadInput(path, f"malformed or truncated JSON ({error})", way_out) from error
    return Fields(path, way_out, "", value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object being read: each access checks the type and names the place on failure."""

    path: Path
    way_out: str
    where: str
    value: Any

    def __post_init__(self) -> None:
        if not isinstance(self.value, dict):
            self.fail(f"{self.where or 'the document'} is not an object")

    def fail(self, wrong: str) -> NoReturn:
        raise BadInput(self.path, wrong, self.way_out)

    def __contains__(self, key: str) -> bool:
        return key in self.value

    def text(self, key: str) -> str:
        value: str = self._typed(key, str, "text")
        return value

    def moment(self, key: str) -> datetime:
        """An ISO date; one without an offset is taken as UTC."""
        text = self.text(key)
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{self._name(key)} is {text[:40]!r}, which is no ISO date")
        return date if date.tzinfo else date.replace(tzinfo=UTC)

    def texts(self, key: str) -> dict[str, str]:
        """A flat object of strings."""
        values: dict[str, Any] = self._typed(key, dict, "an object")
        for name, value in values.items():
            if not isinstance(value, str):
                self.fail(f"{self._name(key)}.{name} is not text")
        return values

    def flag(self, key: str) -> bool:
        value: bool = self._typed(key, bool, "true or false")
        return value

    def integer(self, key: str) -> int:
        value = self.number(key)
        if value != int(value):
            self.fail(f"{self._name(key)} is not a whole number")
        return int(value)

    def number(self, key: str) -> float:
        return self._finite(self._present(key), self._name(key))

    def numbers(self, key: str) -> list[float]:
        values: list[Any] = self._typed(key, list, "a list")
        return [self._finite(value, f"{self._name(key)}[{i}]") for i, value in enumerate(values)]

    def strings(self, key: str) -> list[str]:
        values: list[Any] = self._typed(key, list, "a list")
        if not all(isinstance(value, str) for value in values):
            self.fail(f"{self._name(key)} holds something else than text")
        return values

    def object(self, key: str) -> Fields:
        return Fields(self.path, self.way_out, self._name(key), self._present(key))

    def objects(self, key: str) -> list[Fields]:
        """A list of objects."""
        values: list[Any] = self._typed(key, list, "a list")
        return [
            Fields(self.path, self.way_out, f"{self._name(key)}[{i}]", value)
            for i, value in enumerate(values)
        ]

    def named_objects(self, key: str) -> Mapping[str, Fields]:
        """An object of objects."""
        outer = self.object(key)
        return {name: outer.object(name) for name in outer.value}

    def _name(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def _present(self, key: str) -> Any:
        if key not in self.value:
            self.fail(f"{self._name(key)} is missing")
        return self.value[key]

    def _typed(self, key: str, kind: type, kind_name: str) -> Any:
        value = self._present(key)
        if not isinstance(value, kind):
            self.fail(f"{self._name(key)} is not {kind_name}")
        return value

    def _finite(self, value: Any, name: str) -> float:
        try:
            number = float("nan") if isinstance(value, (bool, str)) else float(value)
        except (TypeError, OverflowError):
            number = float("nan")
        if not isfinite(number):
            self.fail(f"{name} is not a finite number")
        return number
