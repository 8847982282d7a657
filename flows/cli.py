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
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output and nothing else.")]


@app.command()
def demo(out: Out = Path("demo")) -> None:
    """Score a made-up night of three models.

    Writes the night (forty stations, a downslope wind) and its case file to DIR, runs it like any other case and prints
    the cards and where they are. Needs nothing but a folder to write to.
    """
    _guard(lambda: _demo(out))


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
    as_json: AsJson = False,
) -> None:
    """Score the models of a case for one cycle.

    Cards go to DIR/<case>-<scheme>/<cycle>/<model>/ as card.json, card.md and card.html, with ledger.csv beside them,
    and to the Prefect server as artifacts: that of PREFECT_API_URL, else a private one for as long as it is needed.
    """
    _guard(lambda: _run(case_file, cycle, model, scheme, out, recalculate, as_json))


@app.command()
def check(
    case_file: CaseFile,
    cycle: Annotated[
        str | None, typer.Option(metavar="TIME", help="The initialisation to look for, UTC. Default: the newest.")
    ] = None,
) -> None:
    """Explain a case without scoring it.

    Says what was found and understood, and what would be left out and why. Nothing is scored or written.
    """
    _guard(lambda: _check(case_file, cycle))


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
def schema(
    what: Annotated[str, typer.Argument(metavar="case|card", help="Of the case file, or of card.json.")] = "case",
) -> None:
    """Print a JSON schema.

    Of a case file, for editors; or of card.json, for programs that read it.
    """
    _guard(lambda: _schema(what))


@app.command()
def up() -> None:
    """Open the Prefect UI until Ctrl-C.

    Keeps the private Prefect server running and prints its address, to look at cards and runs.
    """
    _guard(_up)


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

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exit that lets go of the server, unlike the default
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
    raise typer.Exit(code or COMPLETE)


def _say(text: str) -> None:
    """A line for people, on standard error; text of strangers cannot steer the terminal."""
    from tasks.report.words import printable

    for line in text.splitlines():
        typer.echo(printable(line), err=True)


def _demo(out: Path) -> int:
    from tasks.store.keyed import refuse_unwritable

    refuse_unwritable(out)
    with _launching() as server:
        from flows.demo import CYCLE, write_demo

        case_file = write_demo(out)
        _say(f"The night is in {out}: model output, station reports and {case_file.name}")
        code = _evaluate(server, case_file, CYCLE, None, None, out, recalculate=False, as_json=False)
        _say(f"To run it again, after a change of the case: firecard run {case_file} --out {out}")
        return code


def _run(
    case_file: Path,
    cycle: str | None,
    models: list[str] | None,
    schemes: list[str] | None,
    out: Path,
    recalculate: bool,
    as_json: bool,
) -> int:
    from configs.case import read_case
    from tasks.store.keyed import refuse_unwritable

    case = read_case(case_file)
    for name in models or []:
        case.model(name)
    for letter in schemes or []:
        case.scheme(letter)
    moment = _moment(cycle)
    refuse_unwritable(out)
    with _launching() as server:
        if moment is None:
            from tasks.find import latest_cycle

            moment = latest_cycle(case)
        return _evaluate(server, case_file, moment, models, schemes, out, recalculate, as_json)


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
) -> int:
    from flows.evaluate import evaluate

    server.wait()
    _say(f"Scoring {case_file} for cycle {cycle:%Y-%m-%dT%H} (Prefect at {server.ui})")
    outcomes = evaluate(
        case_file=case_file, cycle=cycle, models=models, schemes=schemes, out=out, recalculate=recalculate
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
        from tasks.report.terminal import print_cards

        print_cards(records)
        _say("Cards:")
        for folder in sorted(folder for each in outcomes for folder in each.folders):
            _say(f"  {folder / 'card.html'}")
        _say("To look at them in the Prefect UI: firecard up")
    for each in outcomes:
        if each.problem:
            _say(f"firecard: {each.problem}")


def _check(case_file: Path, cycle: str | None) -> int:
    from configs.case import read_case
    from tasks.report.words import printable

    case = read_case(case_file)
    moment = _moment(cycle)
    from flows.check import check_case

    return COMPLETE if check_case(case, moment, lambda line: typer.echo(printable(line))) else FAILED


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


def _schema(what: str) -> None:
    from importlib.resources import files

    from metrics.errors import BadParameter

    if what not in ("case", "card"):
        raise BadParameter(f"there is a schema of 'case' and of 'card', not of {what!r}")
    typer.echo((files("configs") / "schemas" / f"{what}.json").read_text(), nl=False)


def _up() -> None:
    from flows.server import keep_running

    _say("Starting the Prefect server")
    keep_running(lambda server: _say(f"Prefect UI: {server.ui}/artifacts   (stop with Ctrl-C)"))


def _moment(text: str | None) -> datetime | None:
    """A cycle as the command line takes it."""
    if text is None:
        return None
    from configs.paths import moment

    return moment(text)


if __name__ == "__main__":
    main()
