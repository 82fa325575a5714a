"""How far it is from a command to the kernel that updates rows."""

import sys
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

import ribp
from ribp import fitting
from ribp.cli import main
from ribp.kernels import sweep_collapsed, sweep_gaussian
from ribp.running import run

SOURCE = str(Path(ribp.__file__).parent)
MOST = 9


class Inline:
    """Run what is submitted at once, in this thread."""

    def __init__(self, *ignored):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        pass

    def submit(self, work, *arguments):
        done = Future()
        done.set_result(work(*arguments))
        return done


def frames_of_the_package():
    frame, found = sys._getframe(2), []
    while frame is not None:
        if frame.f_code.co_filename.startswith(SOURCE):
            found.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_name}")
        frame = frame.f_back
    return found[::-1]


@pytest.mark.parametrize(
    ("method", "kernels", "kernel"),
    [("gibbs-rows", sweep_gaussian, "sweep"), ("gibbs", sweep_collapsed, "sweep")],
)
def test_few_frames_lead_to_the_rows(tmp_path, monkeypatch, method, kernels, kernel):
    rng = np.random.default_rng(0)
    np.savetxt(tmp_path / "data.csv", rng.normal(size=(20, 3)), delimiter=",")
    stacks, compiled = [], getattr(kernels, kernel)

    def watched(*arguments):
        stacks.append(frames_of_the_package())
        return compiled(*arguments)

    monkeypatch.setattr(kernels, kernel, watched)
    monkeypatch.setattr(run, "ThreadPoolExecutor", Inline)
    monkeypatch.setattr(fitting, "n_workers", lambda _: 1)
    command = f"fit {tmp_path}/data.csv --out {tmp_path}/run --counts exactly(1) --method {method}"
    plan = "--max-features 3 --background off --chains 1 --warmup 1 --draws 1 --seed 0 --json"
    monkeypatch.setattr(sys, "argv", ["ribp", *command.split(), *plan.split()])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 0
    sampling = [
        stack for stack in stacks if "run.py:work" in stack and "chain.py:begin" not in stack
    ]
    assert sampling
    assert sampling[-1][:1] == ["main.py:main"]
    assert len(sampling[-1]) <= MOST, sampling[-1]
