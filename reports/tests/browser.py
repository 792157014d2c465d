"""A headless Chromium for tests of pages: what only a browser can tell."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromedriver")


def started() -> Iterator["Browser"]:
    """One for all tests of a session. Where there is none they are skipped, unless all must run."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    try:
        from selenium import webdriver
    except ModuleNotFoundError:
        missing.append("the Python package selenium")
    if missing:
        reason = f"needs {' and '.join(missing)} (Debian: chromium, chromium-driver)"
        if os.environ.get("GEMMWATCH_TEST_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    # Containers run as root, and with little shared memory.
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(shutil.which("chromedriver"))
    )
    yield Browser(driver)
    driver.quit()


class Browser:
    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(
        self, page: Path, width: int = 1280, scheme: str = "light", script: bool = True
    ) -> None:
        """Opens the file afresh, its anchor and all, as a reader with such a window would."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
        self.driver.get("about:blank")
        self.driver.get(page.as_uri())

    def complaints(self) -> list[str]:
        """What the console said since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        return self.driver.execute_script(f"return {expression}")

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", selector))

    def one(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def press(self, *keys: str) -> None:
        """To whatever has the focus."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def point(self, element: Any, share: float) -> None:
        """Moves the pointer over the element, to that share of its width."""
        from selenium.webdriver import ActionChains

        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        offset = round((share - 0.5) * element.size["width"])
        ActionChains(self.driver, duration=0).move_to_element_with_offset(
            element, offset, 0
        ).perform()
