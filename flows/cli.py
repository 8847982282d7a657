"""The front door: `firecard`. Everything heavy is imported where it is used, so that help comes at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from flows.evaluate import Outcome
    from flows.server import Server

COMPLETE, FAILED, PARTIAL = 0, 1, 3
CASES = (".yaml", ".yml")
DEMOS = {
    "weather": "flows.demo",
    "impact": "flows.demos.impact",
    "threat": "flows.demos.threat",
    "extraction": "flows.demos.extraction",
}

app = typer.Typer(
    name="firecard",
    help="Score cards for fire-weather forecasts: model output and observations in, a trusted score out.",
    epilog="Exit codes: 0 complete, 1 bad input or failed run, 2 usage, 3 the card is partial.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)

CaseFile = Annotated[
    Path, typer.Argument(metavar="CASE.yaml", help="The case file; see `firecard kpis` and configs/cases/.")
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the cards go.")]
Recalculate = Annotated[bool, typer.Option("--recalculate", help="Make every stage anew, whatever is already there.")]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="WHERE",
        envvar="FIRECARD_DASK",
        help="Where to compute: auto, loop, threads, processes, or tcp://host:port of a Dask scheduler.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output and nothing else.")]


@app.command()
def demo(
    out: Out = Path("demo"),
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="weather, impact, threat or extraction: what the made-up data is about.")
    ] = "weather",
) -> None:
    """Score made-up data of three models.

    By default a night of downslope wind: WRF output of three models, forty stations and a case file go to DIR, are run
    like any other case, and the cards are printed with where they are. Needs nothing but a folder to write to.
    """
    _guard(lambda: _demo(out, kind))


@app.command()
def run(
    case_file: CaseFile,
    cycle: Annotated[
        str | None, typer.Option(metavar="TIME", help="The initialisation, UTC: 2026-11-17T00. Default: the newest.")
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this model; may be given several times.")
    ] = None,
    scheme: Annotated[
        list[str] | None, typer.Option(metavar="LETTER", help="Only this scheme; default: all of the case.")
    ] = None,
    out: Out = Path("scorecards"),
    recalculate: Recalculate = False,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Score the models of a case for one cycle.

    Cards go to DIR/<case>-<scheme>/<cycle>/<model>/ as card.json, .md, .html and .pdf, with ledger.csv beside them,
    and to the Prefect server as artifacts: that of PREFECT_API_URL, else a private one for as long as it is needed.
    """
    _guard(lambda: _run(case_file, cycle, model, scheme, out, recalculate, dask, as_json))


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="CASE.yaml|FILE", help="A case file, or a data file of any format.")],
    cycle: Annotated[
        str | None, typer.Option(metavar="TIME", help="The initialisation to look for, UTC. Default: the newest.")
    ] = None,
) -> None:
    """Explain a case, or a data file, without scoring it.

    Of a case, says what was found and understood, and what would be left out and why. Of a data file, says its format,
    the variables, times, stations or grid in it, and where in a case it belongs. Nothing is scored or written.
    """
    _guard(lambda: _check(file, cycle))


@app.command()
def init(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="Model output, observations and, if need be, a station table.")
    ],
    to: Annotated[Path, typer.Option(metavar="CASE.yaml", help="The case file to write.")] = Path("case.yaml"),
    name: Annotated[
        str | None, typer.Option(metavar="ID", help="The id of the case; default: the file's name.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the case file if it is there already.")] = False,
) -> None:
    """Write a case file for your own files, ready to run.

    Recognises the format of every file, tells models from observations, and writes a commented case with the KPIs that
    both sides can answer. Then: firecard check CASE.yaml, firecard run CASE.yaml.
    """
    _guard(lambda: _init(files, to, name, force))


@app.command()
def why(
    station: Annotated[str, typer.Argument(metavar="STATION", help="The station's name in the observations.")],
    case_file: CaseFile,
    cycle: Annotated[
        str | None, typer.Option(metavar="TIME", help="The initialisation, UTC. Default: the newest.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this model.")] = None,
) -> None:
    """Explain what became of one station.

    Says for each variable how many of its candidates are pairs, why the others are not, and which KPIs leave it out.
    """
    _guard(lambda: _why(station, case_file, cycle, model))


@app.command()
def kpis(as_json: AsJson = False) -> None:
    """List the KPIs with their formulas.

    For each: id, title, category, unit, best, worst, parameters and formula.
    """
    _guard(lambda: _kpis(as_json))


@app.command()
def history(
    case: Annotated[str, typer.Argument(metavar="CASE", help="The case file, or the case's id.")],
    out: Out = Path("scorecards"),
    scheme: Annotated[str | None, typer.Option(metavar="LETTER", help="Only this scheme.")] = None,
    last: Annotated[int, typer.Option(metavar="N", min=1, help="How many cycles.")] = 30,
    as_json: AsJson = False,
) -> None:
    """Print the nights of a case.

    One line a cycle and scheme, one column a model, the newest first.
    """
    _guard(lambda: _history(case, out, scheme, last, as_json))


@app.command()
def schema(
    what: Annotated[str, typer.Argument(metavar="case|card", help="Of the case file, or of card.json.")] = "case",
) -> None:
    """Print a JSON schema.

    Of a case file, for editors; or of card.json, for programs that read it.
    """
    _guard(lambda: _schema(what))


@app.command()
def up(
    case_file: Annotated[
        Path | None, typer.Argument(metavar="[CASE.yaml]", help="Deploy nightly, evaluate and backfill for this case.")
    ] = None,
    out: Out = Path("scorecards"),
) -> None:
    """Run the Prefect UI, and the schedule of a case, until Ctrl-C.

    Keeps the private Prefect server running and prints its address, to look at cards and runs. With a case file it
    also makes the work pool and the deployments (nightly on its schedule, evaluate and backfill on demand) and runs a
    worker.
    """
    _guard(lambda: _up(case_file, out))


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if show:
        from importlib.metadata import version as installed

        typer.echo(f"firecard {installed('firecard')}")
        raise typer.Exit


def main() -> None:
    """Called as `firecard`."""
    app()


def _guard(work: Callable[[], int | None]) -> NoReturn:
    """Run a command; what firecard refuses on purpose becomes a message and exit 1, never a traceback."""
    import signal

    from metrics.errors import FirecardError

    # An exit that lets go of the server, unlike the default.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        code = work()
    except FirecardError as error:
        _say(f"firecard: {error}")
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        _say("firecard: stopped")
        raise typer.Exit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise typer.Exit(FAILED) from None
    finally:
        signal.signal(signal.SIGTERM, before)
    raise typer.Exit(code or COMPLETE)


def _say(text: str) -> None:
    """A line for people, on standard error; text of strangers cannot steer the terminal."""
    from tasks.report.words import printable

    for line in text.splitlines():
        typer.echo(printable(line), err=True)


def _demo(out: Path, kind: str) -> int:
    from metrics.errors import BadParameter
    from tasks.store.keyed import refuse_unwritable

    if kind not in DEMOS:
        raise BadParameter(f"--kind: expected one of {', '.join(DEMOS)}, got {kind!r}")
    refuse_unwritable(out)
    with _launching() as server:
        from importlib import import_module

        from configs.case import read_case

        case_file: Path = import_module(DEMOS[kind]).write_demo(out)
        _say(f"The made-up data is in {out}, with its case file {case_file.name}")
        from tasks.find import latest_cycle

        code = _evaluate(
            server, case_file, latest_cycle(read_case(case_file)), None, None, out, recalculate=False, as_json=False
        )
        _say(f"To run it again, after a change of the case: firecard run {case_file} --out {out}")
        return code


def _run(
    case_file: Path,
    cycle: str | None,
    models: list[str] | None,
    schemes: list[str] | None,
    out: Path,
    recalculate: bool,
    dask: str | None,
    as_json: bool,
) -> int:
    from configs.case import read_case
    from tasks.compute import place
    from tasks.store.keyed import refuse_unwritable

    case = read_case(case_file)
    for name in models or []:
        case.model(name)
    for letter in schemes or []:
        case.scheme(letter)
    moment = _moment(cycle)
    refuse_unwritable(out)
    place(dask)  # refused now, before any work is done
    with _launching() as server:
        if moment is None:
            from tasks.find import latest_cycle

            moment = latest_cycle(case)
        return _evaluate(server, case_file, moment, models, schemes, out, recalculate, as_json, dask)


def _launching() -> Server:
    """Start the server before the heavy imports; it takes its seconds meanwhile."""
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "INFO")
    # Prefect's own lines and tracebacks go to the server; the terminal gets ours.
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    from flows.server import Server

    return Server()


def _evaluate(
    server: Server,
    case_file: Path,
    cycle: datetime,
    models: list[str] | None,
    schemes: list[str] | None,
    out: Path,
    recalculate: bool,
    as_json: bool,
    dask: str | None = None,
) -> int:
    from flows.evaluate import evaluate

    server.wait()
    _say(f"Scoring {case_file} for cycle {cycle:%Y-%m-%dT%H} (Prefect at {server.ui})")
    outcomes = evaluate(
        case_file=case_file, cycle=cycle, models=models, schemes=schemes, out=out, recalculate=recalculate, dask=dask
    )
    _show(outcomes, as_json)
    failed = [each for each in outcomes if each.problem]
    return FAILED if len(failed) == len(outcomes) else PARTIAL if any(each.partial for each in outcomes) else COMPLETE


def _show(outcomes: Iterable[Outcome], as_json: bool) -> None:
    """The cards: as JSON, or in the terminal."""
    import json

    outcomes = list(outcomes)
    records = [json.loads((folder / "card.json").read_bytes()) for each in outcomes for folder in each.folders]
    if as_json:
        typer.echo(json.dumps(records, indent=2, ensure_ascii=False))
    else:
        from tasks.report.terminal import print_cards, print_rankings

        print_cards(records)
        beside = sorted({folder.parent / "ranking.json" for each in outcomes for folder in each.folders})
        rankings = [path for path in beside if len(outcomes) > 1 and path.exists()]
        print_rankings([json.loads(path.read_bytes()) for path in rankings])
        _say("Cards:")
        for folder in sorted(folder for each in outcomes for folder in each.folders):
            _say(f"  {folder / 'card.html'}")
        for path in rankings:
            _say(f"  {path.with_suffix('.html')}")
        _say("To look at them in the Prefect UI: firecard up")
    for each in outcomes:
        if each.problem:
            _say(f"firecard: {each.problem}")


def _check(file: Path, cycle: str | None) -> int:
    from tasks.report.words import printable

    def say(line: str) -> None:
        typer.echo(printable(line))

    if file.suffix not in CASES:
        from flows.check_file import check_file

        return COMPLETE if check_file(file, say) else FAILED
    from configs.case import read_case

    case = read_case(file)
    moment = _moment(cycle)
    from flows.check import check_case

    return COMPLETE if check_case(case, moment, say) else FAILED


def _init(files: list[Path], to: Path, name: str | None, force: bool) -> int:
    from flows.init import write_case

    write_case(files, to, name, force, _say)
    return COMPLETE


def _why(station: str, case_file: Path, cycle: str | None, models: list[str] | None) -> None:
    from configs.case import read_case
    from tasks.report.words import printable

    case = read_case(case_file)
    moment = _moment(cycle)
    from flows.check import explain_station

    explain_station(case, station, moment, models or [], lambda line: typer.echo(printable(line)))


def _kpis(as_json: bool) -> None:
    from metrics.kpis.catalogue import KPIS
    from tasks.report.catalogue import catalogue_rows, catalogue_text

    if as_json:
        import json

        typer.echo(json.dumps(catalogue_rows(KPIS.values()), indent=2, ensure_ascii=False))
    else:
        typer.echo(catalogue_text(KPIS.values()))


def _history(case: str, out: Path, scheme: str | None, last: int, as_json: bool) -> None:
    from flows.history import show_history

    if case.endswith(CASES):
        from configs.case import read_case

        case = read_case(Path(case)).id
    shown = show_history(out / "history", case, scheme, last, (lambda _line: None) if as_json else typer.echo)
    if as_json:
        import json
        from dataclasses import asdict

        typer.echo(json.dumps([asdict(each) for each in shown], indent=2))


def _schema(what: str) -> None:
    from importlib.resources import files

    from metrics.errors import BadParameter

    if what not in ("case", "card"):
        raise BadParameter(f"there is a schema of 'case' and of 'card', not of {what!r}")
    typer.echo((files("configs") / "schemas" / f"{what}.schema.json").read_text(), nl=False)


def _up(case_file: Path | None, out: Path) -> None:
    if case_file is not None:
        from configs.case import read_case

        read_case(case_file)
    from flows.up import up as hold

    _say("Starting the Prefect server")
    hold(case_file, out, _say)


def _moment(text: str | None) -> datetime | None:
    """A cycle as the command line takes it."""
    if text is None:
        return None
    from configs.paths import moment

    return moment(text)


if __name__ == "__main__":
    main()
