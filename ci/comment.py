"""`gemmwatch comment`: puts the verdict of a finished gate under its pull request.

The gate's job ran the code of the pull request and so may have left anything. From it comes one
document, verdict.json, as data; which commit, which pull request and how the job ended are what
GitHub's own event says.
"""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

from ci.announcement import Announcement, read_announcement
from ci.artifact import ARCHIVE_LIMIT, document_of
from ci.command_line import SubParsers
from ci.errors import BadInput, Exit
from ci.files import Fields, read_json
from ci.github import GitHub, required
from ci.verdict_text import code, verdict_markdown

ARTIFACT = "gate"  # as the workflow names it
VERDICT = "verdict.json"  # in it
# By which the comment of an earlier gate is found; Markdown does not show it.
_MARK = "<!-- gemmwatch: verdict -->"
_AUTHOR = "github-actions[bot]"  # whom the token of a workflow writes as
_LONGEST = 60_000  # characters; GitHub takes 65,536


def add_parser(subparsers: SubParsers) -> None:
    parser = subparsers.add_parser(
        "comment",
        help="put a finished gate's verdict under its pull request (in a GitHub workflow)",
        description="For a workflow that runs when the gate's has completed: reads the event, the "
        "gate's artifact and the token that GitHub gives to a step, and writes or rewrites one "
        "comment.",
    )
    parser.set_defaults(execute=_execute)


def _execute(_: argparse.Namespace) -> Exit:
    event = read_json(Path(required("GITHUB_EVENT_PATH")), "run this on workflow_run")
    gate = event.object("workflow_run")
    github = GitHub.of_this_job()
    number = _pull_request(gate, github)
    if number is None:
        print("no open pull request ends with the commit of this gate: nothing to comment on")
        return Exit.ok
    _put(f"{_MARK}\n{_body(gate, github)}", number, github)
    print(f"commented on pull request {number}")
    return Exit.ok


def _pull_request(gate: Fields, github: GitHub) -> int | None:
    """The open pull request whose last commit was judged; a later push has a gate of its own."""
    owner = gate.object("head_repository").object("owner").text("login")
    branch, commit = gate.text("head_branch"), gate.text("head_sha")
    for pull in github.pages("pulls", state="open", head=f"{owner}:{branch}"):
        if pull["head"]["sha"] == commit:
            return int(pull["number"])
    return None


def _body(gate: Fields, github: GitHub) -> str:
    log = f"[log of the gate]({gate.text('html_url')}), commit {gate.text('head_sha')}"
    try:
        text = verdict_markdown(_verdict(gate, github))
        if len(text) > _LONGEST:
            raise BadInput(VERDICT, f"makes a comment of {len(text)} characters", "see the log")
    except BadInput as error:
        why = f"The job ended with {gate.text('conclusion')}: {code(str(error))}"
        return f"## gemmwatch: no verdict\n\n{why}\n\n{log}\n"
    return f"{text}\n{log}\n"


def _verdict(gate: Fields, github: GitHub) -> Announcement:
    """Raises BadInput if the job left no verdict, or one that contradicts how it ended."""
    archive = github.download(f"actions/artifacts/{_artifact(gate, github)}/zip", ARCHIVE_LIMIT)
    told = read_announcement(document_of(archive, VERDICT))
    if (told.answer.exit_code == Exit.ok) != (gate.text("conclusion") == "success"):
        raise BadInput(
            VERDICT, f"says {told.answer}, which is not how the job ended", "see its log"
        )
    return told


def _artifact(gate: Fields, github: GitHub) -> int:
    """The number of what this attempt left: a run keeps the artifacts of its earlier attempts."""
    began = gate.moment("run_started_at")
    answer = github.get(f"actions/runs/{gate.integer('id')}/artifacts", name=ARTIFACT, per_page=100)
    left = {datetime.fromisoformat(each["created_at"]): each["id"] for each in answer["artifacts"]}
    if not left or max(left) < began:
        raise BadInput(VERDICT, "was not left by the job", "see its log")
    return int(left[max(left)])


def _put(body: str, number: int, github: GitHub) -> None:
    """One comment of ours for each pull request, rewritten by each gate."""
    for comment in github.pages(f"issues/{number}/comments"):
        # The mark alone is no proof: anybody can write it.
        if comment["user"]["login"] == _AUTHOR and comment["body"].startswith(_MARK):
            github.write("PATCH", f"issues/comments/{int(comment['id'])}", {"body": body})
            return
    github.write("POST", f"issues/{number}/comments", {"body": body})
