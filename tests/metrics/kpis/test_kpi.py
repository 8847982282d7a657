"""When a station counts, when a model has too many holes, and what is said about it (D-17, D-05)."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from metrics.kpis.catalogue import KPIS
from metrics.kpis.kpi import Kpi, Reduced, Rules, evaluate, unit_mean, unit_spread
from metrics.scoring.normalise import Normalisation
from metrics.scoring.scorecard import unit_score
from metrics.sums import ErrorSums

NAN = float("nan")
RMSE, DIRECTION_RMSE = KPIS["wind_speed_rmse"], KPIS["wind_direction_rmse"]


def speeds(*present: int, error: float = 1.0, steps: int = 24) -> tuple[dict, dict]:
    """Stations with so many pairs each out of 24 hours, every one off by `error`; the observation has the holes."""
    observed = np.full((len(present), steps), NAN)
    for row, count in zip(observed, present, strict=True):
        row[:count] = 5.0
    return {"wind_speed": np.full(observed.shape, 5.0 + error)}, {"wind_speed": observed}


UNITS = [
    pytest.param([1, 2, 6], 3, id="all have a value"),
    pytest.param([1, NAN, 5], 3, id="one has none"),
    pytest.param([NAN, NAN], NAN, id="none has one"),
    pytest.param([], NAN, id="no unit at all"),
    pytest.param([[1, 3], [5, NAN], [NAN, NAN]], [2, 5, NAN], id="replicates"),
]


@pytest.mark.parametrize(("values", "expected"), UNITS)
def test_unit_mean(values, expected):
    np.testing.assert_allclose(unit_mean(values), expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([3, 3, 3], 0), ([-10, 10], 10), ([1, NAN, 5], 2), ([4], 0), ([[2, 4], [NAN, 1]], [1, 0]), ([NAN], NAN)],
)
def test_unit_spread(values, expected):
    np.testing.assert_allclose(unit_spread(values), expected)


COMPLETENESS = [
    # pairs of each station out of 24, completeness asked for, stations that count
    pytest.param((24, 18, 17), 0.75, 2, id="three quarters of a day are 18 hours"),
    pytest.param((24, 18, 17), 1.0, 1, id="all of them"),
    pytest.param((24, 1, 0), 0.0, 2, id="one pair is enough, none is not"),
    pytest.param((24, 12, 11), 0.5, 2, id="half"),
    pytest.param((17, 10, 3), 0.75, 0, id="none is complete enough"),
]


@pytest.mark.parametrize(("present", "completeness", "used"), COMPLETENESS)
def test_a_station_with_too_few_pairs_is_left_out(evaluated, present, completeness, used):
    forecast, observed = speeds(*present)
    forecast["wind_speed"] += np.arange(len(present))[:, None]  # errors 1, 2, 3: who is there can be seen in the value
    result = evaluated(RMSE, forecast, observed, rules=Rules(min_completeness=completeness))
    assert result.used == used
    assert result.total == sum(count > 0 for count in present)
    assert result.coverage == 1
    assert result.n == sum(present[:used])
    assert result.value == (pytest.approx(np.mean(np.arange(used) + 1)) if used else None)
    left_out = sum(present) - sum(present[:used])
    assert result.left_out == ({"pairs of stations with too few": left_out} if left_out else {})
    assert bool(result.reason) == (used == 0)
    assert any("left out" in flag for flag in result.flags) == (used < result.total)


def test_nine_of_ten_stations_unusable(evaluated):  # SPEC part 4: they must not vanish
    result = evaluated(RMSE, *speeds(24, *[5] * 9), rules=Rules())
    assert (result.used, result.total) == (1, 10)
    assert result.n == 24
    assert result.left_out == {"pairs of stations with too few": 45}
    assert any("9 of 10 stations left out: fewer than 18 pairs" in flag for flag in result.flags)


def test_directions_need_six_pairs_whatever_the_hours(evaluated):  # D-17: calms are no fault of the station
    observed = np.full((3, 24), NAN)
    observed[0, :6], observed[1, :5], observed[2] = 90.0, 90.0, 90.0
    result = evaluated(
        DIRECTION_RMSE,
        {"wind_direction": np.tile([[100.0], [189.0], [120.0]], 24)},
        {"wind_direction": observed},
        rules=Rules(),
    )
    assert (result.used, result.total) == (2, 3)
    assert result.value == pytest.approx((10 + 30) / 2)


@pytest.mark.parametrize("kpi", [RMSE, DIRECTION_RMSE], ids=lambda kpi: kpi.id)
def test_a_station_without_a_pair_never_counts(evaluated, kpi):
    observed = {"wind_speed": [[5.0], [NAN]], "wind_direction": [[5.0], [NAN]]}
    result = evaluated(kpi, observed, observed, rules=Rules(min_completeness=0.0, min_pairs=0))
    assert (result.used, result.total) == (1, 1)


COVERAGE = [
    # forecasts missing out of 20 at each of two stations, min_coverage, below?
    pytest.param((0, 0), 0.9, False, id="complete"),
    pytest.param((4, 0), 0.9, False, id="exactly 90 % is enough"),
    pytest.param((4, 1), 0.9, True, id="just below"),
    pytest.param((20, 0), 0.5, False, id="one station wholly missing is half"),
    pytest.param((20, 20), 0.9, True, id="nothing forecast"),
    pytest.param((20, 20), 0.0, False, id="nothing asked"),
]


@pytest.mark.parametrize("missing_model", ["penalise", "drop"])
@pytest.mark.parametrize(("holes", "min_coverage", "below"), COVERAGE)
def test_a_missing_forecast_is_the_models_fault(evaluated, holes, min_coverage, below, missing_model):
    forecast, observed = speeds(20, 20, steps=20)
    for row, count in zip(forecast["wind_speed"], holes, strict=True):
        row[:count] = NAN
    rules = Rules(min_completeness=0.0, min_coverage=min_coverage, missing_model=missing_model)
    result = evaluated(RMSE, forecast, observed, rules=rules)
    assert result.coverage == pytest.approx((40 - sum(holes)) / 40)
    assert result.left_out.get("missing forecast", 0) == sum(holes)
    score = unit_score(result, Normalisation("linear", 0.0, 4.0))
    if not below:
        assert result.value == (1 if sum(holes) < 40 else None)
        assert score == (75 if sum(holes) < 40 else None)
        assert not result.penalised
    elif missing_model == "penalise":
        assert result.penalised
        assert score == 0
        assert any("coverage" in flag for flag in result.flags)
    else:
        assert (result.value, score, result.penalised) == (None, None, False)
        assert "coverage" in result.reason
        assert result.reason in result.flags


def test_a_missing_observation_is_normal(evaluated):
    forecast, observed = speeds(24, 19)
    result = evaluated(RMSE, forecast, observed, rules=Rules())
    assert (result.value, result.coverage, result.flags, result.left_out) == (1, 1, (), {})


def test_one_missing_sample_of_a_perfect_model(evaluated):  # SPEC part 4: 2,890 samples, one of them missing
    observed = np.tile(np.linspace(0, 10, 289), (10, 1))
    forecast = observed.copy()
    forecast[3, 100] = NAN
    result = evaluated(RMSE, {"wind_speed": forecast}, {"wind_speed": observed}, rules=Rules())
    assert result.value == 0
    assert (result.n, result.used, result.total) == (2889, 10, 10)
    assert result.coverage == pytest.approx(2889 / 2890, rel=1e-15)
    assert unit_score(result, Normalisation("exponential", 0.0, 5.0)) == 100


def test_observations_that_are_all_missing(evaluated):  # SPEC part 4
    forecast, observed = speeds(0, 0)
    result = evaluated(RMSE, forecast, observed, rules=Rules())
    assert (result.value, result.reason, result.total) == (None, "no observation", 0)
    assert result.offered
    assert not result.penalised
    assert unit_score(result, Normalisation("exponential", 0.0, 5.0)) is None


def empty(**more) -> Reduced:
    nothing = np.zeros(2)
    return Reduced(ErrorSums(*[nothing] * 6), expected=nothing + 24, filtered=nothing, steps=24, **more)


def test_what_a_model_does_not_offer_is_not_its_fault():  # D-05
    result = evaluate(RMSE, empty(offered=False), unit="m/s", aggregate="stations", rules=Rules())
    assert (result.value, result.offered, result.penalised) == (None, False, False)
    assert result.reason == "not offered by this model"
    assert unit_score(result, Normalisation("exponential", 0.0, 5.0)) is None


def test_sums_that_could_not_be_made_say_why():  # D-82
    result = evaluate(RMSE, empty(fault="the step is not uniform"), unit="h", aggregate="stations", rules=Rules())
    assert (result.value, result.reason, result.flags) == (
        None,
        "the step is not uniform",
        ("the step is not uniform",),
    )
    assert result.offered


def test_a_model_without_any_forecast_is_penalised_not_left_out():
    result = evaluate(RMSE, empty(), unit="m/s", aggregate="stations", rules=Rules())
    assert (result.value, result.coverage, result.penalised, result.used, result.total) == (None, 0, True, 0, 2)
    assert unit_score(result, Normalisation("exponential", 0.0, 5.0)) == 0


def test_the_default_rules():  # D-17
    rules = Rules()
    assert (rules.min_completeness, rules.min_coverage, rules.missing_model) == (0.75, 0.9, "penalise")
    assert rules.min_pairs == 6


def test_a_result_holds_plain_numbers(evaluated):
    result = evaluated(RMSE, *speeds(24, 24), rules=Rules())
    assert type(result.value) is float
    assert type(result.n) is int
    assert type(result.coverage) is float
    assert all(value is None or type(value) is float for value in result.details.values())


@pytest.mark.parametrize("kind", [Kpi, Rules, Reduced])
def test_frozen(kind):
    one = {Kpi: RMSE, Rules: Rules(), Reduced: empty()}[kind]
    with pytest.raises(FrozenInstanceError):
        setattr(one, next(iter(one.__slots__)), None)
