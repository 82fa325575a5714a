"""A report in a real browser: it shows, is silent on the console, and asks nobody for anything."""

import csv
import json
import time

import numpy as np
import pytest
from PIL import Image

from docs import screenshots
from ribp.likelihoods.validation import as_data
from ribp.report import Fit, write_report
from tests.helpers.browser import browser
from tests.helpers.hostile_names import hostile_names
from tests.helpers.plot_cases import made, popular_rows

in_a_browser = pytest.mark.skipif(
    screenshots.chromium() is None, reason="there is no chromium here: make browser installs it"
)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    rng = np.random.default_rng(0)
    names = [f"<script>alert({n})</script>" for n in range(30)]
    truth = popular_rows(rng, 30, 4)
    result = made(truth, rng.normal(0.0, 3.0, (4, 6)), row_names=names, dim_names=names[:6])
    path = tmp_path_factory.mktemp("page") / "report.html"
    data = as_data(rng.normal(size=(30, 6)))
    write_report(Fit(result, "<img src=https://example.com/a.png>", data), path)
    return path


@in_a_browser
@pytest.mark.parametrize("width", [420, 1400])
def test_a_report_is_quiet_and_fits_its_window(report, tmp_path, width):
    picture = tmp_path / "page.png"
    assert screenshots.visit(report, width, 2000, picture) == screenshots.Visit([], [])
    shown = np.asarray(Image.open(picture).convert("L"), dtype=float)
    assert shown.shape == (2000, width)
    assert (shown[:, -8:] > 250).all()  # nothing runs over the right edge
    assert (shown.min(axis=1) < 128).mean() > 0.2  # and there is something to see


@in_a_browser
def test_a_page_that_talks_is_caught(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<img src="https://example.com/x.png"><script>console.error("oh")</script>', "utf-8"
    )
    found = screenshots.visit(page)
    assert found.requests == ["https://example.com/x.png"]
    assert "oh" in found.console[0]


def test_screenshots_in_the_docs_are_current():
    known = json.loads(screenshots.MARK.read_text(encoding="utf-8"))
    assert known["made_by"] == screenshots.fingerprint(), "run make screenshots and look at them"
    for name in screenshots.SIZES:
        assert 10_000 < (screenshots.PICTURES / f"{name}.png").stat().st_size < 250_000


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Write a report with 200 names of rows, labels and columns that mean harm."""
    rng = np.random.default_rng(0)
    names = hostile_names(200)
    result = made(popular_rows(rng, 200, 4), rng.normal(0.0, 3.0, (4, 20)), row_names=names,
                  dim_names=names[:20])  # fmt: skip
    result = result.named({0: "=1+1", 1: "<script>alert(1)</script>"})
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    fit = Fit(result, names[0], as_data(rng.normal(size=(200, 20))), labels={"=label": names})
    write_report(fit, path)
    return path


def downloaded(page, folder, name):
    """Press the button of a table, and return the lines of the file."""
    page.value(f"document.querySelector('#{name} button').click()")
    target = folder / f"{name}.csv"
    for _ in range(100):
        if target.exists() and target.stat().st_size:
            break
        time.sleep(0.1)
    with target.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


@in_a_browser
def test_search_sort_and_download(hostile, tmp_path):
    shown = "[...document.querySelectorAll('#rows tbody tr')].filter(row => !row.hidden)"
    first = f"{shown}[0].cells[0].textContent"
    with browser(tmp_path) as page:
        page.open(hostile)
        assert page.value(f"{shown}.length") == 200
        page.value(
            "(() => { const box = document.querySelector('#rows input');"
            "box.value = 'drop'; box.dispatchEvent(new Event('input')); })()"
        )
        assert page.value(f"{shown}.length") == 10
        page.value("document.querySelector('#rows th').click()")
        assert page.value(first) == "'; DROP0"
        page.value("document.querySelector('#rows th').click()")
        assert page.value(first) == "'; DROP9"
        page.value(
            "(() => { const box = document.querySelector('#rows input');"
            "box.value = ''; box.dispatchEvent(new Event('input')); })()"
        )
        rows, features = (downloaded(page, tmp_path, name) for name in ("rows", "features"))
        assert (len(rows), len(features)) == (201, 81)
        cells = [cell for line in (*rows, *(line[:2] for line in features)) for cell in line]
        assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r")]
        assert {float(x) < 0 for line in features[1:] for x in line[2:]} == {True, False}
        assert page.console == []
        assert page.requests == []


@in_a_browser
@pytest.mark.parametrize("script", [True, False])
def test_nothing_is_over_the_edge_and_all_is_there_without_script(hostile, tmp_path, script):
    with browser(tmp_path) as page:
        page.ask("Emulation.setScriptExecutionDisabled", value=not script)
        page.open(hostile)
        for width in (360, 420, 768, 1400):
            page.resize(width)
            assert page.value("document.documentElement.scrollWidth") <= width
        assert page.value("document.querySelectorAll('#rows tbody tr').length") == 200
        assert page.value("document.querySelectorAll('.tools').length") == (2 if script else 0)
        assert page.console == []
