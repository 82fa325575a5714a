"""Faults put in on purpose, each a mistake somebody could make: does a test notice?

``python -m tests.faults`` puts one after another into a copy of the source, runs the tests of the
rooms around it, and prints which test failed first. ``--tier slow`` asks the slow tier; ``--only
noise`` tries those whose name contains a word. A fault that no longer fits the source is an error:
it must follow when code moves.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.helpers import ROOT

ROOMS = ("mcmc", "likelihoods", "kernels", "running", "counts", "test_model.py")


class Fault(NamedTuple):
    """A change of one place in the source."""

    name: str
    file: str
    """Below src/ribp."""
    old: str
    new: str
    rooms: tuple[str, ...] = ROOMS


GAUSSIAN = "likelihoods/linear_gaussian.py"
FAULTS = [
    Fault(
        "noise 5% too large",
        "kernels/gaussian_posterior.py",
        "fresh[t] = math.sqrt(0.5 * (rates[0] + left[t] + sizes[t] / scale**2) / gammas[t])",
        "fresh[t] = 1.05 * math.sqrt(0.5 * (rates[0] + left[t] + sizes[t] / scale**2) / gammas[t])",
    ),
    Fault(
        "missing Jacobian of the mass",
        "kernels/weight_density.py",
        "return math.log(mass) - mass",
        "return -mass",
    ),
    Fault(
        "proposal ratio upside down",
        "kernels/weight_moves.py",
        "log_ratio += log_density(proposal, *given) - log_density(theta, *given)",
        "log_ratio -= log_density(proposal, *given) - log_density(theta, *given)",
    ),
    Fault(
        "law off by one in a flip",
        "kernels/sweep_collapsed.py",
        "prior = theta[i] + table[k + 1] - table[k]",
        "prior = theta[i] + table[min(k + 2, table.shape[0] - 1)] - table[k + 1]",
    ),
    Fault(
        "stale sum: ones after a flip",
        "kernels/sweep_gaussian.py",
        "            ones += switch(i, z, gain, gram)\n",
        "            switch(i, z, gain, gram)\n",
    ),
    Fault(
        "fills used as data",
        GAUSSIAN,
        "            add_missing_pairs(data.observed, z, -1.0, each)\n",
        "",
    ),
    Fault(
        "prior of the feature scale counted twice",
        GAUSSIAN,
        "size = rng.standard_gamma(_SHAPE + 0.5 * sums.products.size)",
        "size = rng.standard_gamma(2 * _SHAPE + 0.5 * sums.products.size)",
    ),
    Fault(
        "degrees of freedom of the noise",
        GAUSSIAN,
        "rng.standard_gamma(_SHAPE + 0.5 * (sums.number + len(sums.products)))",
        "rng.standard_gamma(_SHAPE + 0.5 * sums.number)",
    ),
    Fault(
        "seed used twice: every sweep has the same uniforms",
        GAUSSIAN,
        "        return gaussian_work(\n            seed, number, features",
        "        return gaussian_work(\n            seed, 0, features",
    ),
    Fault(
        "features 10% too sure",
        "kernels/gaussian_posterior.py",
        "    draw += normals\n",
        "    draw += 0.9 * normals\n",
    ),
]


def spoiled(fault):
    """Return the text of the file, with the fault in it."""
    text = (ROOT / "src" / "ribp" / fault.file).read_text()
    if text.count(fault.old) != 1:
        raise ValueError(
            f"the fault {fault.name!r} no longer fits {fault.file}: its text is there "
            f"{text.count(fault.old)} times"
        )
    return text.replace(fault.old, fault.new)


def caught_by(fault, tier, most=1):
    """Return the first tests that fail when the fault is in a copy of the source."""
    arguments = ["-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider"]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        (source / "ribp" / fault.file).write_text(spoiled(fault))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments, f"--maxfail={most}",
             *(f"tests/{room}" for room in fault.rooms)],
            cwd=ROOT, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(source), "RIBP_TEST_TIER": tier},
        )  # fmt: skip
    if done.returncode not in (0, 1, 2):
        raise RuntimeError(f"tests did not run:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return re.findall(r"^(?:FAILED|ERROR) tests/(\S.*?)(?: - .*)?$", done.stdout, re.M)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--tier", choices=["quick", "slow"], default="quick")
    parser.add_argument("--only", default="", help="a word in the name of the fault")
    options = parser.parse_args()
    missed = 0
    for fault in FAULTS:
        if options.only in fault.name:
            found = caught_by(fault, options.tier)
            missed += not found
            print(f"{'caught' if found else 'MISSED'}  {fault.name}")
            for test in found:
                print(f"        {test}", flush=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
