"""Speed as ratios inside one run: `python -m benchmarks`, or `make bench`."""
