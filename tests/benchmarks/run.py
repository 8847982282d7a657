"""Speed as ratios: every workload beside this file, its contenders interleaved in one process, best of several rounds.

    python tests/benchmarks/run.py [--only W2] [--rounds 7] [--out benchmarks.json]

Every contender runs once to warm up, and their values are compared before any time is. A goal that is missed is
reported as it is; the exit code is 1 only where contenders disagree.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from workload import CORES, Disagreement, Goal, Skipped, Trial

HERE = Path(__file__).resolve().parent
PACKAGES = (
    "firecard",
    "numpy",
    "numba",
    "xarray",
    "dask",
    "pandas",
    "scores",
    "xskillscore",
    "firebench",
    "typer",
    "rich",
)


def main(arguments: list[str] | None = None) -> int:
    options = read_options(arguments)
    report: dict[str, Any] = {"machine": machine(), "rounds": options.rounds, "workloads": []}
    print(", ".join(f"{name} {value}" for name, value in report["machine"].items() if name != "packages"))
    for path in sorted(HERE.glob("w[0-9]*_*.py")):
        workload = importlib.import_module(path.stem)
        if options.only and workload.ID not in options.only:
            continue
        print(f"\n{workload.ID}  {workload.WORK}", flush=True)
        found = {"id": workload.ID, "work": workload.WORK, **measure(workload, options.rounds)}
        print(table(found), flush=True)
        report["workloads"].append(found)
        gc.collect()
    options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"\n{options.out}")
    return int(any("disagreement" in each for each in report["workloads"]))


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="W", help="only these workloads, such as W2")
    parser.add_argument("--rounds", type=int, default=7, help="how often each contender runs, at least 3 (default 7)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks.json"), help="where the figures go")
    options = parser.parse_args(arguments)
    if options.rounds < 3:
        parser.error("best of fewer than 3 rounds says nothing")
    known = {path.stem.partition("_")[0].upper() for path in HERE.glob("w[0-9]*_*.py")}
    options.only = {each.upper() for each in options.only or ()}
    if unknown := options.only - known:
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    return options


def machine() -> dict[str, Any]:
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": CORES,
        "python": platform.python_version(),
        "packages": packages,
    }


def measure(workload: Any, rounds: int) -> dict[str, Any]:
    try:
        trial: Trial = workload.prepare()
        trial.agree({name: contender() for name, contender in trial.contenders.items()})
    except Skipped as reason:
        return {"skipped": str(reason)}
    except Disagreement as reason:
        return {"disagreement": str(reason)}
    seconds: dict[str, list[float]] = {name: [] for name in trial.contenders}
    for _ in range(rounds):
        for name, contender in trial.contenders.items():
            gc.collect()
            start = time.perf_counter()
            contender()
            seconds[name].append(time.perf_counter() - start)
    best = {name: min(times) for name, times in seconds.items()}
    return {
        "inputs": trial.inputs,
        "seconds": seconds,
        "best": best,
        "goals": [judged(goal, goal.figure(best)) for goal in trial.goals],
        "notes": list(trial.notes),
    }


def judged(goal: Goal, value: float) -> dict[str, Any]:
    return {
        "goal": goal.text,
        "value": value,
        "unit": goal.unit,
        "sign": goal.sign,
        "bound": goal.bound,
        "stretch": goal.stretch,
        "verdict": goal.verdict(value),
    }


def table(found: dict[str, Any]) -> str:
    for reason in ("skipped", "disagreement"):
        if reason in found:
            return f"    {reason}: {found[reason]}"
    lines = [f"    {found['inputs']}", "", f"    {'contender':<52}{'best':>12}{'median':>12}"]
    for name, times in found["seconds"].items():
        median = sorted(times)[len(times) // 2]
        lines.append(f"    {name:<52}{1e3 * found['best'][name]:>9.1f} ms{1e3 * median:>9.1f} ms")
    lines += ["", f"    {'goal':<52}{'measured':>12}{'goal':>10}{'stretch':>10}"]
    for each in found["goals"]:
        bound, stretch = (
            "" if each[name] is None else f"{each['sign']} {each[name]:g}{each['unit']}"
            for name in ("bound", "stretch")
        )
        measured = f"{each['value']:.2f}{each['unit']}"
        lines.append(f"    {each['goal']:<52}{measured:>12}{bound:>10}{stretch:>10}  {each['verdict']}".rstrip())
    lines += ["", *(f"    {note}" for note in found["notes"])] if found["notes"] else []
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
