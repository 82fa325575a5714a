"""Mutants that change nothing anybody can observe, and why; by the names of `tests.mutants`."""

_TIE = "a tie of real numbers, one of them drawn: it has probability zero"

EQUIVALENT = {
    "kinds/kind.py:113:24-113:25 index": (
        "thresholds of a kind that has none: columns of kinds know where their own begin, and a"
        " number that belongs to none is never read"
    ),
    "weights/size_ordered.py:182:58-182:62 factor": (
        "how far to the right the table of a proposal goes: already at 25/power the law has less"
        " than e^-25 beyond it, the density that is claimed is that of the table, and bins are as"
        " narrow as before"
    ),
    "prior/certificate.py:84:11-84:38 comparison": f"{_TIE} (a tail that is the goal exactly)",
    "prior/truncated_weights.py:71:11-71:28 comparison": f"{_TIE} (a bound that is tol exactly)",
    "prior/rejection.py:38:63-38:64 index": (
        "a column of zeros more if all counts are zero: rows are given up beyond the last count"
        " that can be accepted, which is found from the table"
    ),
    "prior/draw.py:75:61-75:70 sign": (
        "only draws with exactly 2^31 or 2^31 + 1 ones, 8 GB of indices, would differ"
    ),
    "prior/certificate.py:41:82-41:87 factor": (
        "how far a table of a law without an end goes: counts with a probability of 2e-30"
        " instead of 1e-30, which no draw of a double reaches"
    ),
    "kernels/entry_slices.py:179:22-179:23 index": (
        "what is handed over in place of the other weights by steps that move all of them, and"
        " that never read it"
    ),
    "rows/shard.py:242:26-242:51 comparison": (
        "how threads are shared out: sums are the same bits however they are, only speed differs"
    ),
    "posterior/predictive_checks.py:233:22-233:33 comparison": (
        "where a tail is one half exactly both sides of the choice are zero"
    ),
    "posterior/predictive_checks.py:167:22-167:38 comparison": f"{_TIE} (a residual of exactly 3)",
    "likelihoods/units.py:95:7-95:57 comparison": (
        "a column whose spread is, to the last bit, the least that counts: what counts as constant"
        " is a choice of ours, and both units serve"
    ),
    "likelihoods/kind_rows.py:62:19-62:20 index": (
        "what a sweep has added up: columns of kinds ask the rows again, and nobody reads it"
    ),
    "likelihoods/noisy_or.py:130:23-130:75 sign": (
        "the precision of a Gaussian model that only proposes rows: enumeration does not use it,"
        " and annealing weighs proposals by what they are, whatever they are"
    ),
    "mcmc/augmented_moves.py:227:20-227:29 sign": (
        "saves the likelihood of a count that cannot be: -inf plus what is finite is -inf"
    ),
    "prior/inclusion.py:47:68-47:87 sign": (
        "the sum is one but for rounding: to divide by it or to multiply is the same"
    ),
    "prior/rejection.py:39:49-39:52 factor": (
        "a probability of two instead of one: a uniform number is below both"
    ),
    "variational/features.py:100:20-100:23 factor": (
        "saves a multiplication by one; powers are at most one, so two is never asked for"
    ),
    "variational/hybrid_rows.py:171:27-171:28 index": (
        "another stream of random numbers, of the same law"
    ),
    "variational/stochastic.py:308:60-308:61 index": (
        "another stream of random numbers, for rows that are computed and not drawn"
    ),
    "variational/mean_field.py:76:91-76:92 index": (
        "probabilities of counts of the ends of a law that has none: never read"
    ),
    "variational/point_weights.py:108:26-108:30 factor": (
        "a line search that ends within 2e-8 of log mass instead of 1e-8, and only climbs"
    ),
    "variational/structured_rows.py:145:85-145:89 sign": (
        "only whether the number is finite is looked at, so that a row is named"
    ),
    "weights/size_ordered.py:137:59-137:77 dropped": (
        "a constant factor for each kind of sum: it cancels in every conditional law of the table,"
        " and the rest in the ratio of a density of the same table at two places"
    ),
}
"""Reasons, by name."""
