"""Haplotypes of tetraploids: rows that carry exactly four copies, some of them twice."""
