"""Haplotypes of tetraploids, and how many copies each plant has: entries that count."""

import matplotlib.pyplot as plt
import numpy as np

import ribp

rng = np.random.default_rng(2)
truth = rng.integers(0, 2, (6, 40)).astype(float)
copies = rng.multinomial(4, rng.dirichlet(np.full(6, 9.0)), size=80)
X = copies @ truth + 0.3 * rng.normal(size=(80, 40))
four = {"entries": "poisson", "restrict": "sum", "counts": "exactly(4)", "background": False}
short = {"max_features": 9, "n_chains": 2, "n_warmup": 60, "n_draws": 60, "random_state": 1}
model = ribp.RestrictedIBP("gibbs-rows", **four, **short).fit(X)
found = model.multiplicities(X)
clear = {"aspect": "auto", "interpolation": "nearest"}
figure, (sites, plants) = plt.subplots(1, 2, figsize=(8, 2.6), layout="constrained")
image = sites.imshow(model.components_, cmap="Greys", vmin=0, vmax=1, **clear)
sites.set(xlabel="site", ylabel="haplotype", yticks=range(len(found.T)))
figure.colorbar(image, label="allele, mean of draws")
shown = found[np.lexsort(found.T[::-1].round())[::-1]].T
image = plants.imshow(shown, cmap="Blues", vmax=4, **clear)
plants.set(xlabel="plant", ylabel="haplotype", yticks=range(len(shown)))
figure.colorbar(image, label="copies, mean of draws")
figure.savefig("haplotypes.png")
