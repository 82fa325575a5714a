"""A run on disk, from which it goes on after anything: a kill, a crash, or a wish for more draws.

A folder holds `settings.json` with `arrays.npz`, and for every chain `chain-K.npz`, where it is,
with files `chain-K-draws-B.npz` of what it recorded up to there. New draws are written to a new
file first, and then the state, which knows how many such files belong to it. Every file is written
under another name and renamed: at any moment the folder holds one whole checkpoint. A file of draws
that no state knows of is written anew. Arrays and text only: nothing in it can run code.

What the rows of a chain have in a row store goes to `chain-K-rows-S.npy`, S the number of sweeps, a
few rows at a time: it may be too much for the memory of this process. That file is written before
the state, and older ones are removed after it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ribp.errors import StorageError
from ribp.files import read_arrays, read_described, write_atomically, write_described
from ribp.recording import ChainDraws
from ribp.rows.row_tables import save
from ribp.running.chain import Chain
from ribp.running.restore import as_arrays
from ribp.running.samplers import Sampler

SCHEMA = 6
_KIND = "ribp checkpoint"
_SETTINGS = "settings.json"
_ARRAYS = "arrays.npz"


class Checkpoint:
    """The folder of a run."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._written: dict[int, tuple[int, tuple[int, ...]]] = {}

    # The whole run

    def exists(self) -> bool:
        """Return whether a run has begun here."""
        return (self.folder / _SETTINGS).exists()

    def check_free(self) -> None:
        """Raise an error unless the folder can be made, or is empty and can be written to.

        What a run leaves that was killed while it began does not count.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if any(
                path.name != _ARRAYS and path.suffix != ".tmp" for path in self.folder.iterdir()
            ):
                raise StorageError(
                    self.folder, "is not empty", "Choose another folder, or resume the run in it."
                )
            write_atomically(self.folder / _SETTINGS, lambda file: None)
            (self.folder / _SETTINGS).unlink()
        except OSError as error:
            raise StorageError(
                self.folder, f"cannot be written ({error.strerror})", "Choose another folder."
            ) from None

    def create(self, settings: Mapping[str, Any], **arrays: NDArray[Any]) -> None:
        """Begin a run in a free folder."""
        try:
            self._save(self.folder / _ARRAYS, arrays)
            self.write_settings(settings)
        except OSError as error:
            raise StorageError(
                self.folder, f"cannot be written ({error.strerror})", "Choose another folder."
            ) from None

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """Write what the run was asked for."""
        write_described(self.folder / _SETTINGS, _KIND, SCHEMA, settings)

    def settings(self) -> dict[str, Any]:
        """Return what the run was asked for."""
        found = read_described(self.folder / _SETTINGS, _KIND, SCHEMA)
        if found is None:
            raise StorageError(
                self.folder, "holds no run", "Name the folder that was given as checkpoint."
            )
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that belong to the settings."""
        return _load(self.folder / _ARRAYS)

    # Its chains

    def write(self, chain: Chain) -> None:
        """Write where a chain is, and what it has recorded since the last time."""
        n_blocks, before = self._written.get(chain.number, (0, (0, 0, 0)))
        now = tuple(len(part) for part in chain.draws)
        if now != before:
            block = {
                name: _flat(part[start:])
                for name, part, start in zip(ChainDraws._fields, chain.draws, before, strict=True)
            }
            arrays = {
                f"{kind}.{name}": a for kind, part in block.items() for name, a in part.items()
            }
            self._save(self._block(chain.number, n_blocks), arrays)
            n_blocks += 1
        rows, begun = self._rows(chain), getattr(chain.rows, "begun", False)
        if begun:
            save(rows, chain.rows.shape[0], chain.rows.parts())
        known = {f"state.{name}": array for name, array in as_arrays(chain.state).items()}
        generator = json.dumps(chain.rng.bit_generator.state)
        self._save(
            self._chain(chain.number),
            {
                "n_blocks": np.array(n_blocks),
                "recorded": np.array(now),
                "seed": np.array(chain.seed),
                "log_joint": np.array(chain.log_joint),
                "has_rows": np.array(begun or chain.saved_rows is not None),
                "generator": np.frombuffer(generator.encode(), np.uint8),
                **known,
            },
        )
        self._written[chain.number] = (n_blocks, now)
        for old in set(self.folder.glob(f"chain-{chain.number}-rows-*.npy")) - {rows}:
            old.unlink()

    def read(self, chain: Chain, sampler: Sampler) -> None:
        """Put a new chain where it was when it was last written; nothing if it never was."""
        path = self._chain(chain.number)
        if not path.exists():
            return
        found = _load(path)
        try:
            chain.rng.bit_generator.state = json.loads(found["generator"].tobytes())
            chain.seed = np.uint64(found["seed"].item())
            chain.log_joint = found["log_joint"].item()
            known = {
                k.removeprefix("state."): v for k, v in found.items() if k.startswith("state.")
            }
            chain.state = sampler.restored(known)
            for number in range(int(found["n_blocks"])):
                self._read_block(self._block(chain.number, number), chain.draws)
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError):
            raise _broken(path) from None
        now = tuple(len(part) for part in chain.draws)
        if now != tuple(found["recorded"].tolist()):
            raise _broken(path)
        chain.saved_rows = self._rows(chain) if found["has_rows"] else None
        self._written[chain.number] = (int(found["n_blocks"]), now)

    @staticmethod
    def _read_block(path: Path, draws: ChainDraws) -> None:
        found = _load(path)
        for kind, part in zip(ChainDraws._fields, draws, strict=True):
            start = f"{kind}."
            part += _records(
                {k.removeprefix(start): v for k, v in found.items() if k.startswith(start)}
            )

    def _chain(self, number: int) -> Path:
        return self.folder / f"chain-{number}.npz"

    def _rows(self, chain: Chain) -> Path:
        return self.folder / f"chain-{chain.number}-rows-{chain.n_sweeps:08d}.npy"

    def _block(self, number: int, block: int) -> Path:
        return self.folder / f"chain-{number}-draws-{block:04d}.npz"

    @staticmethod
    def _save(path: Path, arrays: dict[str, Any]) -> None:
        write_atomically(path, lambda file: np.savez(file, **arrays))


def _flat(records: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    """Return for each name all values, one after another, and the shape of each."""
    found = {}
    for name in records[0] if records else ():
        arrays = [np.asarray(one[name]) for one in records]
        found[f"{name}.values"] = np.concatenate([array.ravel() for array in arrays])
        found[f"{name}.shapes"] = np.array([array.shape for array in arrays], np.int64)
    return found


def _records(flat: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Return what `_flat` made flat."""
    names = [name.removesuffix(".shapes") for name in flat if name.endswith(".shapes")]
    columns = []
    for name in names:
        shapes = flat[f"{name}.shapes"]
        ends = np.cumsum(shapes.prod(axis=1, dtype=np.int64))
        parts = np.split(flat[f"{name}.values"], ends[:-1])
        each = [part.reshape(tuple(shape)) for part, shape in zip(parts, shapes, strict=True)]
        columns.append([one.item() if one.ndim == 0 else one for one in each])
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _load(path: Path) -> dict[str, NDArray[Any]]:
    try:
        return read_arrays(path)
    except FileNotFoundError:
        raise StorageError(path, "is missing", "Start the run afresh in a new folder.") from None
    except OSError as error:
        raise StorageError(path, f"cannot be read ({error})", "See to it.") from None
    except Exception:  # a damaged archive can raise nearly anything
        raise _broken(path) from None


def _broken(path: Path) -> StorageError:
    return StorageError(
        path, "is damaged or of another kind", "Start the run afresh in a new folder."
    )
