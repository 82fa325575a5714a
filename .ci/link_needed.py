"""Give an environment that holds a wheel of ribp what the wheel says it needs, and nothing else.

Packages are linked from the environment that runs this script, so it takes no time. What the wheel
needs and does not say is missing.

Usage: .venv/bin/python .ci/link_needed.py ENVIRONMENT
"""

import sys
import sysconfig
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement

HERE = Path(sysconfig.get_path("purelib"))
THERE = Path(sys.argv[1]) / HERE.relative_to(sys.prefix)


def needed(dist: Distribution, extras: set[str], found: dict[str, Distribution]) -> None:
    """Put all that a distribution needs, directly or not, into `found`."""
    for requirement in map(Requirement, dist.requires or []):
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
            continue
        if requirement.name not in found:
            found[requirement.name] = distribution(requirement.name)
            needed(found[requirement.name], requirement.extras, found)


def link(dist: Distribution) -> None:
    """Link the folders and modules of a distribution."""
    for top in {file.parts[0] for file in dist.files or []} - {"..", "__pycache__"}:
        if not (THERE / top).exists():
            (THERE / top).symlink_to(HERE / top)


(wheel,) = distributions(name="ribp", path=[str(THERE)])
found: dict[str, Distribution] = {}
needed(wheel, set(), found)
for dist in found.values():
    link(dist)
