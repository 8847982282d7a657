"""The catalogue: every KPI once, none under another's name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from metrics.errors import BadParameter
from metrics.kpis.catalogue import KPIS, catalogue
from metrics.variables import VARIABLES

RMSE = KPIS["wind_speed_rmse"]


def test_ids_are_the_keys():
    assert all(name == kpi.id for name, kpi in KPIS.items())


def test_titles_of_bound_kpis_are_unique():  # D-23: the title names the result, a duplicate would overwrite it
    titles = [kpi.title for kpi in KPIS.values() if kpi.variable is not None]
    assert len(titles) == len(set(titles))


def test_the_sustained_kpi_does_not_repeat_the_gusts_name():  # D-23
    assert KPIS["sustained_wind_speed"].title == "24h forecast Sustained Wind Speed Average"
    assert KPIS["wind_gust_rmse"].title == "24h forecast Wind Gust RMSE Average"


def test_no_binding_of_a_template_takes_another_kpis_title():  # D-23, with every variable that is known
    titles = [kpi.title for kpi in KPIS.values() if kpi.variable is not None]
    titles += [
        f"{variable.title} {kpi.title}"
        for kpi in KPIS.values()
        if kpi.variable is None
        for variable in VARIABLES.values()
        if variable.kind == kpi.kind
    ]
    # A named KPI may say again what its template says of the same variable; two templates may not.
    assert len(titles) - len(set(titles)) <= sum(kpi.variable is not None for kpi in KPIS.values())
    templates = titles[sum(kpi.variable is not None for kpi in KPIS.values()) :]
    assert len(templates) == len(set(templates))


TWICE = [
    pytest.param(replace(RMSE, title="Another"), "'wind_speed_rmse'", id="the same id"),
    pytest.param(replace(RMSE, id="another"), "24h forecast Wind Speed RMSE Average", id="the same title"),
]


@pytest.mark.parametrize(("second", "message"), TWICE)
def test_duplicates_are_refused(second, message):
    with pytest.raises(BadParameter, match=message):
        catalogue((RMSE, second))


def test_two_templates_of_one_kind_and_title_are_refused():
    with pytest.raises(BadParameter, match="RMSE Average"):
        catalogue((KPIS["rmse"], replace(KPIS["rmse"], id="again")))


def test_every_promised_kpi_is_there():
    assert set(KPIS) >= {
        *("bias", "mae", "rmse", "mean_absolute_station_bias"),
        *("hours_above", "exceedance_csi", "exceedance_frequency_bias"),
        *("direction_rmse", "direction_mae", "direction_bias", "vector_rmse"),
        *("wind_speed_bias", "wind_speed_rmse", "wind_direction_rmse", "wind_gust_rmse", "sustained_wind_speed"),
    }


@pytest.mark.parametrize("kpi", KPIS.values(), ids=KPIS)
def test_every_kpi_says_what_it_is(kpi):
    assert kpi.title
    assert kpi.category
    assert kpi.unit
    assert kpi.formula
    assert kpi.description.endswith(".")
    assert kpi.worst != kpi.best
    assert callable(kpi.value)
    assert kpi.variable is None or kpi.variable in VARIABLES


def test_parameters():
    assert [each.name for each in KPIS["sustained_wind_speed"].parameters] == ["threshold"]
    assert KPIS["sustained_wind_speed"].parameters[0].required
    defaults = {each.name: (each.default, each.required) for each in KPIS["wind_direction_rmse"].parameters}
    assert defaults == {"calm": (0.0, False), "min_observed_speed": (None, False)}  # D-18
    assert KPIS["wind_speed_rmse"].parameters == ()


def test_hours_need_a_uniform_step():  # D-82
    assert {name for name, kpi in KPIS.items() if kpi.in_hours} == {"hours_above", "sustained_wind_speed"}


@pytest.mark.parametrize("variable", VARIABLES.values(), ids=VARIABLES)
def test_variables(variable):
    assert variable.title
    assert variable.lowest < variable.highest
    assert variable.difference_unit == ("K" if variable.unit == "degC" else variable.unit)
