"""The documentation in a browser: no page is wider than its window, or asks anybody anything."""

import pytest

from docs import screenshots
from tests.helpers import ROOT
from tests.helpers.browser import browser

HTML = ROOT / "docs" / "_build" / "html"
PAGES = sorted(path for path in HTML.rglob("*.html") if "_static" not in path.parts)

pytestmark = [
    pytest.mark.skipif(not PAGES, reason="the documentation is not built: make docs"),
    pytest.mark.skipif(
        screenshots.chromium() is None, reason="there is no chromium here: make browser installs it"
    ),
]
TOO_WIDE = """[...document.querySelectorAll('.bd-article *')].filter(one => {
    const box = one.getBoundingClientRect();
    let outer = one.parentElement, scrolls = false;
    while (outer && !scrolls) {
        scrolls = ['auto', 'scroll', 'hidden'].includes(getComputedStyle(outer).overflowX);
        outer = outer.parentElement;
    }
    return box.width > 1 && box.right > innerWidth + 1 && !scrolls;
}).map(one => one.tagName + '.' + one.className)"""


def test_every_page_fits_its_window_and_is_quiet(tmp_path):
    assert len(PAGES) > 40
    wide = {}
    with browser(tmp_path) as page:
        for path in PAGES:
            page.open(path)
            for width in (420, 1400):
                page.resize(width)
                over = page.value("document.documentElement.scrollWidth") - width
                if over > 0 or page.value(TOO_WIDE):
                    wide[path.relative_to(HTML).as_posix(), width] = over, page.value(TOO_WIDE)
        assert not wide, wide
        said = [one for one in page.console if one.get("type") != "log"]  # the theme names its mode
        assert said == []
        assert page.requests == []


def test_the_navigation_folds_on_a_telephone(tmp_path):
    shown = """(() => { const box = document.querySelector('.bd-sidebar-primary .bd-links')
        .getBoundingClientRect(); return box.width > 0 && box.right > 0 && box.left < innerWidth
        && document.querySelector('.bd-sidebar-primary .bd-links').checkVisibility(
            {visibilityProperty: true}); })()"""
    with browser(tmp_path) as page:
        page.resize(1400)
        page.open(HTML / "quickstart.html")
        assert page.value(shown)
        assert page.value("document.querySelector('.bd-sidebar-primary .current a').innerText")
        assert page.value("document.querySelectorAll('.page-toc a').length") > 3
        assert "BSD-3-Clause" in page.value("document.querySelector('footer.bd-footer').innerText")
        page.resize(420)
        page.open(HTML / "quickstart.html")
        assert not page.value(shown)
        page.value("document.querySelector('.primary-toggle').click()")
        assert page.value("document.querySelector('#pst-primary-sidebar-modal').open")
