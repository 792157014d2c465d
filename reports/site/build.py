"""Builds the site: the pages are independent, so each core draws its own."""

import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from reports.files import ReportError
from reports.model import Measured
from reports.site.folder import replaced
from reports.site.newest import check_is_newest, check_judges_newest, newest_night
from reports.site.pages import Page, Site, pages
from reports.site.trends import Trends
from reports.verdict import Verdict

_site: Site  # of a drawing process


def build_site(trends: Trends, run: Measured | None, verdict: Verdict | None, folder: Path) -> None:
    """Writes the site. The run and the verdict, if given, are of the newest night."""
    if run:
        check_is_newest(trends, run)
    if verdict:
        check_judges_newest(trends, verdict)
    site = Site(trends, run or newest_night(trends), verdict)
    with replaced(folder) as new:
        listed = pages(trends)
        for inside in {Path(page.path).parent for page in listed}:
            (new / inside).mkdir(exist_ok=True)
        _draw(site, listed, new)


def _draw(site: Site, listed: list[Page], folder: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    try:
        with ProcessPoolExecutor(cores, initializer=_start, initargs=(site,)) as pool:
            for _ in pool.map(_write, listed, [folder] * len(listed)):
                pass
    except BrokenProcessPool as error:
        raise ReportError(
            f"{folder}: a drawing process ended early, perhaps for want of memory; try again"
        ) from error


def _start(site: Site) -> None:
    global _site
    _site = site


def _write(page: Page, folder: Path) -> None:
    (folder / page.path).write_bytes(_site.render(page))
