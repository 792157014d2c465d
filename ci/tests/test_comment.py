"""The comment on a pull request, against a server that answers as GitHub does."""

import io
import json
import stat
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ci.artifact import ARCHIVE_LIMIT, DOCUMENT_LIMIT
from ci.errors import Exit
from ci.tests.test_verdict_text import HOSTILE, NOW, red
from ci.verdict_json import verdict_document

Command = Callable[..., int]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
BOT = "github-actions[bot]"
MARK = "<!-- gemmwatch: verdict -->"


@dataclass
class FakeGitHub:
    """A repository with pull requests, comments and the artifacts of one run."""

    pulls: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    archive: bytes | None = None  # of artifact 5
    artifacts: list[dict[str, Any]] = field(default_factory=lambda: [artifact(5, "03:30")])
    refuses: str = ""  # paths with this part
    asked: list[str] = field(default_factory=list)
    api: str = ""
    storage: str = ""  # where archives lie: another host

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        self.asked.append(f"{method} {path} {query}")
        _, _, path = path.partition("/repos/lab/gemm/")
        match method, path.split("/"):
            case "GET", ["pulls"]:
                return [p for p in self.pulls if p["head"]["label"] == query["head"]]
            case "GET", ["actions", "runs", "7", "artifacts"]:
                found = self.artifacts if self.archive is not None else []
                return {"artifacts": found if query["name"] == "gate" else []}
            case "GET", ["issues", "12", "comments"]:
                first = (int(query["page"]) - 1) * int(query["per_page"])
                return self.comments[first : first + int(query["per_page"])]
            case "POST", ["issues", "12", "comments"]:
                self.write(BOT, body["body"])
                return {}
            case "PATCH", ["issues", "comments", number]:
                self.comments[int(number)]["body"] = body["body"]
                return {}
        return None

    def write(self, author: str, body: str) -> None:
        number = len(self.comments)
        self.comments.append({"id": number, "user": {"login": author}, "body": body})

    @property
    def ours(self) -> list[str]:
        return [c["body"] for c in self.comments if c["user"]["login"] == BOT]


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    fake = FakeGitHub(pulls=[pull(12, "someone:faster", COMMIT)])

    class Api(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(url.query).items()}
            if self.headers["Authorization"] != "Bearer secret":
                return self.send_error(401)
            if fake.refuses and fake.refuses in url.path:
                return self.send_error(403)
            if url.path.endswith("/artifacts/5/zip"):
                self.send_response(302)
                self.send_header("Location", f"{fake.storage}/archive")
                return self.end_headers()
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            found = fake.answer(self.command, url.path, query, json.loads(body or "null"))
            return self.send_error(404) if found is None else self.reply(json.dumps(found).encode())

        do_POST = do_PATCH = do_GET  # noqa: N815

        def reply(self, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    class Storage(Api):
        def do_GET(self) -> None:
            if self.headers["Authorization"]:
                return self.send_error(400)
            return self.reply(fake.archive or b"")

    servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler) for handler in (Api, Storage)]
    fake.api, fake.storage = (f"http://127.0.0.1:{server.server_port}" for server in servers)
    for server in servers:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    monkeypatch.setenv("GITHUB_API_URL", fake.api)
    monkeypatch.setenv("GITHUB_REPOSITORY", "lab/gemm")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    yield fake
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def comment(
    gemmwatch: Command, github: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Command:
    """The command after a gate of COMMIT that ended as given, in an empty folder."""
    empty = tmp_path / "empty"
    empty.mkdir()

    def command(conclusion: str = "failure") -> int:
        event = tmp_path / "event.json"
        event.write_text(json.dumps({"workflow_run": {
            "id": 7, "head_sha": COMMIT, "head_branch": "faster", "conclusion": conclusion,
            "head_repository": {"owner": {"login": "someone"}}, "html_url": "https://log",
            "run_started_at": "2026-01-02T03:00:00Z",
        }}))  # fmt: skip
        monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
        monkeypatch.chdir(empty)
        code = gemmwatch("comment")
        assert not list(empty.iterdir()), "nothing of an archive may be written"
        return code

    return command


def pull(number: int, label: str, commit: str) -> dict[str, Any]:
    return {"number": number, "head": {"label": label, "sha": commit}}


def artifact(number: int, time: str) -> dict[str, Any]:
    return {"id": number, "created_at": f"2026-01-02T{time}:00Z"}


def zipped(
    *members: tuple[str | zipfile.ZipInfo, bytes | str], kind: int = zipfile.ZIP_DEFLATED
) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def verdict(**changes: Any) -> bytes:
    return zipped(("verdict.json", json.dumps(verdict_document(red(), NOW) | changes)))


def test_one_comment_is_written_and_then_rewritten(comment: Command, github: FakeGitHub) -> None:
    github.archive = verdict()
    assert comment() == Exit.ok
    (first,) = github.ours
    assert first.startswith(f"{MARK}\n## gemmwatch: regression\n")
    assert f"[log of the gate](https://log), commit {COMMIT}" in first
    github.archive = verdict(answer="pass")
    assert comment("success") == Exit.ok
    (second,) = github.ours
    assert "## gemmwatch: pass" in second


def test_somebody_else_s_comment_is_never_rewritten(comment: Command, github: FakeGitHub) -> None:
    github.write("someone", f"{MARK} mine")
    github.archive = verdict()
    assert comment() == Exit.ok
    assert github.comments[0]["body"] == f"{MARK} mine"
    assert len(github.ours) == 1


def test_our_comment_is_found_in_a_long_discussion(comment: Command, github: FakeGitHub) -> None:
    for _ in range(120):
        github.write("someone", "talk")
    github.write(BOT, MARK)
    github.archive = verdict()
    assert comment() == Exit.ok
    assert len(github.ours) == 1


@pytest.mark.parametrize(
    "pulls",
    [[], [pull(12, "someone:faster", "f" * 40)], [pull(12, "someone:else", COMMIT)]],
    ids=["closed", "pushed again", "another branch"],
)
def test_a_gate_of_no_open_pull_request_is_not_commented_on(
    comment: Command, github: FakeGitHub, pulls: list[dict[str, Any]]
) -> None:
    github.pulls, github.archive = pulls, verdict()
    assert comment() == Exit.ok
    assert not github.comments
    assert not any("artifacts" in request for request in github.asked)


def symlink() -> zipfile.ZipInfo:
    link = zipfile.ZipInfo("verdict.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    return link


DEEP = '{"schema": 1, "answer": ' + "[" * 100_000 + "]" * 100_000 + "}"
BOMB = ("verdict.json", bytes(DOCUMENT_LIMIT + 1))
ARCHIVES = {
    "no artifact": (None, "was not left by the job"),
    "a path that climbs": (zipped(("../verdict.json", "{}")), "is not in the archive"),
    "an absolute path": (zipped(("/etc/verdict.json", "{}")), "is not in the archive"),
    "a symbolic link": (zipped((symlink(), "/etc/passwd")), "malformed or truncated JSON"),
    "a bomb": (zipped(BOMB), "is larger than 8 MiB"),
    # zipfile would unpack these whole, however little it is asked for.
    "a bomb of bzip2": (zipped(BOMB, kind=zipfile.ZIP_BZIP2), "is neither stored nor deflated"),
    "a bomb of LZMA": (zipped(BOMB, kind=zipfile.ZIP_LZMA), "is neither stored nor deflated"),
    "a name that is no text": (
        zipped(("verdict.jsö", "{}")).replace("ö".encode(), b"\xff\xff"), "cannot be read"
    ),
    "no archive": (b"<html>", "cannot be read"),
    "half an archive": (verdict()[:-30], "cannot be read"),
    "damaged content": (verdict()[:60] + b"\xff" * 20 + verdict()[80:], "cannot be read"),
    "half a document": (zipped(("verdict.json", '{"schema": 1')), "malformed or truncated JSON"),
    "no text": (zipped(("verdict.json", b"\xff\xfe")), "is not UTF-8 text"),
    "a deep document": (zipped(("verdict.json", DEEP)), "malformed or truncated JSON"),
    "no object": (zipped(("verdict.json", "[]")), "is not an object"),
    "not a verdict": (zipped(("verdict.json", '{"schema": 1}')), "is missing"),
    "a pass of a job that failed": (verdict(answer="pass"), "not how the job ended"),
    "too long": (verdict(head=verdict_document(red(), NOW)["head"] | {"selection": "x" * 70_000}),
                 "makes a comment of"),
    "too large": (zipped(("verdict.json", "{}")) + bytes(ARCHIVE_LIMIT), "is larger than 2 MiB"),
}  # fmt: skip


@pytest.mark.parametrize(("archive", "why"), ARCHIVES.values(), ids=ARCHIVES)
def test_what_is_no_verdict_is_said_to_be_none(
    comment: Command, github: FakeGitHub, archive: bytes | None, why: str
) -> None:
    github.archive = archive
    assert comment() == Exit.ok
    (text,) = github.ours
    assert "## gemmwatch: no verdict" in text
    assert "The job ended with failure: `" in text
    assert why in text


def test_the_verdict_is_that_of_the_last_attempt(comment: Command, github: FakeGitHub) -> None:
    github.archive = verdict()
    github.artifacts = [artifact(4, "02:30"), artifact(5, "03:30"), artifact(3, "01:30")]
    assert comment() == Exit.ok
    (text,) = github.ours
    assert "## gemmwatch: regression" in text


def test_an_attempt_that_left_nothing_has_not_the_verdict_of_an_earlier_one(
    comment: Command, github: FakeGitHub
) -> None:
    github.archive, github.artifacts = verdict(), [artifact(5, "02:59")]
    assert comment() == Exit.ok
    (text,) = github.ours
    assert "was not left by the job" in text


def test_what_a_verdict_quotes_stays_text(comment: Command, github: FakeGitHub) -> None:
    github.archive = verdict(doubts=[HOSTILE])
    assert comment() == Exit.ok
    (text,) = github.ours
    (line,) = [line for line in text.splitlines() if "pwned" in line]
    assert line.startswith("- **cannot be trusted:** `") and line.endswith("`")
    assert line.count("`") == 2


@pytest.mark.parametrize("part", ["pulls", "artifacts", "comments"])
def test_a_refusal_of_github_is_told(
    comment: Command, github: FakeGitHub, capsys: pytest.CaptureFixture[str], part: str
) -> None:
    github.refuses, github.archive = part, verdict()
    assert comment() == Exit.no_answer
    assert "403" in capsys.readouterr().err
    assert not github.comments


def test_outside_of_a_workflow_it_says_what_is_missing(
    gemmwatch: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GITHUB_EVENT_PATH", raising=False)
    assert gemmwatch("comment") == Exit.bad_input
    assert "GITHUB_EVENT_PATH" in capsys.readouterr().err
