"""Pictures of `ribp.plots` inside a page: drawn once, and cut into panels that a browser arranges.

A picture of several panels would be too small to read in a narrow window. Each panel becomes an
image of its own, with its title and the labels of its axes, all of one size: they stand side by
side where there is room, one below the other where there is none.
"""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from ribp.report.elements import Html, note, tag

_DPI = 120
_ROOM = 4  # pixels around a panel


def picture(axes: Any, alt: str) -> Html:
    """Return a picture inside the page; `axes` as the functions of `ribp.plots` return them."""
    cells = list(np.ravel(axes))
    figure: Figure = cells[0].figure
    if len(cells) > 1 and set(figure.axes) == set(cells):  # no scale of colours beside them
        return _panels(figure, cells, alt)
    return tag("figure", _image(_drawn(figure)[0], alt))


def _panels(figure: Figure, cells: list[Any], alt: str) -> Html:
    """Return an image for each panel, below those of the legends, above what is said of all."""
    below = figure.get_supxlabel()
    figure.supxlabel("")
    for ax in cells:  # each can be read by itself
        ax.tick_params(labelbottom=True, labelleft=True)
        ax.set_ylabel(ax.get_ylabel() or cells[0].get_ylabel())
    pixels, renderer = _drawn(figure)
    legends = [
        _image(_cut(pixels, np.array(one.get_window_extent(renderer).extents)), "Legend.")
        for one in figure.legends
    ]
    inner = np.array([ax.get_window_extent(renderer).extents for ax in cells])
    outer = np.array([ax.get_tightbbox(renderer).extents for ax in cells])
    margins = np.abs(outer - inner).max(axis=0) * [-1, -1, 1, 1]
    cuts = [_cut(pixels, box + margins) for box in inner]
    images = [
        tag("figure", _image(cut, f"{alt} Panel {number} of {len(cuts)}."))
        for number, cut in enumerate(cuts, start=1)
    ]
    width = f"--panel:{_natural(cuts[0]):.0f}px"
    said = note(f"Across: {below}") if below else None
    return tag("div", *legends, tag("div", *images, class_="panels", style=width), said)


def _drawn(figure: Figure) -> tuple[NDArray[np.uint8], Any]:
    """Return the pixels of a figure, shape (height, width, 3), and what has drawn them."""
    figure.set_dpi(_DPI)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3], canvas.get_renderer()


def _cut(pixels: NDArray[np.uint8], box: Any) -> NDArray[np.uint8]:
    """Return what is inside a box: left, bottom, right and top, from the lower left corner."""
    height, width = pixels.shape[:2]
    room = np.array([-_ROOM, -_ROOM, _ROOM, _ROOM])
    left, bottom, right, top = (np.rint(box).astype(int) + room).tolist()
    return pixels[max(height - top, 0) : height - max(bottom, 0), max(left, 0) : min(right, width)]


def _image(pixels: NDArray[np.uint8], alt: str) -> Html:
    """Return pixels as an image that is never larger than they are."""
    written = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(written, format="png")
    source = "data:image/png;base64," + base64.b64encode(written.getvalue()).decode("ascii")
    return tag("img", src=source, alt=alt, style=f"max-width:{_natural(pixels):.0f}px")


def _natural(pixels: NDArray[np.uint8]) -> float:
    """Return the width of an image on the page, in pixels of style sheets."""
    return float(pixels.shape[1]) * 96 / _DPI
