"""Whether the default sampler finds the features that made the data."""
