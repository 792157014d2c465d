"""The site as a reader meets it, in a real browser."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reports.site.names import slug
from reports.style import DARK, LIGHT, Theme
from reports.tests import browser as browsers
from reports.tests.browser import Browser
from reports.tests.synthetic import Json
from reports.tests.synthetic_trends import HOSTILE

PROBLEM = "bf16/nn/4096x4096x4096"
KERNEL = "wgmma_tma"
ENTER, ESCAPE, TAB, LEFT = "\ue007", "\ue00c", "\ue004", "\ue012"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from browsers.started()


def problem_page(site: Path) -> Path:
    return site / "problems" / f"{slug(PROBLEM)}.html"


def series_of(site_trends: Json, kernel: str = KERNEL) -> Json:
    return next(s for s in site_trends["series"] if s["id"] == f"{kernel}/{PROBLEM}")


@pytest.mark.parametrize("width", [390, 1280])
def test_pages_are_quiet_and_fit_their_window(browser: Browser, site: Path, width: int) -> None:
    kernels, problems = (sorted((site / kind).iterdir()) for kind in ("kernels", "problems"))
    hostile = site / "kernels" / f"{slug(HOSTILE)}.html"
    for page in [*sorted(site.glob("*.html")), *kernels[:1], hostile, *problems[:2]]:
        browser.open(page, width)
        assert browser.complaints() == [], page
        assert browser.ask("performance.getEntriesByType('resource').length") == 0, page
        assert browser.ask("document.documentElement.scrollWidth") <= width, page
        assert browser.ask("typeof hacked") == "undefined", page


def test_a_hostile_name_is_read_as_it_is(browser: Browser, site: Path) -> None:
    browser.open(site / "kernels" / f"{slug(HOSTILE)}.html")
    assert browser.one("h1").text == HOSTILE
    browser.open(site / "ladder.html")
    texts = "[...document.querySelectorAll('svg text')].map((text) => text.textContent)"
    assert HOSTILE in browser.ask(texts)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_page_and_charts_take_the_reader_s_colours(
    browser: Browser, site: Path, theme: Theme
) -> None:
    browser.open(problem_page(site), scheme=theme.name)
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == rgb(theme.paper)
    strokes = browser.ask(
        "[...document.querySelectorAll('svg.chart path')].map((p) => getComputedStyle(p).stroke)"
    )
    assert {rgb(theme.own), rgb(theme.ink), rgb(theme.grid)} <= set(strokes)


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


def test_search_narrows_names_and_rows(browser: Browser, site: Path, site_trends: Json) -> None:
    browser.open(site / "index.html")
    browser.press("/")
    browser.press("BF16 4096x4096x4096")
    shown = [link.text for link in browser.all("#names a") if link.is_displayed()]
    wanted = [p["id"] for p in site_trends["problems"] if p["id"].startswith("bf16")
              and "4096x4096x4096" in p["id"]]  # fmt: skip
    assert sorted(shown) == sorted(wanted) != []
    rows = [row for row in browser.all("#problems [data-find]") if row.is_displayed()]
    assert len(rows) == len(wanted)
    assert f"{len(wanted)} of " in browser.one("#found").text
    browser.press(ESCAPE)
    assert all(row.is_displayed() for row in browser.all("#problems [data-find]"))
    assert browser.one("#found").text == ""


def test_enter_opens_the_first_name_found(browser: Browser, site: Path) -> None:
    browser.open(site / "roofline.html")
    browser.press("/")
    browser.press(KERNEL, ENTER)
    assert browser.driver.current_url == (site / "kernels" / f"{KERNEL}.html").as_uri()


def test_the_keyboard_skips_to_the_content(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html")
    browser.press(TAB)
    skip = browser.driver.switch_to.active_element
    assert skip.text == "Skip to the content"
    assert skip.location["x"] >= 0
    browser.press(ENTER)
    assert browser.ask("document.activeElement.id") == "main"


def test_focus_is_seen(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html")
    browser.press(TAB)
    browser.press(TAB)
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert browser.ask("document.activeElement.textContent") == "Overview"
    assert browser.ask(outline) == "solid"


def test_pointing_at_a_night_says_what_it_was(
    browser: Browser, site: Path, site_trends: Json
) -> None:
    browser.open(problem_page(site))
    readout = browser.one(f"#{KERNEL}-readout")
    at_rest = readout.text
    assert at_rest.startswith("Newest night: ")
    plot = browser.one(f"[data-chart={KERNEL}] .plot")
    data = browser.ask("JSON.parse(document.getElementById('hover').textContent).nights")
    left, right = data["frame"]
    series = series_of(site_trends)
    night = 17
    browser.point(plot, left + data["at"][night] * (right - left))
    said = readout.text
    assert said.startswith(site_trends["nights"][night]["finished"][:10])
    assert site_trends["nights"][night]["commit"][:7] in said
    speed = series["control_us"][night] / series["us"][night]
    assert f"{speed:.3f} × control" in said
    low, high = (float(number) for number in re.findall(r"\((.*) to (.*)\)", said)[0])
    assert low == pytest.approx(math.exp(-series["high"][night]), abs=0.001)
    assert high == pytest.approx(math.exp(-series["low"][night]), abs=0.001)
    assert f"{series['sm_mhz'][night]:.0f} MHz" in said
    assert browser.one(f"[data-chart={KERNEL}] .cursor").is_displayed()
    browser.point(browser.one("h1"), 0.5)
    assert readout.text == at_rest


def test_a_disturbed_night_is_read_as_such(browser: Browser, site: Path, site_trends: Json) -> None:
    (disturbed,) = (n for n, night in enumerate(site_trends["nights"]) if night["doubts"])
    browser.open(problem_page(site))
    plot = browser.one(f"[data-chart={KERNEL}] .plot")
    data = browser.ask("JSON.parse(document.getElementById('hover').textContent).nights")
    left, right = data["frame"]
    said = {}
    for night in (disturbed, disturbed + 1):
        browser.point(plot, left + data["at"][night] * (right - left))
        said[night] = browser.one(f"#{KERNEL}-readout").text
    assert " · disturbed · " in said[disturbed]
    assert "disturbed" not in said[disturbed + 1]


def test_arrow_keys_walk_the_nights(browser: Browser, site: Path, site_trends: Json) -> None:
    browser.open(problem_page(site))
    chart = browser.one(f"[data-chart={KERNEL}]")
    browser.driver.execute_script("arguments[0].focus()", chart)
    browser.press(LEFT)
    browser.press(LEFT)
    readout = browser.one(f"#{KERNEL}-readout")
    assert readout.text.startswith(site_trends["nights"][-3]["finished"][:10])
    browser.press(TAB)
    assert readout.text.startswith("Newest night: ")


def test_a_link_leads_to_its_chart(browser: Browser, site: Path) -> None:
    page = problem_page(site)
    browser.driver.get("about:blank")
    browser.driver.get(f"{page.as_uri()}#{KERNEL}")
    assert browser.ask("document.querySelector(':target').id") == KERNEL
    assert browser.ask("document.querySelector(':target').getBoundingClientRect().top") < 450


def test_everything_is_read_without_script(browser: Browser, site: Path) -> None:
    browser.open(problem_page(site), script=False)
    assert browser.one(f"#{KERNEL}-readout").text.startswith("Newest night: ")
    assert not browser.one("form").is_displayed()
    browser.one("#names summary").click()
    assert any(link.text == KERNEL and link.is_displayed() for link in browser.all("#names a"))
    browser.open(problem_page(site))  # the next test has its script again


def test_a_missing_browser_is_no_pass_where_all_must_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("GEMMWATCH_TEST_ALL", "1")
    with pytest.raises(pytest.fail.Exception, match="chromium"):
        next(browsers.started())
    monkeypatch.setenv("GEMMWATCH_TEST_ALL", "0")
    with pytest.raises(pytest.skip.Exception, match="chromium"):
        next(browsers.started())
