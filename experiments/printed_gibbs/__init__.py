"""The paper's Gibbs conditional for one entry, as printed, beside the right one."""
