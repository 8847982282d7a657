"""The front door: `firecard --help` against the bare import of what it is written with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from workload import Disagreement, Results, Skipped, Trial, within

ID = "W7"
WORK = "the front door: firecard --help"


def prepare() -> Trial:
    command = Path(sys.executable).with_name("firecard")
    if not command.exists():
        raise Skipped("there is no firecard command beside this Python")
    tried = subprocess.run([command, "--help"], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise Skipped(f"firecard --help does not work yet: {(tried.stderr.strip().splitlines() or ['no message'])[-1]}")
    return Trial(
        inputs="a new process each time",
        contenders={
            "import typer, rich": lambda: output(sys.executable, "-c", "import typer, rich"),
            "firecard --help": lambda: output(command, "--help"),
        },
        agree=agree,
        goals=(within("firecard --help", "import typer, rich", most=2),),
    )


def output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def agree(results: Results) -> None:
    if "Usage" not in results["firecard --help"]:
        raise Disagreement("firecard --help does not say how it is used")
