"""Names for features: numbers in the order in which they first appear."""

from __future__ import annotations

import numpy as np

from ribp.kernels.jit import jit


@jit
def by_first_appearance(members, n_atoms):
    """Replace members by labels 0, 1, ... in order of appearance; return the label of each atom.

    Atoms that do not appear have label -1. Works in place. Equals
    ``_, first = np.unique(members, return_index=True)`` with labels ranked by `first`.
    """
    label = np.full(n_atoms, -1, np.int32)
    used = 0
    for at in range(members.shape[0]):
        atom = members[at]
        if label[atom] < 0:
            label[atom] = used
            used += 1
        members[at] = label[atom]
    return label
