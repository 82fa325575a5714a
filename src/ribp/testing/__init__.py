"""What proves a law or a sampler: enumeration, goodness of fit, and wrong twins to be caught.

`exact` answers by enumeration or many-digit arithmetic; `goodness` turns draws into one verdict
with a failure rate for the whole suite; `geweke` tests that an update leaves the posterior
unchanged, `calibration` that a whole fit is right on average, both from draws of the model alone;
`broken` holds samplers that are wrong in a known way, so that a test can show that it would notice.
"""

from ribp.testing import broken, calibration, exact, geweke, goodness

__all__ = ["broken", "calibration", "exact", "geweke", "goodness"]
