# SPDX-License-Identifier: Apache-2.0
"""Runs the examples as several ranks."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pathlib
import re
import signal
import subprocess
import sys

import torch
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

import torch_dts

# Processes that are started again must not meet in the store that the first ones left: as it is, gloo finds
# the addresses of the dead there, and now and then waits for them.
OWN_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"

# Runs an example, but rank 1 of torchrun's first try is killed in its optimizer's eighth step.
KILLED_IN_STEP_8 = """\
import os, pathlib, runpy, shutil, signal, sys
import torch

_, example, checkpoint, *arguments = sys.argv
if (os.environ["TORCHELASTIC_RESTART_COUNT"], os.environ["RANK"]) == ("0", "1"):
    step, num_steps = torch.optim.SGD.step, 0

    def killed(*args, **kwargs):
        global num_steps
        num_steps += 1
        if num_steps == 8:
            shutil.copy(checkpoint, "at_the_kill.pt")
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*args, **kwargs)

    torch.optim.SGD.step = killed
sys.argv = [example, "--checkpoint", checkpoint, *arguments]
sys.path.insert(0, str(pathlib.Path(example).parent))
runpy.run_path(example, run_name="__main__")
"""


def torchrun(num_ranks: int, folder: pathlib.Path, *arguments: object) -> str:
    """What a script prints under torchrun on this machine, which starts it anew where it fails, once."""
    package_path = os.fspath(pathlib.Path(torch_dts.__file__).parent.parent)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--max-restarts=1"]
    command += ["--monitor-interval=0.1", f"--nproc-per-node={num_ranks}", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": package_path, **OWN_STORE}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _rank(example: str, arguments: list[str]) -> str:
    torch.set_num_threads(1)
    sys.path.insert(0, os.fspath(EXAMPLES))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        importlib.import_module(example).main(arguments)
    return printed.getvalue()


def launched(num_ranks: int, example: str, *arguments: object) -> str:
    """As torchrun does it, but in processes that need not import everything first."""
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=num_ranks,
        run_id=f"{os.getpid()}",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        start_method="forkserver",
        monitor_interval=0.1,
        max_restarts=0,
    )
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
    handlers = {number: signal.getsignal(number) for number in signals}
    try:
        printed = elastic_launch(config, _rank)(example, [str(argument) for argument in arguments])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return "".join(printed[rank] for rank in range(num_ranks))


def losses(printed: str) -> list[tuple[int, int, str]]:
    """(epoch, step, loss) of each line, in order; floats as their shortest exact text."""
    lines = re.findall(r"^epoch (\d+) step (\d+) loss (\S+)$", printed, re.MULTILINE)
    return [(int(epoch), int(step), loss) for epoch, step, loss in lines]


def accuracies(printed: str) -> list[str]:
    """The fractions of the accuracy lines."""
    return re.findall(r"accuracy (\d+/\d+) = ", printed)
