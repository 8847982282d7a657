"""Laws 10 to 12: directions, stations, and hours of sustained wind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from metrics.circular import direction_difference, direction_mae, direction_rmse
from metrics.exceedance import hours_above_gap
from metrics.kpis.catalogue import KPIS
from metrics.sums import DirectionSums, ErrorSums, ExceedanceSums

LAW = settings(deadline=None, derandomize=True, max_examples=100)
ANGLES = st.one_of(st.integers(-720, 720).map(float), st.floats(-720, 720))
EIGHTHS = st.integers(0, 320).map(lambda eighths: eighths / 8)  # speeds up to 40 m/s


# Law 10


@st.composite
def directions(draw):
    length = draw(st.integers(1, 20))
    return tuple(draw(hnp.arrays(float, length, elements=ANGLES)) for _ in range(2))


@LAW
@given(directions())
def test_a_difference_is_the_short_way_round(sample):
    forecast, observed = sample
    difference = direction_difference(forecast, observed)
    assert np.all((difference >= -180) & (difference < 180))
    assert np.all(abs(difference) <= abs(forecast - observed) + 1e-9)
    turns = (forecast - observed - difference) / 360
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-9)


@LAW
@given(directions())
def test_the_way_back_is_the_opposite_except_at_half_turns(sample):
    there, back = direction_difference(*sample), direction_difference(*reversed(sample))
    half = abs(abs(there) - 180) < 1e-9
    np.testing.assert_allclose(there[~half], -back[~half], atol=1e-9)
    np.testing.assert_allclose(abs(there[half]), abs(back[half]), atol=1e-9)


@LAW
@given(directions())
def test_a_direction_error_is_within_0_and_180(sample):
    assert 0 <= direction_mae(*sample) <= direction_rmse(*sample) * (1 + 1e-12) <= 180 * (1 + 1e-12)


@LAW
@given(directions(), ANGLES)
def test_turning_everything_changes_nothing(sample, angle):
    forecast, observed = sample
    assert direction_rmse(forecast + angle, observed + angle) == pytest.approx(
        float(direction_rmse(forecast, observed)), abs=1e-9
    )


@LAW
@given(directions(), st.data())
def test_a_whole_turn_of_any_one_changes_nothing(sample, data):
    turned = [each.copy() for each in sample]
    side, turns = data.draw(st.integers(0, 1)), data.draw(st.sampled_from([-2, -1, 1, 3]))
    turned[side][data.draw(st.integers(0, len(sample[0]) - 1))] += 360 * turns
    assert direction_rmse(*turned) == pytest.approx(float(direction_rmse(*sample)), abs=1e-9)


@LAW
@given(directions())
def test_a_mirror_changes_nothing(sample):
    assert direction_rmse(*(-each for each in sample)) == pytest.approx(float(direction_rmse(*sample)), abs=1e-9)


# Law 11


@st.composite
def tables(draw, values=EIGHTHS):
    """Forecast and observed of stations by time, with holes; every station has at least one pair."""
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 12)))
    sides = [draw(hnp.arrays(float, shape, elements=values)) for _ in range(2)]
    for side in sides:
        side[draw(hnp.arrays(bool, shape, elements=st.sampled_from([False, False, True])))] = np.nan
    assume(np.isfinite(sides[0] + sides[1]).any(axis=1).all())
    return tuple(sides)


def sums_of(name: str, forecast, observed):
    family = KPIS[name].sums
    if family is ExceedanceSums:
        return family.of(forecast, observed, threshold=8.0, step_hours=1.0, dim=-1)
    return family.of(forecast, observed, dim=-1)


def value_of(name: str, forecast, observed, aggregate="stations") -> float:
    return float(KPIS[name].finish(sums_of(name, forecast, observed), aggregate))


TEMPLATES = st.sampled_from(
    [
        *("bias", "mae", "rmse", "mean_absolute_station_bias", "direction_rmse", "direction_mae"),
        *("hours_above", "exceedance_csi", "exceedance_frequency_bias"),
    ]
)
AGGREGATES = st.sampled_from(["stations", "pooled"])


@LAW
@given(TEMPLATES, AGGREGATES, tables(), st.data())
def test_the_order_of_stations_changes_nothing(name, aggregate, sample, data):
    order = data.draw(st.permutations(range(len(sample[0]))))
    shuffled = value_of(name, *(side[order] for side in sample), aggregate)
    assert shuffled == pytest.approx(value_of(name, *sample, aggregate), abs=1e-9, nan_ok=True)


@LAW
@given(TEMPLATES, AGGREGATES, tables())
def test_every_station_twice_changes_nothing(name, aggregate, sample):
    doubled = value_of(name, *(np.repeat(side, 2, axis=0) for side in sample), aggregate)
    assert doubled == pytest.approx(value_of(name, *sample, aggregate), abs=1e-9, nan_ok=True)


@LAW
@given(TEMPLATES, AGGREGATES, tables(), st.sampled_from([(np.nan, np.nan), (5.0, np.nan), (np.nan, 5.0)]))
def test_an_empty_station_changes_nothing(name, aggregate, sample, empty):
    longer = [np.vstack([side, np.full(side.shape[1], each)]) for side, each in zip(sample, empty, strict=True)]
    assert value_of(name, *longer, aggregate) == pytest.approx(
        value_of(name, *sample, aggregate), abs=1e-9, nan_ok=True
    )


@LAW
@given(AGGREGATES, tables(), st.integers(-80, 80).map(lambda eighths: eighths / 8))
def test_a_shifted_model_has_a_shifted_bias(aggregate, sample, c):
    forecast, observed = sample
    shifted = value_of("bias", forecast + c, observed, aggregate)
    assert shifted == pytest.approx(value_of("bias", forecast, observed, aggregate) + c, abs=1e-9)


@LAW
@given(tables())
def test_squared_rmse_is_squared_bias_and_variance(sample):
    sums = ErrorSums.of(*sample, dim=-1)
    variance = np.nanvar(sample[0] - sample[1], axis=1)
    np.testing.assert_allclose(sums.rmse() ** 2, sums.bias() ** 2 + variance, rtol=1e-9, atol=1e-9)


@LAW
@given(tables(), st.integers(0, 11))
def test_nights_add_up(sample, at):
    first, second = (ErrorSums.of(*(side[:, part] for side in sample), dim=-1) for part in (np.s_[:at], np.s_[at:]))
    whole = ErrorSums.of(*sample, dim=-1)
    for name, each in (first + second).arrays().items():
        np.testing.assert_allclose(each, getattr(whole, name), rtol=1e-12, atol=1e-12, err_msg=name)


@LAW
@given(tables(values=ANGLES))
def test_a_circular_bias_is_an_angle(sample):
    bias = DirectionSums.of(*sample, dim=-1).bias()
    assert np.all(np.isnan(bias) | ((bias >= -180) & (bias < 180)))


# Law 12


@st.composite
def days(draw):
    """Stations over the 24 hours of a day, with holes."""
    shape = (draw(st.integers(1, 4)), 24)
    sides = [draw(hnp.arrays(float, shape, elements=EIGHTHS)) for _ in range(2)]
    for side in sides:
        side[draw(hnp.arrays(bool, shape, elements=st.sampled_from([False, False, False, True])))] = np.nan
    assume(np.isfinite(sides[0] + sides[1]).any())
    return tuple(sides)


THRESHOLDS = st.one_of(EIGHTHS, st.floats(0, 40))


def gap(forecast, observed, threshold, step_hours=1.0) -> float:
    sums = ExceedanceSums.of(forecast, observed, threshold=threshold, step_hours=step_hours, dim=-1)
    return float(KPIS["sustained_wind_speed"].finish(sums, "stations"))


@LAW
@given(days(), THRESHOLDS)
def test_a_perfect_forecast_has_no_gap(sample, threshold):
    observed = sample[1]
    assume(np.isfinite(observed).any())
    assert gap(observed, observed, threshold) == 0


@LAW
@given(days(), THRESHOLDS)
def test_a_gap_is_within_a_day(sample, threshold):
    assert -24 <= gap(*sample, threshold) <= 24


@LAW
@given(days(), THRESHOLDS)
def test_swapping_the_sides_changes_the_sign(sample, threshold):
    forecast, observed = sample
    assert gap(forecast, observed, threshold) == -gap(observed, forecast, threshold)


@LAW
@given(days())
def test_a_threshold_that_nobody_reaches_has_no_gap(sample):
    assert gap(*sample, threshold=max(np.nanmax(side) for side in sample)) == 0  # at the threshold is not above it
    assert gap(*sample, threshold=1000) == 0


@LAW
@given(days(), THRESHOLDS)
def test_half_the_step_with_every_sample_twice_changes_nothing(sample, threshold):
    doubled = gap(*(np.repeat(side, 2, axis=1) for side in sample), threshold, step_hours=0.5)
    assert doubled == pytest.approx(gap(*sample, threshold))


@LAW
@given(days(), THRESHOLDS)
def test_the_gap_by_counting_hours(sample, threshold):
    gaps = []
    for forecast, observed in zip(*(side.tolist() for side in sample), strict=True):
        both = [(f, o) for f, o in zip(forecast, observed, strict=True) if f == f and o == o]
        if both:
            gaps.append(sum(f > threshold for f, _ in both) - sum(o > threshold for _, o in both))
    assert gap(*sample, threshold) == pytest.approx(sum(gaps) / len(gaps))
    alone = hours_above_gap(*sample, threshold=threshold, dim=-1)
    np.testing.assert_array_equal(alone[~np.isnan(alone)], gaps)
