"""Pictures of a result, one picture a file; Matplotlib is loaded when this package is.

Every function takes a `ribp.results.Result` first (`model.result_` of a fitted estimator). It draws
in `ax`, or in `figure` where there may be several panels, or in a new picture if they are None, and
returns the Axes (an array of Axes where there may be several panels). Nothing is shown by itself:
end the cell of a notebook with ``ax.figure``, or write ``ax.figure.savefig("picture.png")``.
"""

from ribp.plots.activity_map import activity
from ribp.plots.check_bars import predictive_checks
from ribp.plots.count_bars import counts
from ribp.plots.feature_panels import features
from ribp.plots.rank_steps import ranks
from ribp.plots.rebuilt_rows import rebuilt
from ribp.plots.score_dots import held_out
from ribp.plots.shared_features import coactivation
from ribp.plots.stability_map import stability
from ribp.plots.trace_lines import traces
from ribp.plots.weight_dots import weights

__all__ = [
    "activity",
    "coactivation",
    "counts",
    "features",
    "held_out",
    "predictive_checks",
    "ranks",
    "rebuilt",
    "stability",
    "traces",
    "weights",
]
