"""Reading JSON and writing files whole; the errors of both name the file and the way out."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


class ReportError(ValueError):
    """An input that cannot be reported, or an output that cannot be written; says what to do."""


@dataclass(frozen=True)
class Fields:
    """A JSON object and where it stands, so that a complaint about it can name both."""

    file: Path
    where: str
    values: Mapping[str, object]

    def error(self, key: str, expected: str) -> ReportError:
        found = "is missing" if key not in self.values else f"is not {expected}"
        return ReportError(
            f"{self.file}: {self._place(key)} {found}; "
            "give a file that this version of gemmwatch wrote, or measure again"
        )

    def has(self, key: str) -> bool:
        return self.values.get(key) is not None

    def text(self, key: str) -> str:
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.error(key, "a string")
        return value

    def number(self, key: str) -> float:
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(key, "a number")
        return float(value)

    def integer(self, key: str) -> int:
        value = self.number(key)
        if value != int(value):
            raise self.error(key, "a whole number")
        return int(value)

    def moment(self, key: str) -> datetime:
        """The ISO date under key, in UTC; one that names no zone is taken to be so."""
        try:
            moment = datetime.fromisoformat(self.text(key))
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError) as error:  # a zone can lead out of the years 1 to 9999
            raise self.error(key, "an ISO date") from error

    def optional_number(self, key: str) -> float | None:
        return self.number(key) if self.has(key) else None

    def flag(self, key: str) -> bool:
        value = self.values.get(key)
        if not isinstance(value, bool):
            raise self.error(key, "true or false")
        return value

    def object(self, key: str) -> "Fields":
        value = self.values.get(key)
        if not isinstance(value, dict):
            raise self.error(key, "an object")
        return Fields(self.file, self._place(key), value)

    def objects(self, key: str) -> list["Fields"]:
        items = self._items(key)
        return [items.object(index) for index in items.values]

    def numbers(self, key: str) -> list[float]:
        items = self._items(key)
        return [items.number(index) for index in items.values]

    def strings(self, key: str) -> tuple[str, ...]:
        items = self._items(key)
        return tuple(items.text(index) for index in items.values)

    def texts(self, key: str) -> dict[str, str]:
        """The object under key, all of whose values are strings."""
        inner = self.object(key)
        return {name: inner.text(name) for name in inner.values}

    def _items(self, key: str) -> "Fields":
        """The list under key, as an object whose keys are the indices."""
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.error(key, "a list")
        numbered = {str(index): item for index, item in enumerate(value)}
        return Fields(self.file, self._place(key), numbered)

    def _place(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number that JSON knows")


def read_json(path: Path) -> Fields:
    """The object that the file holds."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except UnicodeDecodeError as error:
        raise ReportError(f"{path}: is not text; give a JSON file") from error
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ReportError(
            f"{path}: is not whole JSON (line {error.lineno}: {error.msg}); "
            "it may have been cut off while written: measure again"
        ) from error
    except ValueError as error:
        raise ReportError(f"{path}: {error}; measure again") from error
    if not isinstance(value, dict):
        raise ReportError(f"{path}: holds no JSON object; give a run.json or a baseline")
    return Fields(path, "", value)


def write_whole(path: Path, content: bytes) -> None:
    """Writes the file under a temporary name beside it, then renames: never half a file."""
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
            temporary = file.name
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise ReportError(
            f"{path}: cannot be written ({error.strerror}); check the folder and the disk"
        ) from error
