"""The little of GitHub's REST interface that a comment on a pull request takes."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from ci.errors import BadInput, NoAnswer

_PAGE = 100  # the most that a page holds
_PAGES = 50  # a discussion of more is not searched further
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class GitHub:
    """A repository, seen with the rights of a job's token."""

    api: str
    repository: str
    token: str

    @staticmethod
    def of_this_job() -> GitHub:
        """As the environment of a workflow's step says. Raises BadInput outside of one."""
        return GitHub(
            api=os.environ.get("GITHUB_API_URL", "https://api.github.com"),
            repository=required("GITHUB_REPOSITORY"),
            token=required("GITHUB_TOKEN"),
        )

    def get(self, path: str, **query: str | int) -> Any:
        return json.loads(self._send("GET", self._with(path, query)))

    def pages(self, path: str, **query: str | int) -> Iterator[Any]:
        """Every element of a list that comes in pages."""
        for page in range(1, _PAGES + 1):
            elements = self.get(path, **query, per_page=_PAGE, page=page)
            yield from elements
            if len(elements) < _PAGE:
                return

    def write(self, method: str, path: str, body: Mapping[str, Any]) -> None:
        self._send(method, path, json.dumps(body).encode())

    def download(self, path: str, limit: int) -> bytes:
        """Raises BadInput if it is more than limit bytes."""
        content = self._send("GET", path, limit=limit + 1)
        if len(content) > limit:
            raise BadInput(path, f"is larger than {limit >> 20} MiB", "it is not read")
        return content

    def _send(
        self, method: str, path: str, body: bytes | None = None, limit: int | None = None
    ) -> bytes:
        request = urllib.request.Request(
            f"{self.api}/repos/{self.repository}/{path}", body, method=method,
            headers={"Accept": "application/vnd.github+json", "Content-Type": "application/json"},
        )  # fmt: skip
        # Unredirected: an archive lies on another host, which must not see the token.
        request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
                content: bytes = answer.read(limit)
                return content
        except urllib.error.HTTPError as error:
            raise NoAnswer(f"GitHub: {method} {path}: {error.code} {error.reason}") from error
        except OSError as error:
            raise NoAnswer(f"GitHub: {method} {path}: {error}") from error

    @staticmethod
    def _with(path: str, query: Mapping[str, str | int]) -> str:
        return f"{path}?{urlencode(query)}" if query else path


def required(name: str) -> str:
    """A variable of the environment. Raises BadInput if it is not set."""
    value = os.environ.get(name)
    if not value:
        raise BadInput(name, "is not set", "a step of a GitHub workflow has it")
    return value
