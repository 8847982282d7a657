"""FireBench's Caldor case on small files of its standard: a card worked by hand, and its result file."""

from __future__ import annotations

import hashlib
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from configs.case import read_case
from flows.cli import app
from flows.evaluate import evaluate

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "configs" / "cases" / "fb001.yaml"
CYCLE = datetime(2021, 8, 18, tzinfo=UTC)
OBSERVED = ["Destroyed (>50%)", "Major (26-50%)", "No Damage", "Minor (10-25%)", "Inaccessible", "Affected (1-9%)"]
OBSERVED += ["Destroyed (>50%)"]
MODEL = ["Destroyed (>50%)", "No Damage", "Destroyed (>50%)", "No Damage", "Destroyed (>50%)", "No Damage"]
MODEL += ["Destroyed (>50%)"]
# 36 cells of high severity and 12 of low; the model has as many high ones, three columns to the east, and no low ones.
# 18 hits, 18 misses, 18 false alarms; the low ones are rightly not high. Of the buildings 2 hits, a miss, a false
# alarm, 2 correct rejections; the inaccessible one counts for neither.
VALUES = {
    "SV01": 30 / 66,
    "SV02": 18 / 36,
    "SV03": 18 / 36,
    "SV04": 12 / 30,
    "SV05": 12 / 30,
    "SV06": 1 / 2,
    **{f"BD0{number}": 2 / 3 for number in range(1, 7)},
}
SEVERITY = 100 * sum(VALUES[f"SV0{number}"] for number in range(1, 7)) / 6
TITLES = ("Accuracy", "Precision", "Recall", "Specificity", "Negative Predictive Value", "F1 Score")
# What FireBench 0.10 writes of an unsigned run.
KEYS = {
    "created_on", "case_version", "firebench_version", "case_name", "benchmark_short_name", "case_id",
    "evaluated_model_name", "obs_dataset_hash", "model_output", "benchmark_script", "benchmarks", "score_card",
    "score_card_report_hash",
}  # fmt: skip


@pytest.fixture
def case(tmp_path: Path, firebench_file) -> Path:
    """The shipped case in a folder with files, as yet without stations."""
    lat, lon = np.meshgrid(38.9 - 0.01 * np.arange(12), -120.5 + 0.01 * np.arange(12), indexing="ij")
    observed, model = np.zeros((2, 12, 12), dtype=np.uint8)
    observed[2:8, 2:8], observed[8:10, 2:8] = 4, 2
    model[2:8, 5:11] = 4
    places = 38.8 + 0.001 * np.arange(7), -120.4 + 0.001 * np.arange(7)
    firebench_file(tmp_path / "Caldor.h5", severity=(observed, lat, lon), buildings=(OBSERVED, *places), packed=True)
    # A model's file need not say where the buildings stand: they are in the same order.
    firebench_file(tmp_path / "model.h5", severity=(model, lat, lon), buildings=(MODEL, None, None), packed=True)
    return Path(shutil.copy(SHIPPED, tmp_path / "fb001.yaml"))


WEATHER = "    weather: {path: model.h5, source: firebench_model}\n"


@pytest.fixture
def without_weather(case: Path) -> Path:
    """The case with a model that has no weather."""
    assert WEATHER in case.read_text()
    case.write_text(case.read_text().replace(WEATHER, ""))
    return case


def test_a_card_by_hand(without_weather, tmp_path, prefect_server):
    evaluate(without_weather, CYCLE, out=tmp_path / "out")
    folders = {letter: tmp_path / "out" / f"FB001-{letter}" / "2021-08-18T00" / "model" for letter in "AB"}
    cards = {letter: json.loads((folder / "card.json").read_bytes()) for letter, folder in folders.items()}
    kpis = {kpi["id"]: kpi for group in cards["A"]["groups"] for kpi in group["kpis"]}
    assert {name: kpi["value"] for name, kpi in kpis.items() if name[:2] != "WX"} == pytest.approx(VALUES)
    assert {kpi["reason"] for name, kpi in kpis.items() if name[:2] == "WX"} == {"not offered by this model"}
    assert [group["text"] for group in cards["A"]["groups"][:3]] == ["66.67", f"{SEVERITY:.2f}", "n/a"]
    assert cards["A"]["total"]["score"] == pytest.approx((200 / 3 + SEVERITY) / 2, abs=0.005)
    assert cards["B"]["total"]["text"] == "66.67"
    assert not cards["A"]["partial"]
    assert cards["A"]["matching"]["severity"]["way"] == "the same grid"
    assert cards["A"]["matching"]["structures"]["join"] == "by their order, which is the same in both files"

    result = json.loads((folders["A"] / "firebench.json").read_bytes())
    assert result.keys() == KEYS
    names = {f"FB001_{kind}0{at}": f"Binary {what} {title}"
             for kind, what in (("BD", "Structure Loss"), ("SV", "High Severity"))
             for at, title in enumerate(TITLES, 1)}  # fmt: skip
    assert result["benchmarks"] == {
        bench: {name: pytest.approx(VALUES[bench[6:]]), "Score": pytest.approx(100 * VALUES[bench[6:]])}
        for bench, name in names.items()
    }
    scheme = result["score_card"].pop("Scheme")
    for group, kind in (("Building Damage", "BD"), ("Burn Severity", "SV")):
        assert scheme[group] == {"weight": 1, "benchmarks": {f"FB001_{kind}0{at}": 1 for at in range(1, 7)}}
    assert scheme["RH W4"] == {"weight": 1, "benchmarks": {"FB001_WX128": 1, "FB001_WX134": 1, "FB001_WX140": 1}}
    assert len(scheme) == 22
    assert result["score_card"] == {
        "Score Building Damage": pytest.approx(200 / 3),
        "Score Burn Severity": pytest.approx(SEVERITY),
        "Score Total": pytest.approx((200 / 3 + SEVERITY) / 2),
        "aggregation_scheme_name": "A",
        "benchmark_target_name": "A",
    }
    assert (result["case_name"], result["benchmark_short_name"], result["case_id"]) == (
        "Caldor 2021",
        "2021_Caldor",
        "FB001",
    )
    for key, name in (("obs_dataset_hash", "Caldor.h5"), ("model_output", "model.h5")):
        assert result[key] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert result["score_card_report_hash"] == hashlib.sha256((folders["A"] / "card.pdf").read_bytes()).hexdigest()
    assert result["case_version"] == "Unofficial"
    assert datetime.fromisoformat(result["created_on"]).tzinfo is not None


def test_with_all_cells_it_gives_what_firebench_gives(without_weather, tmp_path, prefect_server):
    case = without_weather
    case.write_text(case.read_text().replace("domain: union", "domain: all"))
    evaluate(case, CYCLE, schemes=["A"], out=tmp_path / "out")
    result = json.loads((tmp_path / "out" / "FB001-A" / "2021-08-18T00" / "model" / "firebench.json").read_bytes())
    found = [value for bench in range(1, 7) for value in result["benchmarks"][f"FB001_SV0{bench}"].values()]
    # FireBench 0.10.0 on the same two files; by hand, 78 more correct rejections.
    assert found == pytest.approx([0.75, 75, 0.5, 50, 0.5, 50, 90 / 108, 9000 / 108, 90 / 108, 9000 / 108, 0.5, 50])


def test_check_reads_it(without_weather):
    case = without_weather
    ran = CliRunner().invoke(app, ["check", str(case)])
    assert ran.exit_code == 0, ran.output
    assert "66 of 144 candidates" in ran.output
    assert "6 of 7 candidates (1 observed 'Inaccessible' says neither)" in ran.output


def test_check_says_which_file_is_missing(case, tmp_path):
    (tmp_path / "Caldor.h5").unlink()
    ran = CliRunner().invoke(app, ["check", str(case)])
    assert ran.exit_code == 1
    assert "no file matches 'Caldor.h5'" in ran.output


# The error of each variable at two stations, and the m of its normalisation.
ERRORS = {
    "air_temperature": ("degC", 1.0, -3.0, 5),
    "relative_humidity": ("percent", 5.0, 15.0, 15),
    "wind_speed": ("m/s", 2.0, -4.0, 5),
    "wind_direction": ("degree", 30.0, 10.0, 45),
    "fuel_moisture_content_10h": ("percent", -2.0, -3.0, 5),
}
# Every half hour from 2021-08-18T03:00Z to 2021-09-11T07:00Z; the origin of the times is 07:00Z of the day before.
MINUTES = 20 * 60 + 30 * np.arange(2 * (24 * 24 + 4) + 1)


def test_the_whole_case_by_hand(case, tmp_path, firebench_file, prefect_server):
    places = {"A": (38.8, -120.4), "B": (38.7, -120.2), "C": (38.6, -120.1)}
    for name, share in (("Caldor.h5", 0.0), ("model.h5", 1.0)):
        for station, wrong in (("A", 1), ("B", 2), ("C", 1)):
            truth = 20 + MINUTES / 30 % 7  # a sensor that never moves would be taken for stuck
            series = {each: (error[0], truth + share * error[wrong]) for each, error in ERRORS.items()}
            # Nobody knows the height of C: it does not count.
            made = {station: (*places[station], MINUTES, series)}
            firebench_file(tmp_path / name, stations=made, packed=True, confidence=0 if station == "C" else 2)
    evaluate(case, CYCLE, schemes=["A"], out=tmp_path / "out")
    folder = tmp_path / "out" / "FB001-A" / "2021-08-18T00" / "model"
    card = json.loads((folder / "card.json").read_bytes())
    groups = {group["name"]: group for group in card["groups"]}
    scores = [200 / 3, SEVERITY]
    for name, (_, one, other, m) in zip(
        ("Air Temp", "RH", "Wind Speed", "Wind Direction", "FMC 10h"), ERRORS.values(), strict=True
    ):
        absolute, signed = (abs(one) + abs(other)) / 2, (one + other) / 2
        values = [signed] if name == "Wind Direction" else [absolute, absolute, signed]  # MAE, RMSE and bias
        expected = sum(100 * 2 ** (-abs(each) / m) for each in values) / len(values)
        for window in range(1, 5):
            group = groups[f"{name} W{window}"]
            assert [kpi["value"] for kpi in group["kpis"]] == pytest.approx(values), group["name"]
            assert group["score"] == pytest.approx(expected, abs=0.005)
            assert group["kpis"][0]["stations"] == {"used": 2, "total": 2, "dropped": {}}
            scores.append(expected)
    # W1 from 03:20Z to 06:34Z, 24 days later: half hours from 03:30Z to 06:30Z.
    assert groups["RH W1"]["kpis"][0]["n"] == 2 * (2 * (24 * 24 + 3) + 1)
    assert card["total"]["score"] == pytest.approx(sum(scores) / 22, abs=0.005)
    assert not card["partial"]
    result = json.loads((folder / "firebench.json").read_bytes())
    assert len(result["benchmarks"]) == 64
    assert result["benchmarks"]["FB001_WX002"] == {
        "Air temp MAE mean W1 TSO": 2.0,
        "Score": pytest.approx(100 * 2**-0.4),
    }


def test_the_windows_are_firebenchs():
    case = read_case(SHIPPED)
    expected = {
        "WX002": ("2021-08-17T20:20-07:00", "2021-09-10T23:34-07:00"),
        "WX020": ("2021-08-19T20:45-07:00", "2021-08-21T21:15-07:00"),
        "WX038": ("2021-08-26T03:30-06:00", "2021-08-28T21:30-06:00"),
        "WX056": ("2021-08-28T21:30-06:00", "2021-09-03T00:40-07:00"),
    }
    for name, period in expected.items():
        assert case.instances[name].window.bounds(CYCLE) == tuple(map(datetime.fromisoformat, period))
