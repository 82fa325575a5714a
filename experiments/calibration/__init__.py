"""Every sampler under joint tests and simulation-based calibration, with results for all to see."""
