"""What stands on the pages of the site, as bytes: links, numbers, names, sizes."""

import base64
import copy
import hashlib
import os
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path, PurePosixPath

import pytest

from reports.files import ReportError
from reports.site import build, trend_chart
from reports.site.folder import replaced
from reports.site.newest import check_judges_newest, newest_night
from reports.site.pages import MENU, Site, pages
from reports.site.read_trends import read_trends
from reports.tests import synthetic, synthetic_trends
from reports.tests.html_reader import Page, read_page
from reports.tests.synthetic import Json, write
from reports.tests.synthetic_trends import HOSTILE
from reports.units import RateUnit
from reports.verdict import Verdict, read_verdict

PROBLEM = "bf16/nn/4096x4096x4096"
PROBLEM_PAGE = "problems/bf16-nn-4096x4096x4096.html"
FIRST_NIGHT = "2030-12-01"


@pytest.fixture
def made(site_trends: Json) -> Json:
    """For a test to change."""
    return copy.deepcopy(site_trends)


def site_of(folder: Path, trends: Json) -> Site:
    read = read_trends(write(folder / "trends.json", trends))
    return Site(read, newest_night(read), None)


@pytest.fixture(scope="module")
def html(site: Path) -> dict[str, str]:
    """Every page, by its path."""
    return {str(path.relative_to(site)): path.read_text() for path in site.rglob("*.html")}


@pytest.fixture(scope="module")
def read(html: dict[str, str]) -> dict[str, Page]:
    return {path: read_page(text) for path, text in html.items()}


def test_there_is_a_page_for_each_kernel_and_problem(made: Json, html: dict[str, str]) -> None:
    kernels = {series["kernel"] for series in made["series"]}
    problems = {series["problem"] for series in made["series"]}
    assert sum(path.startswith("kernels/") for path in html) == len(kernels)
    assert sum(path.startswith("problems/") for path in html) == len(problems)


def test_links_lead_to_pages_and_anchors_that_exist(read: dict[str, Page]) -> None:
    ids = {
        path: {attributes["id"] for _, attributes in page.tags if "id" in attributes}
        for path, page in read.items()
    }
    followed = 0
    for path, page in read.items():
        for link in (attributes["href"] for tag, attributes in page.tags if tag == "a"):
            target, _, anchor = link.partition("#")
            folder = PurePosixPath(path).parent if target else PurePosixPath(path)
            end = str(folder / target).replace("problems/../", "").replace("kernels/../", "")
            assert end in ids, (path, link)
            assert not anchor or anchor in ids[end], (path, link)
            followed += 1
    assert followed > 500


def test_an_id_occurs_once_a_page(read: dict[str, Page]) -> None:
    for path, page in read.items():
        ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        assert len(ids) == len(set(ids)), path


def test_pages_fetch_nothing(html: dict[str, str], read: dict[str, Page]) -> None:
    for path, page in read.items():
        fetching = {"img", "link", "iframe", "object", "source", "audio", "video", "image"}
        assert not fetching & {tag for tag, _ in page.tags}, path
        assert not re.search(r"@import|https?:", html[path]), path
        assert set(re.findall(r"url\((.)", html[path])) <= {"#"}, path


def test_only_our_script_may_run(html: dict[str, str]) -> None:
    for path, text in html.items():
        scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        assert len(scripts) == 1, path
        digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in text, path


def test_names_are_never_markup(html: dict[str, str], read: dict[str, Page]) -> None:
    for path, text in html.items():
        assert "<img" not in text, path
        assert text.count("</script>") == 1 + text.count('<script type="application/json"'), path
    assert HOSTILE in read["index.html"].text
    assert HOSTILE in read[PROBLEM_PAGE].text
    drawn = [unescape(text) for text in re.findall(r"<text[^>]*>(.*?)</text>", html["ladder.html"])]
    assert HOSTILE in drawn, "dollar signs are no formula"


def test_charts_take_their_colours_from_the_page(html: dict[str, str]) -> None:
    for path, text in html.items():
        assert "#fe000" not in text, path
    assert "stroke: var(--figure-own)" in html[PROBLEM_PAGE]


def test_every_chart_says_what_it_is(read: dict[str, Page]) -> None:
    charts = [a for page in read.values() for tag, a in page.tags if tag == "svg"]
    assert len(charts) > 60
    assert all(len(chart["aria-label"]) > 20 and chart["role"] == "img" for chart in charts)


def test_the_overview_tells_what_moved(made: Json, read: dict[str, Page]) -> None:
    overview = read["index.html"]
    found = [(series, change) for series in made["series"] for change in series["changes"]]
    assert found
    for series, change in found:
        rows = [row for row in overview.rows if series["id"] in row and len(row) == 8]
        assert len(rows) == 1
        assert rows[0][0] == f"{100 * change['change']:+.1f}%"
        first = change["before" if change["kind"] == "creep" else "night"]
        assert rows[0][4] == made["nights"][first]["finished"][:10]
        assert change["to_commit"][:7] in rows[0][5]
    assert {change["kind"] for _, change in found} == {"step", "creep"}


def test_a_problem_s_page_has_the_numbers_of_its_series(made: Json, read: dict[str, Page]) -> None:
    series = next(s for s in made["series"] if s["id"] == f"wgmma_tma/{PROBLEM}")
    speed = series["control_us"][-1] / series["us"][-1]
    rate = 2 * 4096**3 / series["us"][-1] / 1e6
    assert f"Newest night: {speed:.3f} × control (" in read[PROBLEM_PAGE].text
    assert f"· {rate:.0f} TFLOP/s" in read[PROBLEM_PAGE].text


def test_creep_is_dated_from_its_beginning(made: Json, read: dict[str, Page]) -> None:
    ((series, creep), *_) = [
        (series, change) for series in made["series"] for change in series["changes"]
        if change["kind"] == "creep"
    ]  # fmt: skip
    since = made["nights"][creep["before"]]["finished"][:10]
    assert f"of time since {since}, by creep" in read[f"kernels/{series['kernel']}.html"].text
    problem = read[f"problems/{series['problem'].replace('/', '-')}.html"].text
    assert re.search(rf"since\s+{since}, [0-9a-f]+\.\.[0-9a-f]+, creep", problem)
    assert "4.5% slower by creep" in problem


def test_a_disturbed_night_is_told_and_passed_over(tmp_path: Path, made: Json) -> None:
    made["nights"][-2]["doubts"] = ["the fan <stood> still"]
    overview = overview_of(tmp_path, made)
    date, earlier = (made["nights"][night]["finished"][:10] for night in (-2, -3))
    assert f"Since the last night that is believed, {earlier}" in overview.headings
    assert overview.row(date) == [date, "the fan <stood> still"]
    assert "The newest night is not believed" not in overview.text


def test_a_newest_night_that_was_disturbed_says_so_on_every_page(
    tmp_path: Path, made: Json
) -> None:
    made["nights"][-1]["doubts"] = ["the fan stood still"]
    site = site_of(tmp_path, made)
    text = {page.kind: site.render(page).decode() for page in pages(site.trends)}
    assert len(text) == 8
    for kind, html in text.items():
        assert "The machine was disturbed: the fan stood still." in html, kind
    assert "Nothing is compared: this night is not believed." in text["overview"]
    assert "largest moves" not in text["overview"]


def test_a_disturbed_night_is_a_ring_beside_the_line(tmp_path: Path, made: Json) -> None:
    rings = rings_of(tmp_path, made)
    made["nights"][3]["doubts"] = ["the fan stood still"]
    assert rings_of(tmp_path, made) == rings + 1


def rings_of(folder: Path, made: Json) -> int:
    """Markers of the speed chart of wgmma_tma that are drawn but not filled."""
    trends = read_trends(write(folder / "trends.json", made))
    series = next(one for one in trends.series if one.id == f"wgmma_tma/{PROBLEM}")
    svg = trend_chart.trend_charts(trends, series, RateUnit("TFLOP/s", 1), "x").speed
    return len(re.findall(r'<use [^>]*style="fill-opacity: 0', svg))


def test_a_new_epoch_is_announced(tmp_path: Path, made: Json) -> None:
    assert "A new epoch begins" not in overview_of(tmp_path, made).text
    made["epochs"].append({**made["epochs"][-1], "first_night": len(made["nights"]) - 1,
                             "changed": {"power_limit_w": ["700", "500"]}})  # fmt: skip
    made["nights"][-1]["epoch"] = len(made["epochs"]) - 1
    assert "power_limit_w 700 → 500. What moved" in overview_of(tmp_path, made).text


def overview_of(folder: Path, trends: Json) -> Page:
    site = site_of(folder, trends)
    overview = next(page for page in pages(site.trends) if page.path == "index.html")
    return read_page(site.render(overview).decode())


def test_a_point_that_fails_is_told_first(tmp_path: Path, made: Json) -> None:
    made["series"][0]["outcomes"] = {str(len(made["nights"]) - 1): "incorrect"}
    page = overview_of(tmp_path, made)
    assert page.row("passed", "incorrect") == ["passed", "incorrect", made["series"][0]["id"]]
    assert "21 passed, 1 incorrect" in page.text


def test_a_history_of_one_night_is_a_site(tmp_path: Path) -> None:
    one = synthetic_trends.trends(synthetic_trends.plan(nights=1, points=3))
    site = site_of(tmp_path, one)
    text = {page.kind: site.render(page).decode() for page in pages(site.trends)}
    assert "This is the first night." in text["overview"]
    assert "Newest night: " in text["problem"]


def test_a_point_that_never_passed_has_a_page(tmp_path: Path, made: Json) -> None:
    for name in ("log_ratio", "low", "high", "us", "control_us", "bound_share"):
        made["series"][0][name] = [None] * len(made["nights"])
    made["series"][0]["outcomes"] = {str(n): "incorrect" for n in range(len(made["nights"]))}
    made["series"][0]["changes"] = []
    site = site_of(tmp_path, made)
    text = {page.path: site.render(page).decode() for page in pages(site.trends)}
    assert "Newest night: incorrect" in text[PROBLEM_PAGE]
    assert text[PROBLEM_PAGE].count("no time on any night") == 2  # its two charts
    overview = read_page(text["index.html"])
    assert overview.row("incorrect", made["series"][0]["id"])[2] == FIRST_NIGHT
    kernel = read_page(text[f"kernels/{made['series'][0]['kernel']}.html"])
    assert "incorrect" in kernel.text


def test_a_night_without_any_time_is_told(tmp_path: Path, made: Json) -> None:
    last = len(made["nights"]) - 1
    for series in made["series"]:
        for name in ("log_ratio", "low", "high", "us", "control_us", "bound_share"):
            series[name][last] = None
        series["outcomes"][str(last)] = "timed_out"
    site = site_of(tmp_path, made)
    text = {page.kind: site.render(page).decode() for page in MENU}
    assert "22 timed out" in text["overview"]
    assert "no own kernel has a time" in text["overview"]
    assert "The newest night recorded no errors." in text["accuracy"]


def test_the_verdict_of_the_night_stands_on_the_overview(tmp_path: Path, made: Json) -> None:
    verdict = synthetic.verdict(synthetic.run(synthetic_trends.machine(), trials=1))
    verdict["head"] |= {"fingerprint": made["epochs"][-1]["fingerprint"], "finished": None}
    read = read_trends(write(tmp_path / "trends.json", made))
    judged = read_verdict(write(tmp_path / "verdict.json", verdict))
    site = Site(read, newest_night(read), judged)
    overview = next(page for page in pages(read) if page.path == "index.html")
    assert "The gate found that this build is slower" in site.render(overview).decode()
    verdict["head"]["fingerprint"] = {"gpu": "another"}
    stranger = read_verdict(write(tmp_path / "verdict.json", verdict))
    with pytest.raises(ReportError, match="verdict is about another machine or build"):
        build.build_site(read, None, stranger, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_verdict_of_another_night_is_told_apart(tmp_path: Path, made: Json) -> None:
    trends = read_trends(write(tmp_path / "trends.json", made))
    verdict = synthetic.verdict(synthetic.run(synthetic_trends.machine(), trials=1))
    verdict["head"]["fingerprint"] = made["epochs"][-1]["fingerprint"]

    def judged(finished: str | None) -> Verdict:
        verdict["head"]["finished"] = finished
        return read_verdict(write(tmp_path / "verdict.json", verdict))

    check_judges_newest(trends, judged("2030-12-30T04:10:00.25+01:00"))
    check_judges_newest(trends, judged(None))  # as older versions wrote it
    with pytest.raises(ReportError, match=r"ended at 2030-12-29 .* newest night at 2030-12-30 03"):
        check_judges_newest(trends, judged("2030-12-29T03:10:00Z"))
    with pytest.raises(ReportError, match=r"verdict.json: head.finished is not an ISO date"):
        judged("yesterday")


def test_a_year_of_twenty_kernels_fits_a_page(tmp_path: Path) -> None:
    year = synthetic_trends.trends(synthetic_trends.plan(nights=365, points=400))
    problems = [series["problem"] for series in year["series"]]
    busiest = max(set(problems), key=problems.count)
    year["series"] = [series for series in year["series"] if series["problem"] == busiest]
    assert len(year["series"]) >= 19
    site = site_of(tmp_path, year)
    (page,) = (page for page in pages(site.trends) if page.subject == busiest)
    assert len(site.render(page)) < 1_000_000


def test_the_same_trends_give_the_same_bytes(
    tmp_path: Path, made: Json, html: dict[str, str]
) -> None:
    site = site_of(tmp_path, made)
    again = {page.path: page for page in pages(site.trends)}
    for path in ("index.html", "ladder.html", "kernels/wgmma_tma.html", PROBLEM_PAGE):
        assert site.render(again[path]).decode() == html[path]


def test_the_command_builds_a_site(
    tmp_path: Path, gemmwatch: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    few = synthetic_trends.trends(synthetic_trends.plan(nights=2, points=2))
    trends = write(tmp_path / "trends.json", few)
    assert gemmwatch("report", "--site", tmp_path / "site", "--trends", trends) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'site' / 'index.html'}\n"
    assert (tmp_path / "site" / PROBLEM_PAGE).exists()


def die(*_: object) -> None:
    os._exit(9)  # as the kernel's killer of large processes would have it


def test_a_drawing_process_that_dies_loses_no_site(
    tmp_path: Path, site_trends: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    trends = read_trends(write(tmp_path / "trends.json", site_trends))
    with replaced(tmp_path / "site") as new:
        (new / "index.html").write_text("the old site")
    monkeypatch.setattr(build, "_write", die)
    with pytest.raises(ReportError, match="a drawing process ended early"):
        build.build_site(trends, None, None, tmp_path / "site")
    assert (tmp_path / "site" / "index.html").read_text() == "the old site"


@pytest.mark.parametrize(
    "words",
    [[], ["--site", "d"], ["--trends", "t"], ["run.json", "--site", "d", "--trends", "t"],
     ["--site", "d", "--trends", "t", "--out", "o"], ["run.json", "--run", "run.json"]],
)  # fmt: skip
def test_a_report_is_of_a_run_or_of_all_nights(
    words: list[str], gemmwatch: Callable[..., int]
) -> None:
    with pytest.raises(ReportError, match=r"give a RUN .* or --site DIR with --trends FILE"):
        gemmwatch("report", *words)
