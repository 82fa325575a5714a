"""The scikit-learn face: `RestrictedIBP` and `IndianBuffet`.

Arguments become a model (`arguments`), `ribp.fitting.fit` runs it (`base`), attributes describe
what was found (`describe`), and what users ask afterwards is asked of the `Result`.
"""

from ribp.estimators.buffet import IndianBuffet
from ribp.estimators.loading import load
from ribp.estimators.restricted import RestrictedIBP

__all__ = ["IndianBuffet", "RestrictedIBP", "load"]
