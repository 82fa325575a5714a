"""Tables 1 to 3 of the paper: training and held-out likelihoods, and times, on real data."""
