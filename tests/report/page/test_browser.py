"""The page in headless Chromium; skipped where there is none (`pip install -e '.[browser]'`, and a Chromium)."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from normtrial.records import RunFolder
from normtrial.report.arms import Run
from normtrial.report.page.build import compare, page

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        # A container's root has no user namespace for the sandbox; the page is our own.
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """Opens a file in a window that records messages and requests; neither may come."""
    window = browser.new_page()
    seen: list[str] = []
    window.on("console", lambda message: seen.append(f"{message.type}: {message.text}"))
    window.on("pageerror", lambda error: seen.append(f"error: {error}"))
    window.on("request", lambda request: seen.append(request.url))

    def open_file(path: Path) -> Any:
        window.goto(path.as_uri())
        assert [one for one in seen if one.startswith(("http", "ws"))] == [], "a request left the page"
        assert [one for one in seen if not one.startswith(("file:", "data:"))] == []
        return window

    yield open_file
    window.close()
    assert [one for one in seen if not one.startswith(("file:", "data:"))] == []


def names(window: Any) -> list[str]:
    return window.eval_on_selector_all(
        "#table tbody tr", "rows => rows.filter(row => !row.hidden).map(row => row.cells[0].innerText)"
    )


def test_it_renders_sorts_filters_and_opens(full_page: Path, opened: Any) -> None:
    window = opened(full_page)
    assert window.locator("figure svg").count() == 6
    assert min(window.eval_on_selector_all("figure svg", "all => all.map(svg => svg.clientHeight)")) > 100
    best_first = names(window)
    assert len(best_first) == 9

    heading = window.locator("#table thead th", has_text="difference")
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    values = window.eval_on_selector_all("#table tbody tr", "rows => rows.map(row => row.cells[4].dataset.value)")
    numbers = [float(value) for value in values if value]
    assert numbers == sorted(numbers, reverse=True)
    assert values[len(numbers) :] == [""] * (len(values) - len(numbers)), "what has no value is last"
    heading.locator("button").press("Enter")  # the keyboard does the same, the other way round
    values = window.eval_on_selector_all("#table tbody tr", "rows => rows.map(row => row.cells[4].dataset.value)")
    assert [float(value) for value in values if value] == numbers[::-1]

    window.keyboard.press("/")
    window.keyboard.type("BN 256")
    assert sorted(names(window)) == sorted(name for name in best_first if "bn" in name and "256" in name)
    assert window.locator("#count").inner_text() == "2 of 9 arms"
    assert window.locator(".arm:visible").count() == 2
    window.keyboard.type(" nothing")
    assert window.locator("#nothing").is_visible()
    window.keyboard.press("Escape")
    assert len(names(window)) == 9

    command = window.locator(".arm li code").last
    assert not command.is_visible()
    window.locator("#table tbody a").last.click()
    assert window.locator(".arm[open]").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_lines_have_contrast(full_page: Path, browser: Any, scheme: str) -> None:
    window = browser.new_page(color_scheme=scheme)
    window.goto(full_page.as_uri())
    ratios = window.evaluate(CONTRAST)
    window.close()
    assert len(ratios) == 12
    assert {name: ratio for name, ratio in ratios.items() if ratio < (3 if "series" in name else 4.5)} == {}


# WCAG 2.1, 1.4.3 and 1.4.11: text 4.5 : 1, lines of a figure 3 : 1 against the paper.
CONTRAST = """() => {
  const at = (name) => {
    const probe = document.createElement("i");
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const [r, g, b] = getComputedStyle(probe).color.match(/[\\d.]+/g).map((x) => x / 255)
      .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = at("paper");
  const ratio = (name) => (Math.max(at(name), paper) + 0.05) / (Math.min(at(name), paper) + 0.05);
  const names = ["ink", "muted", "link", "bad", "line", ...[0, 1, 2, 3, 4, 5, 6].map((n) => `series-${n}`)];
  const found = Object.fromEntries(names.map((name) => [name, ratio(name)]));
  found.line = 21;  // a rule between rows is no text
  return found;
}"""


def test_two_thousand_runs_load_in_three_seconds(opened: Any, make_run: Any, tmp_path: Path) -> None:
    """Read from memory: what is measured is the page."""
    like = Run.read(make_run(layers=1))
    runs = [
        Run(
            RunFolder(tmp_path / f"{number:04d}"),
            {**like.config, "seed": number % 5, "optim.lr": 1e-4 * (1 + number // 5)},
            {**(like.summary or {}), "events": {}},
        )
        for number in range(2000)
    ]
    path = tmp_path / "report.html"
    path.write_text(page(compare(runs), "Many runs", "python scripts/report.py"), encoding="utf-8")
    window = opened(path)
    assert len(names(window)) == 400
    assert window.locator(".arm li").count() == 2000
    milliseconds = window.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert 0 < milliseconds < 3000
    began = window.evaluate("performance.now()")
    window.locator("#table thead th", has_text="tokens/s").locator("button").click()
    assert window.evaluate("performance.now()") - began < 1000
