"""A lesson for the terminal: title, table, moral."""

from collections.abc import Iterator, Sequence
from textwrap import fill

from reports.files import ReportError
from reports.lesson_table import Row, Table, lesson_table
from reports.lessons import measured_lessons
from reports.model import Measured
from reports.resources import Function, of_kernels

WIDTH = 80
GAP = "  "


def lesson_text(measured: Measured, name: str, functions: Sequence[Function] = ()) -> str:
    """Raises ReportError, with the names there are, if the run measured no such lesson."""
    found = {one.lesson.name: one for one in measured_lessons(measured)}
    if name not in found:
        unmeasured = name in {lesson.name for lesson in measured.lessons}
        raise ReportError(
            f"{measured.source}: "
            + (f"did not measure the lesson {name}" if unmeasured else f"knows no lesson {name}")
            + (f"; it measured {', '.join(found)}" if found else "; it measured none")
            + ("" if found else ": `gemmwatch run --selection lessons` does")
        )
    lesson = found[name].lesson
    resources = of_kernels(functions, measured.kernels)
    table = lesson_table(measured, found[name], resources)
    parts = [fill(lesson.title, WIDTH), "\n".join(_lines(table)), fill(lesson.moral, WIDTH)]
    if table.problem:
        parts.insert(1, f"{measured.machine}, {table.problem}")
    return "\n\n".join(parts)


def _lines(table: Table) -> Iterator[str]:
    heads = Row(table.names, table.numbers, "", "")
    timed = [row for row in (heads, *table.rows) if row.numbers]
    names = [
        max(len(row.names[i]) for row in (heads, *table.rows)) for i in range(len(heads.names))
    ]
    numbers = [max(len(row.numbers[i]) for row in timed) for i in range(len(heads.numbers))]
    for row in (heads, *table.rows):
        cells = [name.ljust(width) for name, width in zip(row.names, names, strict=True)]
        if row.numbers:
            cells += [one.rjust(width) for one, width in zip(row.numbers, numbers, strict=True)]
        else:
            cells.append(f"{row.outcome.replace('_', ' ')}: {row.reason}")
        yield GAP.join(cells).rstrip()
