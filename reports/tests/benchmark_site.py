"""How long the site of a year takes to build, how large its pages are, and how long one takes to
show. Prints; the numbers are this machine's.

    python -m reports.tests.benchmark_site
"""

import os
import resource
import tempfile
import time
from pathlib import Path

from reports.site.build import build_site
from reports.site.read_trends import read_trends
from reports.tests import browser as browsers
from reports.tests import synthetic_trends
from reports.tests.synthetic import write

SHOWN_AFTER = (
    "Math.max(performance.getEntriesByType('navigation')[0].loadEventEnd,"
    " ...performance.getEntriesByType('paint').map((paint) => paint.startTime))"
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        year = synthetic_trends.trends(synthetic_trends.plan())
        trends = write(Path(folder) / "trends.json", year)
        site = Path(folder) / "site"
        print(f"{len(year['nights'])} nights, {len(year['series'])} points, ", end="")
        print(f"{len(os.sched_getaffinity(0))} cores, trends.json {trends.stat().st_size:,} bytes")
        build(trends, site)
        listed = sorted(site.rglob("*.html"), key=lambda page: -page.stat().st_size)
        sizes = [page.stat().st_size for page in listed]
        print(f"{len(listed)} pages, {sum(sizes):,} bytes; largest {sizes[0]:,} bytes")
        show(site, listed)


def build(trends: Path, site: Path) -> None:
    begun = time.monotonic()
    build_site(read_trends(trends), None, None, site)
    spent = sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    print(f"built in {time.monotonic() - begun:.1f} s, with {spent:.0f} s of processor time")


def show(site: Path, listed: list[Path]) -> None:
    for browser in browsers.started():
        seconds = {}
        for page in listed:
            browser.open(page)
            seconds[page] = browser.ask(SHOWN_AFTER) / 1000
        slowest = max(seconds, key=lambda page: seconds[page])
        print(f"slowest page to show: {slowest.relative_to(site)}, {seconds[slowest]:.2f} s")


if __name__ == "__main__":
    main()
