"""A report in a real browser: it shows, is silent on the console, and asks nobody for anything."""

import json

import numpy as np
import pytest
from PIL import Image

from docs import screenshots
from ribp.likelihoods.validation import as_data
from ribp.report import Fit, write_report
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
