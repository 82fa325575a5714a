"""Chains in threads, until all are done or somebody stops them.

Kernels let go of the interpreter, so threads run side by side; nothing is forked. A chain that ends
with an error stops the others, and the error is raised. Ctrl-C lets every chain finish its sweep. A
checkpoint that cannot be written does not stop a chain: it is said at once, tried again at the next
one, and said again at the end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from ribp.errors import Notice
from ribp.rows.store import RowStore
from ribp.running.chain import Chain, Plan
from ribp.running.checkpoint import Checkpoint
from ribp.running.progress import Event, Progress
from ribp.running.samplers import Sampler
from ribp.search.pool import Pool
from ribp.threads import one_blas_thread

CHECKPOINT_SWEEPS = 100
"""Checkpoints are written after so many sweeps, but not sooner than"""
CHECKPOINT_SECONDS = 5.0
"""after the last one; and at the end."""
_PATIENCE = 0.2  # seconds between looks at the keyboard


class Ended(NamedTuple):
    """How a run ended."""

    interrupted: bool
    warnings: list[Notice]


class _Run:
    """What all chains of a run share."""

    def __init__(
        self,
        sampler: Sampler,
        store: RowStore,
        plan: Plan,
        pool: Pool,
        checkpoint: Checkpoint | None,
        progress: Progress,
    ) -> None:
        self.sampler, self.store, self.plan, self.pool = sampler, store, plan, pool
        self.checkpoint, self.progress = checkpoint, progress
        self.stop = threading.Event()
        self.trouble: dict[int, Notice] = {}

    def work(self, chain: Chain) -> None:
        """Run one chain to its end, or until it is to stop."""
        if self.stop.is_set():
            return
        if chain.n_sweeps < self.plan.n_sweeps or chain.state is None:
            new = chain.state is None
            chain.begin(self.sampler, self.store, self.pool.start(chain.number))
            if new:
                self.save(chain)
        written, update, model = time.monotonic(), self.sampler.update, self.sampler.model
        while chain.n_sweeps < self.plan.n_sweeps and not self.stop.is_set():
            chain.state, info = update(chain.rng, chain.seed, chain.state, model, chain.rows)
            chain.record(self.sampler, self.plan, info)
            self.progress(self._event(chain))
            due = time.monotonic() - written >= CHECKPOINT_SECONDS
            if due and chain.n_sweeps % CHECKPOINT_SWEEPS == 0:
                self.save(chain)
                written = time.monotonic()
        self.save(chain)
        self.progress(self._event(chain))
        chain.rows = None  # others may need the room

    def _event(self, chain: Chain) -> Event:
        plan, done = self.plan, len(chain.draws.posterior)
        share = chain.n_sweeps / max(plan.n_sweeps, 1)
        rest = (share, chain.active_features, chain.log_joint)
        if chain.n_sweeps >= plan.n_sweeps:
            return Event(chain.number, "done", done, plan.n_draws, *rest)
        if done == 0:
            return Event(chain.number, "warm-up", chain.n_sweeps, plan.n_warmup, *rest)
        return Event(chain.number, "draws", done, plan.n_draws, *rest)

    def save(self, chain: Chain) -> None:
        """Write a checkpoint, or say that it was not possible."""
        if self.checkpoint is None:
            return
        try:
            self.checkpoint.write(chain)
            self.trouble.pop(chain.number, None)
        except OSError as error:
            if chain.number not in self.trouble:
                self.progress.say(
                    f"checkpoint of chain {chain.number + 1} not written "
                    f"({error.strerror or error}); the chain goes on"
                )
            self.trouble[chain.number] = Notice(
                "checkpoint-not-written",
                f"The last checkpoint of chain {chain.number + 1} could not be written to "
                f"{self.checkpoint.folder} ({error.strerror or error}): the run cannot be resumed "
                "from where it is. Save the result elsewhere.",
            )


def run_chains(
    sampler: Sampler,
    store: RowStore,
    plan: Plan,
    chains: Sequence[Chain],
    pool: Pool,
    *,
    n_jobs: int,
    progress: Progress,
    checkpoint: Checkpoint | None = None,
) -> Ended:
    """Run chains to their end.

    Parameters
    ----------
    sampler, store, plan
        What to run, on what, and for how long.
    chains
        New, or read from a checkpoint; they are changed in place.
    pool
        Where new ones begin.
    n_jobs
        How many run at once.
    progress
        Is told where chains are.
    checkpoint
        Where to write them down now and then, and at the end.
    """
    run = _Run(sampler, store, plan, pool, checkpoint, progress)
    interrupted = False
    with one_blas_thread(), ThreadPoolExecutor(n_jobs, "ribp-chain") as threads:
        futures: list[Future[None]] = []
        try:
            for chain in chains:
                futures.append(threads.submit(run.work, chain))  # noqa: PERF401 - one may fail
            _wait(futures, progress)
        except KeyboardInterrupt:
            interrupted = any(chain.n_sweeps < plan.n_sweeps for chain in chains)
            progress.say("stopping after this sweep")
            run.stop.set()
            _wait(futures, progress)
        except BaseException:
            run.stop.set()
            raise
    return Ended(interrupted, list(run.trouble.values()))


def _wait(futures: list[Future[None]], progress: Progress) -> None:
    """Wait for all, with an eye on the keyboard; raise what the first one raised."""
    left = set(futures)
    while left:
        progress.refresh()
        done, left = wait(left, timeout=_PATIENCE, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
