"""The paper's first toy figure: features and counts that the R-IBP and the IBP find."""
