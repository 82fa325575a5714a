"""Pictures on a page: one image a panel, all of one size, nothing cut off."""

import base64
import io
import re

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from ribp.report.pictures import picture


def images(html):
    coded = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(one)))) for one in coded]


def grid(number):
    axes = Figure(figsize=(6, 4), layout="constrained").subplots(2, 2, sharex=True, sharey=True)
    cells = axes.ravel()
    for unused in cells[number:]:
        unused.remove()
    for at, ax in enumerate(cells[:number]):
        ax.plot([0, 1], [0, 1000 * (at + 1)])
        ax.set_title(f"panel {at}")
    cells[0].set_ylabel("height")
    cells[0].figure.supxlabel("length")
    return cells[:number]


def test_panels_are_images_of_one_size_with_nothing_cut_off():
    axes = grid(3)
    axes[0].figure.legend(axes[0].lines, ["line"], loc="outside upper center")
    html = picture(axes, "Three panels.")
    legend, *panels = images(html)
    assert len({panel.shape for panel in panels}) == 1
    assert 'alt="Three panels. Panel 3 of 3."' in html
    assert "Across: length" in html
    assert legend.shape[0] < panels[0].shape[0]
    for image in (legend, *panels):
        edges = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
        assert (edges == 255).all()  # white all around
        assert (image < 128).any()
    left = [panel[:, : panel.shape[1] // 8] for panel in panels]
    assert all((part < 128).any() for part in left)  # each has the label and numbers of its axis


def test_one_panel_and_panels_with_a_scale_stay_one_picture():
    ax = Figure(figsize=(3, 2)).subplots()
    ax.plot([0, 1])
    html = picture(ax, "A line.")
    assert len(images(html)) == 1
    assert 'style="max-width:288px"' in html
    axes = Figure(figsize=(4, 2), layout="constrained").subplots(1, 2)
    shown = [one.imshow(np.eye(2)) for one in axes]
    axes[0].figure.colorbar(shown[0], ax=list(axes))
    assert len(images(picture(axes, "Two images."))) == 1
