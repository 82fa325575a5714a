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


HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "=1+1", "+cmd|' /C calc'!A0",
    "-2+3", "@SUM(A1)", "\x1b[31mred", "\u202egnp.exe", "x" * 500, 'a"b,c', "'; DROP", "{{7*7}}",
    "javascript:alert(1)", "</style><b>", "</title>", "&lt;b&gt;", "\t=2", "日本語", "🙂", "a\nb",
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Write a report with 200 names of rows, labels and columns that mean harm."""
    rng = np.random.default_rng(0)
    names = [f"{HOSTILE[n % 20]}{n // 20}" for n in range(200)]
    result = made(popular_rows(rng, 200, 4), rng.normal(0.0, 3.0, (4, 20)), row_names=names,
                  dim_names=HOSTILE)  # fmt: skip
    result = result.named({0: "=1+1", 1: "<script>alert(1)</script>"})
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    fit = Fit(result, HOSTILE[0], as_data(rng.normal(size=(200, 20))), labels={"=label": names})
    write_report(fit, path)
    return path


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
        page.value("document.querySelector('#rows button').click()")
        target = tmp_path / "rows.csv"
        for _ in range(100):
            if target.exists() and target.stat().st_size:
                break
            time.sleep(0.1)
        lines = list(csv.reader(target.read_text("utf-8-sig").splitlines()))
        assert len(lines) == 201
        assert not [cell for line in lines for cell in line if cell[:1] in tuple("=+-@")]
        assert page.value("window.alerted") is None
        assert page.console == []


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
