"""The front door as a user meets it: exit codes, messages, and nothing half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jsonschema
import pytest
from typer.testing import CliRunner

from flows.cli import app

HandCase = Callable[..., Path]


class Done(NamedTuple):
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


Firecard = Callable[..., Done]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def firecard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Firecard:
    """Runs the command in this process, in an empty folder and without a terminal."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Done:
        result = CliRunner().invoke(app, [str(each) for each in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def firecard_process(tmp_path: Path) -> Firecard:
    """Runs the command as a process of its own, in an empty folder and without a terminal."""

    def run(*arguments: object, **environment: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "flows.cli", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def test_help_names_the_commands(firecard_process: Firecard):
    shown = firecard_process("--help").stdout
    assert all(command in shown for command in ("demo", "run", "check", "kpis", "schema", "up"))


def test_help_imports_nothing_heavy():
    heavy = {"numpy", "pandas", "xarray", "prefect", "dask", "matplotlib", "pint", "numba", "pydantic"}
    code = "import sys, flows.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not heavy & set(loaded.stdout.split())


def test_a_broken_case_is_explained_without_heavy_imports(hand_case: HandCase):
    case = hand_case(("wind_speed_rmse", "wind_sped_rmse"))
    code = (
        "import sys\nfrom configs.case import read_case\n"
        "try: read_case(sys.argv[1])\nexcept Exception as error: print(type(error).__name__)\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, case], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("BadCase")
    assert not {"pandas", "xarray", "prefect", "dask", "pint", "numba"} & set(done.stdout.split())


def test_kpis_lists_every_kpi_with_its_formula(firecard: Firecard):
    rows = json.loads(firecard("kpis", "--json").stdout)
    by_id = {row["id"]: row for row in rows}
    # The names that result files use (R-001-16 to R-001-20, D-23).
    assert {
        "wind_speed_bias": "Wind Speed Bias Average",
        "wind_speed_rmse": "24h forecast Wind Speed RMSE Average",
        "wind_direction_rmse": "24h forecast Wind Direction RMSE Average",
        "wind_gust_rmse": "24h forecast Wind Gust RMSE Average",
        "sustained_wind_speed": "24h forecast Sustained Wind Speed Average",
    }.items() <= {name: row["title"] for name, row in by_id.items()}.items()
    assert all(row["formula"] and row["description"] for row in rows)
    text = firecard("kpis").stdout
    assert all(name in text for name in by_id)


def test_the_schemas_are_printed(firecard: Firecard):
    for what in ("case", "card"):
        jsonschema.Draft202012Validator.check_schema(json.loads(firecard("schema", what).stdout))
    assert firecard("schema", "cards").returncode == 1


def test_run_writes_cards_that_follow_their_schema(
    firecard_process: Firecard, hand_case: HandCase, prefect_server: str, tmp_path: Path
):
    done = firecard_process("run", hand_case(), "--out", "out", "--json", PREFECT_API_URL=prefect_server)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    schema = json.loads((ROOT / "configs" / "schemas" / "card.schema.json").read_bytes())
    written = {}
    for path in (tmp_path / "out").rglob("card.json"):
        record = json.loads(path.read_bytes(), parse_constant=pytest.fail)
        jsonschema.validate(record, schema)
        written[record["model"], record["scheme"]] = record
    assert written == {(record["model"], record["scheme"]): record for record in printed}
    assert set(written) == {(model, scheme) for model in ("perfect", "strong") for scheme in "AB"}
    folder = tmp_path / "out" / "HAND-A" / "2026-11-17T00" / "strong"
    assert {path.name for path in folder.iterdir()} == {"card.json", "card.md", "card.html", "card.pdf", "ledger.csv"}
    assert (folder / "ledger.csv").read_text().splitlines() == [
        "station,variable,reason,count",
        "007,wind_direction,pair,4",
        "007,wind_speed,pair,4",
        "NA,wind_direction,pair,4",
        "NA,wind_speed,pair,4",
    ]


def test_the_printed_card_has_the_rows_of_the_card(firecard: Firecard, hand_case: HandCase, prefect_server: str):
    done = firecard("run", hand_case(), "--model", "strong", "--scheme", "B")
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert lines[0][:7] == ["Total", "Score", "HAND", "agg.", "B:", "strong", "50.00"]
    assert [line[0] for line in lines[1:]] == ["Group", "WX01", "WX02", "Group", "WX03"]
    assert "\x1b" not in done.stdout


def test_a_failed_model_is_named_and_the_exit_is_3(
    firecard: Firecard, hand_case: HandCase, prefect_server: str, tmp_path: Path
):
    case = hand_case(("  strong: {weather: {path: pairs.csv}}", "  absent: {weather: {path: nowhere.csv}}"))
    done = firecard("run", case, "--cycle", "2026-11-17T00", "--out", "out")
    assert done.returncode == 3
    assert "model 'absent'" in done.stderr
    assert "nowhere.csv" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out" / "HAND-A" / "2026-11-17T00" / "perfect" / "card.json").exists()


def test_check_explains_and_writes_nothing(
    firecard: Firecard, hand_case: HandCase, tmp_path: Path, hand_rows: list[str]
):
    without = hand_rows[2].rsplit(",", 2)
    rows = [*hand_rows[:2], f"{without[0]},,{without[2]}", *hand_rows[3:]]
    case = hand_case(rows=rows)
    before = set(tmp_path.rglob("*"))
    done = firecard("check", case)
    assert done.returncode == 0, done.stderr
    assert "wind_direction [deg]: 7 pairs of 8 candidates (1 no forecast)" in done.stdout
    assert "2 stations, valid 2026-11-17T00:00Z to 2026-11-17T03:00Z, step 1 h" in done.stdout
    assert set(tmp_path.rglob("*")) == before


# What is wrong, what the message must name. Every one ends with exit 1 and leaves nothing behind.
BAD_CASES = [
    pytest.param(
        ("kpi: wind_speed_rmse", "kpi: wind_sped_rmse"),
        ["hand.yaml:9", "did you mean 'wind_speed_rmse'?"],
        id="unknown KPI",
    ),
    pytest.param(("window: {hours: 4}", "windoww: {hours: 4}"), ["hand.yaml:5", "did you mean 'window'?"], id="typo"),
    pytest.param(("{Speed: 2}", "{Speed: -2}"), ["hand.yaml:16", "Speed"], id="negative weight"),
    pytest.param(("{Speed: 2}", "{Speed: 0, Direction: 0}"), ["hand.yaml:16", "zero"], id="weights all zero"),
    pytest.param(("m: 10 m/s", "m: 0 m/s"), ["hand.yaml:9", "m > a"], id="m not above a"),
    pytest.param(("m: 45 deg", "m: 45 K"), ["hand.yaml:10", "'K'"], id="unit of another quantity"),
    pytest.param(("{path: pairs.csv}", "{path: .}"), ["is a directory"], id="a directory"),
]


@pytest.mark.parametrize(("change", "named"), BAD_CASES)
def test_a_bad_case_is_refused(
    firecard: Firecard,
    hand_case: HandCase,
    prefect_server: str,
    tmp_path: Path,
    change: tuple[str, str],
    named: list[str],
):
    only_one = ("  strong: {weather: {path: pairs.csv}}\n", "")
    done = firecard("run", hand_case(only_one, change), "--cycle", "2026-11-17T00", "--out", "out")
    _refused(done, named, tmp_path / "out")


Rows = list[str]


def _without_values(rows: Rows) -> Rows:
    return [rows[0], *(row.rsplit(",", 2)[0] + ",," for row in rows[1:])]


def _one_in_another_zone(rows: Rows) -> Rows:
    return [*rows[:3], rows[3].replace("00Z,wind", "00+02:00,wind"), *rows[4:]]


def _valid_a_day_later(rows: Rows) -> Rows:
    return [rows[0], *(row.replace("00:00Z,2026-11-17T", "00:00Z,2026-11-18T") for row in rows[1:])]


BAD_TABLES = [
    pytest.param(
        lambda rows: [row.replace("forecast", "forcast") for row in rows], ["'forecast' is missing"], id="column"
    ),
    pytest.param(lambda rows: [row.replace(",m/s,", ",furlong,") for row in rows], ["'furlong'", "row 2"], id="unit"),
    pytest.param(_one_in_another_zone, ["mixed time zones", "row 4"], id="zones"),
    pytest.param(lambda rows: [*rows, rows[-1]], ["twice", "row 34"], id="duplicated pair"),
    pytest.param(lambda rows: rows[:1], ["no row"], id="header only"),
    pytest.param(lambda rows: [], ["pairs.csv"], id="blank"),
    pytest.param(_without_values, ["WX01 has no value (no observation)"], id="nothing but gaps"),
    pytest.param(
        lambda rows: [row.replace("2026-11-17T", "2026-11-19T") for row in rows],
        ["no cycle 2026-11-17T00", "2026-11-19T00"],
        id="cycle",
    ),
    pytest.param(_valid_a_day_later, ["no pair in the window"], id="window"),
]


@pytest.mark.parametrize(("spoil", "named"), BAD_TABLES)
def test_a_bad_table_is_refused(
    firecard: Firecard,
    hand_case: HandCase,
    prefect_server: str,
    tmp_path: Path,
    spoil: Callable,
    named: list[str],
    hand_rows: list[str],
):
    case = hand_case(("case: HAND", "strict: true\ncase: HAND"), rows=spoil(hand_rows))
    done = firecard("run", case, "--cycle", "2026-11-17T00", "--out", "out")
    _refused(done, named, tmp_path / "out")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param(["nowhere.yaml"], ["nowhere.yaml", "no such case file"], id="missing case"),
        pytest.param(["."], ["directory"], id="a directory"),
        pytest.param(["hand.yaml", "--model", "perfekt"], ["did you mean 'perfect'?"], id="unknown model"),
        pytest.param(["hand.yaml", "--scheme", "C"], ["schemes: A, B"], id="unknown scheme"),
        pytest.param(["hand.yaml", "--cycle", "yesterday"], ["2026-11-17T00"], id="not a time"),
        pytest.param(["hand.yaml", "--out", "hand.yaml/below"], ["hand.yaml"], id="output below a file"),
    ],
)
def test_bad_arguments_are_refused(
    firecard: Firecard, hand_case: HandCase, prefect_server: str, tmp_path: Path, arguments: list[str], named: list[str]
):
    hand_case()
    _refused(firecard("run", *arguments), named, tmp_path / "scorecards")


def _refused(done: Done, named: list[str], out: Path) -> None:
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    for each in named:
        assert each in done.stderr
    assert not [path for path in out.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    assert not list(out.rglob(".*-*"))


def test_a_server_that_does_not_answer_is_named(firecard_process: Firecard, hand_case: HandCase):
    done = firecard_process("run", hand_case(), PREFECT_API_URL="http://127.0.0.1:9/api")
    assert done.returncode == 1
    assert "http://127.0.0.1:9/api" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_demo_scores_three_models(firecard_process: Firecard, prefect_server: str, tmp_path: Path):
    done = firecard_process("demo", PREFECT_API_URL=prefect_server)
    assert done.returncode == 0, done.stderr
    totals = {}
    for path in (tmp_path / "demo" / "DEMO-A").rglob("card.json"):
        record = json.loads(path.read_bytes(), parse_constant=pytest.fail)
        totals[record["model"]] = record["total"]["score"]
    # The generator gives them this order of skill.
    assert totals["wrf-d02"] > totals["hrrr"] > totals["gfs"]
    assert "card.html" in done.stderr
