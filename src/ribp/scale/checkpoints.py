"""Checkpoints of chains whose rows are elsewhere.

What the rows of a chain have (`ribp.scale.tables`) is too much for one array of the driver: it goes
to a file of its own, some rows at a time, named by how many sweeps the chain has made. That file is
written before the state of the chain, and older ones are removed after it: whenever a run is
killed, the file that belongs to the state on disk is there. It takes 8 (features + counts) bytes a
row for `structured`, twice that for a moment, and features/8 bytes for `gibbs-rows`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ribp.running.chain import Chain
from ribp.running.checkpoint import Checkpoint
from ribp.running.samplers import Sampler
from ribp.scale.sampler import ElsewhereChain
from ribp.scale.tables import save

__all__ = ["RowsCheckpoint"]


class RowsCheckpoint(Checkpoint):
    """The folder of a run whose rows are elsewhere."""

    def write(self, chain: Any) -> None:
        """Write what rows have, where the chain is, and what it has recorded."""
        here: ElsewhereChain = chain
        path = self._rows(here)
        if here.waiting is None:
            save(path, here.keeper.shape[0], here.keeper.held())
        super().write(here)
        for old in set(self.folder.glob(f"chain-{here.number}-rows-*.npy")) - {path}:
            old.unlink()

    def read(self, chain: Any, sampler: Sampler) -> None:
        """Put a new chain where it was when it was last written; its rows wait in their file."""
        super().read(chain, sampler)
        if chain.state is not None:
            chain.waiting = self._rows(chain)

    def _rows(self, chain: Chain) -> Path:
        return self.folder / f"chain-{chain.number}-rows-{chain.n_sweeps:08d}.npy"
