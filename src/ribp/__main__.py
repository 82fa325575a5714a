"""`python -m ribp` is `ribp`."""

from ribp.cli.main import main

main()
