"""The KPIs at weather stations, on tables of two or three stations worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metrics.kpis.catalogue import KPIS
from metrics.kpis.kpi import Rules
from metrics.scoring.normalise import Normalisation
from metrics.scoring.scorecard import unit_score
from metrics.variables import VARIABLES

NAN = float("nan")

NAMED = [
    # id, title, worst, unit (R-001-16 to R-001-20, D-21, D-23)
    ("wind_speed_bias", "Wind Speed Bias Average", "increasing |bias|", "m/s"),
    ("wind_speed_rmse", "24h forecast Wind Speed RMSE Average", "increasing RMSE", "m/s"),
    ("wind_direction_rmse", "24h forecast Wind Direction RMSE Average", "increasing RMSE", "deg"),
    ("wind_gust_rmse", "24h forecast Wind Gust RMSE Average", "increasing RMSE", "m/s"),
    ("sustained_wind_speed", "24h forecast Sustained Wind Speed Average", "increasing |bias|", "h"),
]


@pytest.mark.parametrize(("name", "title", "worst", "unit"), NAMED, ids=[each[0] for each in NAMED])
def test_the_named_wind_kpis(name, title, worst, unit):
    kpi = KPIS[name]
    assert (kpi.title, kpi.category, kpi.best, kpi.worst) == (title, "Weather Stations", 0, worst)
    assert kpi.unit in (unit, "variable")
    assert kpi.formula
    assert kpi.aggregate == "stations"


SPEED_TABLES = [
    # forecast, observed, bias, rmse, mae, mean absolute station bias: all averaged over stations
    pytest.param([[5, 7], [2, 2]], [[5, 7], [2, 2]], 0, 0, 0, 0, id="perfect"),
    pytest.param([[6, 8], [2, 2]], [[5, 7], [5, 5]], -1, 2, 2, 2, id="one station +1, the other -3"),
    pytest.param([[8, 8], [2, 2]], [[5, 5], [5, 5]], 0, 3, 3, 3, id="+3 and -3 cancel in the bias alone"),
    pytest.param([[3, 5], [1, 7]], [[3, 3], [4, 4]], 0.5, (2**0.5 + 3) / 2, 2, 0.5, id="errors inside a station"),
    pytest.param(
        [[4, 4, 4, 4], [9, NAN, NAN, NAN]], [[3, 3, 3, 3], [4, 4, 4, NAN]], 3, 3, 3, 3, id="stations weigh equally"
    ),
    pytest.param([[5, NAN], [9, 9]], [[NAN, 4], [8, 6]], 2, 5**0.5, 2, 2, id="a station without a pair is not there"),
    pytest.param([[NAN, NAN]], [[1, 2]], NAN, NAN, NAN, NAN, id="nothing at all"),
]


@pytest.mark.parametrize(("forecast", "observed", "bias", "rmse", "mae", "station_bias"), SPEED_TABLES)
def test_scalar_kpis_by_hand(evaluated, forecast, observed, bias, rmse, mae, station_bias):
    expected = {"bias": bias, "rmse": rmse, "mae": mae, "mean_absolute_station_bias": station_bias}
    for name, value in expected.items():
        result = evaluated(KPIS[name], {"any": forecast}, {"any": observed}, variable="any")
        assert (NAN if result.value is None else result.value) == pytest.approx(value, nan_ok=True), name
    sides = {"wind_speed": forecast, "wind_gust": forecast}, {"wind_speed": observed, "wind_gust": observed}
    for name, value in (("wind_speed_bias", bias), ("wind_speed_rmse", rmse), ("wind_gust_rmse", rmse)):
        result = evaluated(KPIS[name], *sides)
        assert (NAN if result.value is None else result.value) == pytest.approx(value, nan_ok=True), name


@pytest.mark.parametrize("variable", ["temperature", "relative_humidity", "fuel_moisture"])
def test_templates_serve_any_scalar(evaluated, variable):  # D-76
    result = evaluated(KPIS["rmse"], {variable: [[20, 24]]}, {variable: [[23, 20]]}, variable=variable)
    assert result.value == pytest.approx(((9 + 16) / 2) ** 0.5)


def test_station_averaged_and_pooled_stand_beside_each_other(evaluated):  # D-75
    forecast = {"wind_speed": [[4, 4, 4], [9, NAN, NAN]]}
    observed = {"wind_speed": [[3, 3, 3], [4, 4, 4]]}
    by_station = evaluated(KPIS["wind_speed_rmse"], forecast, observed, aggregate="stations")
    pooled = evaluated(KPIS["wind_speed_rmse"], forecast, observed, aggregate="pooled")
    assert by_station.value == pytest.approx((1 + 5) / 2)
    assert pooled.value == pytest.approx(((3 * 1 + 25) / 4) ** 0.5)
    for each in (by_station, pooled):
        assert each.details["stations"] == pytest.approx(3)
        assert each.details["pooled"] == pytest.approx(7**0.5)


def test_a_bias_that_cancels_over_stations_shows_beside_it(evaluated):  # SPEC part 4, D-82
    forecast, observed = {"wind_speed": [[8, 8], [2, 2]]}, {"wind_speed": [[5, 5], [5, 5]]}
    bias = evaluated(KPIS["wind_speed_bias"], forecast, observed)
    assert bias.value == 0
    assert bias.details["mean_absolute"] == 3
    assert bias.details["spread"] == 3
    station_bias = evaluated(KPIS["mean_absolute_station_bias"], forecast, observed, variable="wind_speed")
    assert station_bias.value == 3


def test_alternating_direction_bias_is_not_hidden(evaluated):  # SPEC part 4: ±10° at every other station
    observed = np.tile(np.linspace(0, 350, 12), (6, 1))
    forecast = (observed + np.array([[10], [-10]] * 3)) % 360
    sides = {"wind_direction": forecast}, {"wind_direction": observed}
    result = evaluated(KPIS["direction_bias"], *sides, variable="wind_direction")
    assert result.value == pytest.approx(0, abs=1e-9)
    assert result.details["mean_absolute"] == pytest.approx(10)
    assert result.details["spread"] == pytest.approx(10)
    assert evaluated(KPIS["wind_direction_rmse"], *sides).value == pytest.approx(10)


DIRECTION_TABLES = [
    # forecast, observed, rmse, mae, bias
    pytest.param([[10, 350], [90, 90]], [[10, 350], [90, 90]], 0, 0, 0, id="perfect"),
    pytest.param([[10, 350], [90, 90]], [[350, 330], [80, 80]], 15, 15, 15, id="20 and 10 clockwise"),
    pytest.param([[30, 0], [0, 0]], [[0, 30], [0, 360]], 15, 15, 0, id="one station to and fro, one right"),
    pytest.param([[0, NAN], [180, 180]], [[20, 20], [0, 0]], 100, 100, -100, id="opposite winds at one station"),
]


@pytest.mark.parametrize(("forecast", "observed", "rmse", "mae", "bias"), DIRECTION_TABLES)
def test_direction_kpis_by_hand(evaluated, forecast, observed, rmse, mae, bias):
    sides = {"wind_direction": forecast}, {"wind_direction": observed}
    assert evaluated(KPIS["wind_direction_rmse"], *sides).value == pytest.approx(rmse)
    for name, value in (("direction_rmse", rmse), ("direction_mae", mae), ("direction_bias", bias)):
        result = evaluated(KPIS[name], *sides, variable="wind_direction")
        assert result.value == pytest.approx(value, abs=1e-9), name


# D-18: which directions are compared depends on the observation alone. The differences are 10, 20, 30 and 40.
BLOWING = {"wind_direction": [[100, 100, 100, 100]], "wind_speed": [[5, 5, 5, 5]]}
SEEN = {"wind_direction": [[90, 80, 70, 60]], "wind_speed": [[0, 2, 3, 9]]}
CHOICES = [
    pytest.param({}, [20, 30, 40], id="an observed calm has no direction"),
    pytest.param({"calm": 2.0}, [30, 40], id="calm up to and with the limit"),
    pytest.param({"calm": 0.0}, [20, 30, 40], id="calm said to be zero"),
    pytest.param({"min_observed_speed": 3.0}, [30, 40], id="at least 3 m/s, and 3 is"),
    pytest.param({"min_observed_speed": 3.0, "calm": 4.0}, [40], id="both"),
    pytest.param({"min_observed_speed": 0.0}, [20, 30, 40], id="at least 0 keeps no calm"),
    pytest.param({"calm": None, "min_observed_speed": None}, [20, 30, 40], id="nothing said"),
]


@pytest.mark.parametrize(("parameters", "kept"), CHOICES)
def test_directions_are_chosen_by_the_observed_speed(evaluated, parameters, kept):
    result = evaluated(KPIS["wind_direction_rmse"], BLOWING, SEEN, **parameters)
    assert result.value == pytest.approx((sum(each**2 for each in kept) / len(kept)) ** 0.5)
    assert result.n == len(kept)
    assert result.coverage == 1
    assert sum(result.left_out.values()) == 4 - len(kept)


def test_the_models_own_speed_does_not_choose(evaluated):
    weak = {**BLOWING, "wind_speed": [[0.1, 0.1, 0.1, 0.1]]}
    result = evaluated(KPIS["wind_direction_rmse"], weak, SEEN, min_observed_speed=3.0)
    assert (result.n, result.coverage) == (2, 1)


def test_a_model_calm_is_a_missing_forecast(evaluated):
    calm = {**BLOWING, "wind_speed": [[0, 5, 5, 0]]}
    result = evaluated(KPIS["wind_direction_rmse"], calm, SEEN)
    assert result.value == pytest.approx(((20**2 + 30**2) / 2) ** 0.5)
    assert result.coverage == pytest.approx(2 / 3)
    assert result.left_out["missing forecast"] == 1
    assert sum(result.left_out.values()) == 2  # the other one was calm in the observation as well


def test_an_observed_calm_is_no_fault_of_the_model(evaluated):
    result = evaluated(KPIS["wind_direction_rmse"], BLOWING, SEEN)
    assert "missing forecast" not in result.left_out


def test_an_unknown_observed_speed_keeps_the_direction(evaluated):
    observed = {**SEEN, "wind_speed": [[NAN, NAN, NAN, NAN]]}
    assert evaluated(KPIS["wind_direction_rmse"], BLOWING, observed).n == 4


def test_an_unknown_observed_speed_is_not_above_a_limit(evaluated):
    observed = {**SEEN, "wind_speed": [[NAN, 2, 3, NAN]]}
    assert evaluated(KPIS["wind_direction_rmse"], BLOWING, observed, min_observed_speed=3.0).n == 1


def test_a_network_without_speeds(evaluated):
    observed = {"wind_direction": SEEN["wind_direction"]}
    assert evaluated(KPIS["wind_direction_rmse"], BLOWING, observed).n == 4
    result = evaluated(KPIS["wind_direction_rmse"], BLOWING, observed, min_observed_speed=3.0)
    assert result.value is None
    assert result.reason


def test_a_model_without_speeds(evaluated):
    forecast = {"wind_direction": BLOWING["wind_direction"]}
    assert evaluated(KPIS["wind_direction_rmse"], forecast, SEEN).n == 3


def test_a_variable_wind_has_a_speed_but_no_direction(evaluated):  # D-18: VRB
    forecast = {"wind_direction": [[10, 20]], "wind_speed": [[3, 5]]}
    observed = {"wind_direction": [[NAN, 10]], "wind_speed": [[2, 5]]}
    direction = evaluated(KPIS["wind_direction_rmse"], forecast, observed)
    assert (direction.value, direction.n, direction.coverage) == (pytest.approx(10), 1, 1)
    speed = evaluated(KPIS["wind_speed_rmse"], forecast, observed)
    assert (speed.value, speed.n) == (pytest.approx(0.5**0.5), 2)


def test_a_model_without_any_direction_is_not_scored_from_fill_values(evaluated):  # SPEC part 4
    observed = {"wind_direction": np.full((2, 24), 80.0), "wind_speed": np.full((2, 24), 5.0)}
    forecast = {"wind_direction": np.full((2, 24), NAN), "wind_speed": np.full((2, 24), 5.0)}
    normalisation = Normalisation("exponential", 0.0, 45.0)
    penalised = evaluated(KPIS["wind_direction_rmse"], forecast, observed, rules=Rules())
    assert (penalised.value, penalised.coverage, penalised.penalised) == (None, 0, True)
    assert unit_score(penalised, normalisation) == 0
    dropped = evaluated(KPIS["wind_direction_rmse"], forecast, observed, rules=Rules(missing_model="drop"))
    assert (dropped.value, dropped.penalised) == (None, False)
    assert unit_score(dropped, normalisation) is None
    assert dropped.reason


SUSTAINED_TABLES = [
    # U0 = 8 m/s, hourly: gap, mean absolute gap, csi, frequency bias
    pytest.param([[9, 9, 1], [1, 1, 1]], [[9, 9, 1], [1, 1, 1]], 0, 0, 1, 1, id="perfect"),
    pytest.param([[9, 9, 9], [9, 1, 1]], [[9, 1, 1], [1, 1, 1]], 3 / 2, 3 / 2, 1 / 4, 4, id="too long at both"),
    pytest.param([[9, 9, 1], [1, 1, 1]], [[1, 1, 1], [9, 9, 1]], 0, 2, 0, 1, id="too long here, too short there"),
    pytest.param([[9, 1, 1], [1, 1, 1]], [[1, 1, 9], [1, 1, 1]], 0, 0, 0, 1, id="the right length at the wrong time"),
    pytest.param([[8, 8, 8], [9, 1, 1]], [[8, 8, 8], [1, 1, 1]], 1 / 2, 1 / 2, 0, None, id="at U0 is not above it"),
    pytest.param([[9, NAN, 9], [1, 1, 1]], [[9, 9, NAN], [1, 1, 1]], 0, 0, 1, 1, id="only hours with both sides"),
    pytest.param([[9, 9, 9], [NAN] * 3], [[1, 1, 1], [9] * 3], 3, 3, 0, None, id="a station without a pair"),
]


@pytest.mark.parametrize(("forecast", "observed", "gap", "mean_absolute", "csi", "frequency_bias"), SUSTAINED_TABLES)
def test_sustained_wind_by_hand(evaluated, forecast, observed, gap, mean_absolute, csi, frequency_bias):
    sides = {"wind_speed": forecast}, {"wind_speed": observed}
    result = evaluated(KPIS["sustained_wind_speed"], *sides, threshold=8.0)
    assert result.value == pytest.approx(gap)
    beside = {name: result.details[name] for name in ("mean_absolute", "csi", "frequency_bias")}
    assert beside == pytest.approx({"mean_absolute": mean_absolute, "csi": csi, "frequency_bias": frequency_bias})
    for name, value in (("exceedance_csi", csi), ("exceedance_frequency_bias", frequency_bias)):
        assert evaluated(KPIS[name], *sides, variable="wind_speed", threshold=8.0).value == pytest.approx(value), name


def test_sustained_wind_in_steps_of_another_length(evaluated):
    sides = {"wind_speed": [[9, 9, 1, 1], [9, 9, 9, 1]]}, {"wind_speed": [[1, 1, 1, 1], [9, 1, 1, 1]]}
    result = evaluated(KPIS["sustained_wind_speed"], *sides, threshold=8.0, step_hours=3.0)
    assert result.value == (6 + 6) / 2
    pooled = evaluated(KPIS["sustained_wind_speed"], *sides, threshold=8.0, step_hours=3.0, aggregate="pooled")
    assert pooled.value == result.value  # hours add up, they are not pooled


def test_no_event_on_either_side_has_no_csi(evaluated):
    sides = {"wind_speed": [[1, 2]]}, {"wind_speed": [[2, 1]]}
    result = evaluated(KPIS["exceedance_csi"], *sides, variable="wind_speed", threshold=8.0)
    assert result.value is None
    assert "no event" in result.reason
    assert evaluated(KPIS["sustained_wind_speed"], *sides, threshold=8.0).value == 0


VECTOR_TABLES = [
    # forecast speed and direction, observed speed and direction, mean over stations, pairs
    pytest.param([[3], [5]], [[0], [90]], [[4], [5]], [[90], [90]], 5 / 2, 2, id="one station off by five"),
    pytest.param([[0], [6]], [[NAN], [0]], [[6], [0]], [[10], [NAN]], 6, 2, id="calms are winds of length zero"),
    pytest.param([[3, 3]], [[0, 0]], [[4, 4]], [[90, NAN]], 5, 1, id="an observed wind without direction"),
]


@pytest.mark.parametrize(("speed", "angle", "observed_speed", "observed_angle", "value", "n"), VECTOR_TABLES)
def test_vector_rmse_by_hand(evaluated, speed, angle, observed_speed, observed_angle, value, n):
    result = evaluated(
        KPIS["vector_rmse"],
        {"wind_speed": speed, "wind_direction": angle},
        {"wind_speed": observed_speed, "wind_direction": observed_angle},
    )
    assert (result.value, result.n, result.coverage) == (pytest.approx(value), n, 1)


def test_a_model_wind_without_direction_is_a_missing_forecast(evaluated):  # D-17
    forecast = {"wind_speed": [[3, 3, NAN, 0]], "wind_direction": [[0, NAN, 0, NAN]]}
    observed = {"wind_speed": [[4, 4, 4, 5]], "wind_direction": [[90, 90, 90, 90]]}
    result = evaluated(KPIS["vector_rmse"], forecast, observed)
    assert (result.value, result.n, result.coverage) == (5, 2, 2 / 4)  # the calm is a vector, the others are not
    assert result.left_out == {"missing forecast": 2}


def test_gusts_are_labelled_where_reported(evaluated):  # D-22: the variable says so, the case binds it to its KPIs
    assert VARIABLES["wind_gust"].reported_when
    assert [name for name, each in VARIABLES.items() if each.reported_when] == ["wind_gust"]
    bound = replace(KPIS["wind_gust_rmse"], conditional=True, note="only where stations report it")
    sides = {"wind_gust": [[10, 12] * 6]}, {"wind_gust": [[NAN, 15] * 6]}  # six of twelve hours were gusty
    result = evaluated(bound, *sides, rules=Rules())
    assert (result.value, result.n, result.coverage) == (3, 6, 1)
    assert "only where stations report it" in result.flags


OF_SPEED = ("bias", "mae", "rmse", "mean_absolute_station_bias")
OF_DIRECTION = ("direction_rmse", "direction_mae", "direction_bias")
OF_EVENTS = ("hours_above", "exceedance_csi", "exceedance_frequency_bias")
REPLICATED = [
    *((name, {"variable": "wind_speed"}) for name in OF_SPEED),
    *((name, {"variable": "wind_direction"}) for name in OF_DIRECTION),
    *((name, {"variable": "wind_speed", "threshold": 8.0}) for name in OF_EVENTS),
    ("vector_rmse", {}),
]


@pytest.mark.parametrize("aggregate", ["stations", "pooled"])
@pytest.mark.parametrize(("name", "more"), REPLICATED, ids=[each[0] for each in REPLICATED])
def test_five_replicates_give_what_each_gives_alone(reduced, name, more, aggregate):
    generator = np.random.default_rng(5)
    kpi = KPIS[name]
    speeds, angles = generator.uniform(0, 20, (2, 4, 24)), generator.uniform(0, 360, (2, 4, 24))
    sides = ({"wind_speed": speed, "wind_direction": angle} for speed, angle in zip(speeds, angles, strict=True))
    by_station = reduced(kpi, *sides, **more).sums.arrays().values()
    nights = [generator.integers(0, 3, 4) for _ in range(4)] + [np.zeros(4)]  # how often each station was drawn
    alone = [kpi.finish(kpi.sums(*(each * drawn for each in by_station)), aggregate) for drawn in nights]
    together = kpi.finish(kpi.sums(*(each * np.stack(nights) for each in by_station)), aggregate)
    assert np.shape(together) == (5,)
    np.testing.assert_allclose(together, [float(each) for each in alone])
    assert np.isnan(together[-1])  # a replicate without a station has no value


@pytest.mark.parametrize("name", ["mae", "rmse", "bias"])
def test_drawing_a_station_twice_is_pooling_it_twice(reduced, name):
    forecast, observed = {"any": [[1, 5, 3], [7, 7, 1]]}, {"any": [[2, 2, 2], [5, 6, 1]]}
    kpi = KPIS[name]
    sums = reduced(kpi, forecast, observed, variable="any").sums
    drawn = kpi.sums(*(each * np.array([[2, 1]]) for each in sums.arrays().values()))
    error = np.array([-1, 3, 1, -1, 3, 1, 2, 1, 0])
    expected = {"mae": abs(error).mean(), "rmse": (error**2).mean() ** 0.5, "bias": error.mean()}
    assert kpi.finish(drawn, "pooled") == pytest.approx(expected[name])
