"""Running a sampler: chains in threads, progress, checkpoints, and what to expect beforehand."""
