"""Laws 1 to 6: normalisations, aggregation, and how scores are written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.kpis.kpi import KpiResult
from metrics.scoring.normalise import Normalisation, format_score, round_score
from metrics.scoring.scorecard import Scheme, UnitScore, aggregate, score

LAW = settings(deadline=None, derandomize=True, max_examples=100)
HALF_OPEN = ("linear", "exponential", "symmetric_linear", "symmetric_exponential")
KINDS = ("bounded", *HALF_OPEN)

SCORES = st.floats(0, 100)
PLACES = st.floats(-1000, 1000)
WIDTHS = st.floats(0.01, 1000)
BESIDE = st.floats(0, 1)  # how far between a and m
BEYOND = st.floats(0, 1000)  # in steps of m - a


def value_at(kind: str, a: float, width: float, how_far: float) -> float:
    """A KPI value that the normalisation is defined for."""
    return a + width * (min(how_far, 1.0) if kind == "bounded" else how_far)


# Law 1


@LAW
@given(kind=st.sampled_from(KINDS), a=PLACES, width=WIDTHS, how_far=BEYOND)
def test_a_score_is_within_0_and_100(kind, a, width, how_far):
    assert 0 <= Normalisation(kind, a, a + width)(value_at(kind, a, width, how_far)) <= 100


@LAW
@given(kind=st.sampled_from(KINDS), a=PLACES, width=WIDTHS, steps=st.tuples(BEYOND, BEYOND).map(sorted))
def test_a_score_never_goes_the_wrong_way(kind, a, width, steps):
    near, far = (float(Normalisation(kind, a, a + width)(value_at(kind, a, width, each))) for each in steps)
    assert (near <= far) if kind == "bounded" else (near >= far)


@LAW
@given(a=PLACES, width=WIDTHS, how_far=BEYOND)
def test_the_exponential_never_reaches_zero(a, width, how_far):
    assert Normalisation("exponential", a, a + width)(a + width * how_far) > 0


# Law 2


@LAW
@given(a=PLACES, width=WIDTHS)
def test_fixed_points(a, width):
    m = a + width
    ends = {kind: (float(Normalisation(kind, a, m)(a)), float(Normalisation(kind, a, m)(m))) for kind in KINDS}
    assert ends["bounded"] == (0, 100)
    assert ends["linear"] == ends["symmetric_linear"] == (100, 0)
    assert ends["exponential"] == ends["symmetric_exponential"] == (100, 50)


@LAW
@given(
    kind=st.sampled_from(KINDS),
    a=st.floats(-100, 100),
    width=st.floats(0.1, 100),
    inside=st.floats(0.001, 0.999),
    c=st.floats(0.01, 100),
    d=st.floats(-100, 100),
)
def test_the_unit_of_a_value_does_not_matter(kind, a, width, inside, c, d):
    value, m = a + width * inside, a + width
    assert Normalisation(kind, c * a + d, c * m + d)(c * value + d) == pytest.approx(
        float(Normalisation(kind, a, m)(value)), abs=1e-6
    )


@LAW
@given(a=st.floats(-100, 100), width=st.floats(0.1, 100), how_far=st.floats(0, 20))
def test_the_exponential_halves_with_every_step(a, width, how_far):
    normalise = Normalisation("exponential", a, a + width)
    assert normalise(a + 2 * width) == pytest.approx(normalise(a + width) / 2, rel=1e-9)
    assert normalise(a + width * (how_far + 1)) == pytest.approx(normalise(a + width * how_far) / 2, rel=1e-9)


# Law 3


@LAW
@given(kind=st.sampled_from(["linear", "exponential"]), m=WIDTHS, value=st.floats(-1e6, 1e6))
def test_symmetric_forms_do_not_see_the_sign(kind, m, value):
    symmetric = Normalisation(f"symmetric_{kind}", 0, m)
    assert symmetric(value) == symmetric(-value) == Normalisation(kind, 0, m)(abs(value))


# Law 4


@st.composite
def cases(draw, *, weights=None):
    """Unit scores by KPI, the groups that hold them, and a scheme with a weight for everything."""
    weights = st.floats(0.1, 10) if weights is None else weights
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    groups = {f"group {g}": [f"kpi {g}.{k}" for k in range(size)] for g, size in enumerate(sizes)}
    names = [name for members in groups.values() for name in members]
    units = {name: draw(SCORES) for name in names}
    scheme = Scheme("X", kpis={name: draw(weights) for name in names}, groups={name: draw(weights) for name in groups})
    return units, groups, scheme


def total_of(units, groups, scheme) -> float:
    return float(aggregate(units, groups, scheme).total)


@LAW
@given(cases())
def test_a_mean_lies_between_its_members(case):
    units, groups, scheme = case
    totals = aggregate(units, groups, scheme)
    for name, members in groups.items():
        inside = [units[each] for each in members]
        assert min(inside) - 1e-9 <= totals.groups[name] <= max(inside) + 1e-9
    assert min(totals.groups.values()) - 1e-9 <= totals.total <= max(totals.groups.values()) + 1e-9


@LAW
@given(cases(), st.floats(0.01, 100))
def test_multiplying_all_weights_changes_nothing(case, c):
    units, groups, scheme = case
    scaled = Scheme(
        "X",
        kpis={name: c * weight for name, weight in scheme.kpis.items()},
        groups={name: c * weight for name, weight in scheme.groups.items()},
    )
    assert total_of(units, groups, scaled) == pytest.approx(total_of(*case), abs=1e-9)


@LAW
@given(cases(), st.data())
def test_the_order_of_kpis_and_groups_changes_nothing(case, data):
    units, groups, scheme = case
    shuffled = {name: data.draw(st.permutations(groups[name])) for name in data.draw(st.permutations(sorted(groups)))}
    totals, reordered = aggregate(units, groups, scheme), aggregate(units, shuffled, scheme)
    assert reordered.total == pytest.approx(float(totals.total), abs=1e-9)
    assert reordered.groups == pytest.approx(totals.groups, abs=1e-9)


@LAW
@given(cases(), SCORES, st.data())
def test_a_kpi_of_no_weight_changes_nothing(case, extra, data):
    units, groups, scheme = case
    group = data.draw(st.sampled_from(sorted(groups)))
    joined = {**groups, group: [*groups[group], "extra"]}
    weightless = Scheme("X", kpis={**scheme.kpis, "extra": 0}, groups=scheme.groups)
    assert total_of({**units, "extra": extra}, joined, weightless) == pytest.approx(total_of(*case), abs=1e-9)


@LAW
@given(cases(), SCORES, st.data())
def test_raising_a_unit_score_never_lowers_the_total(case, other, data):
    units, groups, scheme = case
    name = data.draw(st.sampled_from(sorted(units)))
    raised = {**units, name: max(units[name], other)}
    assert total_of(raised, groups, scheme) >= total_of(*case) - 1e-9


@LAW
@given(cases(weights=st.sampled_from([0, 0.5, 1, 3])), SCORES)
def test_equal_unit_scores_are_the_total(case, same):
    units, groups, scheme = case
    totals = aggregate(dict.fromkeys(units, same), groups, scheme)
    found = [float(each) for each in (*totals.groups.values(), totals.total) if not np.isnan(each)]
    assert found == pytest.approx([same] * len(found), abs=1e-9)


@LAW
@given(cases(), st.data())
def test_a_missing_kpi_is_one_that_was_never_there(case, data):  # D-05
    units, groups, scheme = case
    missing = data.draw(st.sets(st.sampled_from(sorted(units))))
    totals = aggregate({name: np.nan if name in missing else each for name, each in units.items()}, groups, scheme)
    left = {name: [each for each in members if each not in missing] for name, members in groups.items()}
    left = {name: members for name, members in left.items() if members}
    if left:
        assert totals.total == pytest.approx(total_of(units, left, scheme), abs=1e-9)
    else:
        assert np.isnan(totals.total)


# Law 5


@LAW
@given(cases(), st.data())
def test_the_mean_scheme_is_the_mean_of_all_unit_scores(case, data):  # D-04
    units, groups, _ = case
    assert total_of(units, groups, Scheme("A", by_count=True)) == pytest.approx(np.mean(list(units.values())), abs=1e-9)
    missing = data.draw(st.sets(st.sampled_from(sorted(units)), max_size=len(units) - 1))
    holes = {name: np.nan if name in missing else each for name, each in units.items()}
    assert total_of(holes, groups, Scheme("A", by_count=True)) == pytest.approx(
        np.nanmean(list(holes.values())), abs=1e-9
    )


# Law 6


@LAW
@given(SCORES)
def test_rounding_twice_is_rounding_once(value):
    assert round_score(round_score(value)) == round_score(value)
    assert format_score(round_score(value)) == format_score(value)


@LAW
@given(st.floats(0.0005, 100))
def test_what_is_written_is_what_is_stored(value):
    assert float(format_score(value)) == round_score(value)
    assert abs(round_score(value) - value) <= 0.0005 * value * (1 + 1e-9)


@LAW
@given(st.floats(0.0005, 100))
def test_four_significant_digits_in_plain_notation(value):
    text = format_score(value)
    assert set(text) <= set("0123456789.")
    assert len(text.replace(".", "").lstrip("0")) == 4


@LAW
@given(SCORES, SCORES)
def test_writing_keeps_the_order(one, other):
    low, high = sorted((one, other))
    assert round_score(low) <= round_score(high)
    assert float(format_score(low)) <= float(format_score(high))


@LAW
@given(cases())
def test_a_card_has_one_row_per_score_in_order(case):
    units, groups, scheme = case
    how = Normalisation("bounded", 0, 100)
    made = score(
        case="FB001",
        model="any",
        cycle="",
        scheme=scheme,
        groups=groups,
        units={
            name: UnitScore(f"FB001-{name}", name, KpiResult(value, "1"), how, 100, 0, 1, value)
            for name, value in units.items()
        },
    )
    labels = [label for label, _ in made.rows()]
    assert len(labels) == 1 + sum(1 + len(members) for members in groups.values())
    expected = ["Total Score FB001 agg. X: any"]
    for name, members in groups.items():
        expected += [f"**Group** {name}", *members]
    assert labels == expected
