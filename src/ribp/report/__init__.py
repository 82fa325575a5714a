"""One HTML page that shows what a fit found and whether to trust it."""

from ribp.report.content import Fit
from ribp.report.page import page, write_report

__all__ = ["Fit", "page", "write_report"]
