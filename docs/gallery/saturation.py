"""A likelihood of your own: sums of features saturate. NumPyro samples, from where ribp begins."""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import numpyro
from jax import random
from numpyro import distributions as dist
from numpyro.infer import MCMC, NUTS, Gibbs, init_to_value

import ribp
from ribp.numpyro import RestrictedBernoulli, row_kernel
from ribp.testing.recovery import correlations, n_recovered

rng = np.random.default_rng(3)
truth = np.where(rng.random((6, 20)) < 0.4, rng.uniform(0.5, 2.0, (6, 20)), 0.0)
counts = rng.integers(1, 5, 100)
rows = np.argsort(rng.random((100, 6)), axis=1) < counts[:, None]
X = np.tanh(rows @ truth) + 0.1 * rng.normal(size=(100, 20))


def model(x):
    """Six features, non-negative, whose sums saturate."""
    features = numpyro.sample("features", dist.HalfNormal(2.0).expand([6, 20]).to_event(2))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    log_odds = numpyro.sample("log_odds", dist.Normal(0.0, 1.0).expand([6]).to_event(1))
    with numpyro.plate("rows", len(x)):
        z = numpyro.sample("z", RestrictedBernoulli(log_odds, counts))
        numpyro.sample("x", dist.Normal(jnp.tanh(z @ features), noise).to_event(1), obs=x)


short = {"n_chains": 1, "n_warmup": 50, "n_draws": 50, "random_state": 0}
linear = ribp.RestrictedIBP(max_features=6, background=False, **short)
start = linear.fit(X, counts=counts).decode(X, counts=counts)
begin = {"features": np.maximum(linear.components_, 0.05), "noise": 0.3, "log_odds": np.zeros(6)}
nuts = NUTS(model, max_tree_depth=5, init_strategy=init_to_value(values=begin))
kernel = Gibbs([(nuts, None), (row_kernel(model), ["z"])])
mcmc = MCMC(kernel, num_warmup=100, num_samples=100, progress_bar=False)
mcmc.run(random.key(0), jnp.asarray(X), init_params={"z": jnp.asarray(start, int)})
found = np.asarray(mcmc.get_samples()["features"].mean(axis=0))

for name, features in {"sums as they are": linear.components_, "sums that saturate": found}.items():
    match = correlations(features, truth).argmax(axis=0)
    label = f"{name}: {n_recovered(features, truth)} of 6 features found"
    plt.plot(truth.ravel(), features[match].ravel(), ".", label=label)
plt.gca().set(xlabel="true feature", ylabel="mean of the draws")
plt.legend()
plt.savefig("saturation.png")
