"""Run every script of the gallery, and keep its pictures in docs/pictures/gallery.

Run it from anywhere: ``python docs/gallery/make.py``. Large pictures are written with 64 colours,
which makes them small.
"""

import os
import runpy
import tempfile
from pathlib import Path

from PIL import Image

FOLDER = Path(__file__).resolve().parent
PICTURES = FOLDER.parent / "pictures" / "gallery"
LARGE = 100_000  # bytes
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if path != Path(__file__).resolve())


def run(script: Path, folder: Path) -> list[Path]:
    """Run a script in a folder, and return the pictures that it wrote."""
    before, here = set(folder.glob("*.png")), Path.cwd()
    os.chdir(folder)
    try:
        runpy.run_path(str(script))
    finally:
        os.chdir(here)
    return sorted(set(folder.glob("*.png")) - before)


def main() -> None:
    """Write all pictures anew."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for script in SCRIPTS:
            for picture in run(script, Path(folder)):
                with Image.open(picture) as image:
                    few = picture.stat().st_size > LARGE
                    kept = image.convert("RGB").quantize(64) if few else image.convert("RGB")
                    kept.save(PICTURES / picture.name, optimize=True)


if __name__ == "__main__":
    main()
