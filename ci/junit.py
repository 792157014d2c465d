"""junit.xml: a test case for each point, as CI systems show them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as Xml

from ci.catalog import kernel_of
from ci.records import Outcome
from ci.verdicts import Answer, Judgement, PointVerdict, Verdict

_SKIPPED = (Verdict.inconclusive, Verdict.incomparable)


def junit(judgement: Judgement) -> str:
    """The document. A case named gate fails where the answer cannot be trusted."""
    suite = Xml.Element("testsuite", name="gemmwatch")
    for item in (*judgement.points, *judgement.families):
        _case(suite, item)
    for point, outcome in judgement.head.outcomes.items():
        if outcome is Outcome.refused:
            skipped = _named_case(suite, point)
            _child(skipped, "skipped", judgement.head.reasons.get(point, "refused"))
    for finding in judgement.resources:
        case = _named_case(suite, f"resources/{finding.function}")
        _child(case, "failure", f"{finding.loss}: {finding.changes}")
    gate = _named_case(suite, "gate")
    if judgement.answer is Answer.untrusted:
        _child(gate, "error", "; ".join(judgement.doubts))
    suite.set("tests", str(len(suite)))
    for attribute, tag in (("failures", "failure"), ("skipped", "skipped"), ("errors", "error")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    Xml.indent(suite)
    return Xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: Xml.Element, item: PointVerdict) -> None:
    case = _named_case(suite, item.id)
    if item.fails:
        _child(case, "failure", f"{item.verdict}: {item.reason}")
    elif item.verdict in _SKIPPED:
        _child(case, "skipped", item.reason)


def _named_case(suite: Xml.Element, name: str) -> Xml.Element:
    return Xml.SubElement(
        suite, "testcase", classname=f"gemmwatch.{_legal(kernel_of(name))}", name=_legal(name)
    )


def _child(case: Xml.Element, tag: str, message: str) -> None:
    Xml.SubElement(case, tag, message=_legal(message))


def _legal(text: str) -> str:
    """XML 1.0 cannot hold control characters, not even escaped."""
    return re.sub(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]", "?", text)
