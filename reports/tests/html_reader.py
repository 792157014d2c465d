"""Reads a page strictly enough to find what a browser would forgive."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "source", "br", "input"}


@dataclass
class Page:
    text: str = ""
    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)  # cells of every table row
    headings: list[str] = field(default_factory=list)

    def references(self) -> list[str]:
        """Whatever an attribute could fetch."""
        return [
            attributes[name]
            for _, attributes in self.tags
            for name in ("src", "href", "srcset", "action", "data", "poster")
            if name in attributes
        ]

    def row(self, *first: str) -> list[str]:
        """The one row whose first cells are these."""
        found = [row for row in self.rows if row[: len(first)] == list(first)]
        assert len(found) == 1, (first, found)
        return found[0]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag == "tr":
            self.page.rows.append([])
        if tag in ("td", "th"):
            self.page.rows[-1].append("")
        if tag in ("h1", "h2"):
            self.page.headings.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if {"style", "script"} & set(self.open):
            return
        self.page.text += data
        if {"td", "th"} & set(self.open):
            self.page.rows[-1][-1] += data.strip()
        if {"h1", "h2"} & set(self.open):
            self.page.headings[-1] += data


def read_page(html: str) -> Page:
    """Fails on a tag that is not closed, or closed out of order."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader.page
