"""KPIs at weather stations: templates generic in their variable (D-76), and the named wind KPIs as bindings of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from metrics.circular import components
from metrics.kpis.kpi import Kpi, Parameter, Points, Sample, Values, unit_mean
from metrics.sums import Array, DirectionSums, ErrorSums, ExceedanceSums, VectorSums, present, total, where

CATEGORY = "Weather Stations"


def direction_points(sample: Sample, variable: str, parameters: Values) -> Points:
    """Points with an observed direction, chosen by the observed speed alone (D-18).

    A calm has no direction. A model wind of exactly zero has none either: that is a missing forecast.
    """
    forecast, observed = sample.both(variable)
    if "wind_speed" in sample.forecast:
        forecast = where(sample.forecast["wind_speed"] == 0, float("nan"), forecast)
    if "wind_speed" in sample.observed:
        observed_speed = sample.observed["wind_speed"]
        calm = parameters.get("calm") or 0.0
        observed = where(observed_speed <= calm, float("nan"), observed)
        least = parameters.get("min_observed_speed")
        if least is not None:
            observed = where(observed_speed >= least, observed)
    elif parameters.get("min_observed_speed") is not None:
        observed = observed * float("nan")  # a speed nobody knows is not above any limit
    return Points(forecast, observed, present(observed))


def wind_points(sample: Sample, _variable: str, _parameters: Values) -> Points:
    """The wind as a vector wherever both speed and direction were observed; a calm is a vector of length zero."""
    forecast, observed = (
        components(side["wind_speed"], side["wind_direction"]) for side in (sample.forecast, sample.observed)
    )
    return Points(forecast, observed, present(observed[0] + observed[1]))


def circular_mean(angles: Array) -> Array:
    """Mean angle over the units: +170 and -170 degrees are 180 apart from north, not 0."""
    radians = np.deg2rad(angles)
    parts = [total(each, -1) for each in (present(angles), np.sin(radians), np.cos(radians))]
    return DirectionSums(parts[0], parts[0], parts[0], parts[1], parts[2]).bias()


THRESHOLD = Parameter("threshold", "variable", "counts strictly above it (U0)", required=True)
DIRECTION_FILTERS = (
    Parameter("calm", "m/s", "an observed speed up to this has no direction", default=0.0),
    Parameter("min_observed_speed", "m/s", "only where the observed speed is at least this"),
)

BIAS = Kpi(
    id="bias",
    title="Bias Average",
    category=CATEGORY,
    unit="variable",
    best=0.0,
    worst="increasing |bias|",
    sums=ErrorSums,
    value=ErrorSums.bias,
    formula="1/Ns Σk 1/Nt Σi (m_ki − o_ki)",
    description="Mean over stations of the station's mean forecast minus observed.",
    beside={"mean_absolute": lambda sums: unit_mean(abs(sums.bias()))},
)
MAE = Kpi(
    id="mae",
    title="MAE Average",
    category=CATEGORY,
    unit="variable",
    best=0.0,
    worst="increasing MAE",
    sums=ErrorSums,
    value=ErrorSums.mae,
    formula="1/Ns Σk 1/Nt Σi |m_ki − o_ki|",
    description="Mean over stations of the station's mean absolute error.",
)
RMSE = Kpi(
    id="rmse",
    title="RMSE Average",
    category=CATEGORY,
    unit="variable",
    best=0.0,
    worst="increasing RMSE",
    sums=ErrorSums,
    value=ErrorSums.rmse,
    formula="1/Ns Σk √(1/Nt Σi (m_ki − o_ki)²)",
    description="Mean over stations of the station's root mean square error.",
)
STATION_BIAS = Kpi(
    id="mean_absolute_station_bias",
    title="Mean Absolute Station Bias",
    category=CATEGORY,
    unit="variable",
    best=0.0,
    worst="increasing",
    sums=ErrorSums,
    value=lambda sums: abs(sums.bias()),
    formula="1/Ns Σk |1/Nt Σi (m_ki − o_ki)|",
    description="Mean over stations of the absolute station bias: +3 and −3 at two stations are 3, not 0.",
)
HOURS_ABOVE = Kpi(
    id="hours_above",
    title="Hours Above Threshold Average",
    category=CATEGORY,
    unit="h",
    best=0.0,
    worst="increasing |bias|",
    sums=ExceedanceSums,
    value=ExceedanceSums.gap,
    formula="1/Ns Σk Δt (#{m_ki > U0} − #{o_ki > U0})",
    description="Mean over stations of forecast minus observed hours above the threshold.",
    parameters=(THRESHOLD,),
    adds=True,
    in_hours=True,
    beside={
        "mean_absolute": lambda sums: unit_mean(abs(sums.gap())),
        "csi": lambda sums: sums.pooled().csi(),
        "frequency_bias": lambda sums: sums.pooled().frequency_bias(),
    },
)
CSI = Kpi(
    id="exceedance_csi",
    title="Exceedance Critical Success Index",
    category=CATEGORY,
    unit="1",
    best=1.0,
    worst=0.0,
    sums=ExceedanceSums,
    value=ExceedanceSums.csi,
    formula="TP / (TP + FP + FN) of m > U0 against o > U0",
    description="Share of the steps above the threshold, on either side, that both sides have.",
    parameters=(THRESHOLD,),
    aggregate="pooled",
)
FREQUENCY_BIAS = Kpi(
    id="exceedance_frequency_bias",
    title="Exceedance Frequency Bias",
    category=CATEGORY,
    unit="1",
    best=1.0,
    worst="away from 1",
    sums=ExceedanceSums,
    value=ExceedanceSums.frequency_bias,
    formula="(TP + FP) / (TP + FN) of m > U0 against o > U0",
    description="Steps forecast above the threshold per step observed above it.",
    parameters=(THRESHOLD,),
    aggregate="pooled",
)
DIRECTION_RMSE = Kpi(
    id="direction_rmse",
    title="RMSE Average",
    category=CATEGORY,
    unit="deg",
    best=0.0,
    worst="increasing RMSE",
    sums=DirectionSums,
    value=DirectionSums.rmse,
    formula="1/Ns Σk √(1/Nt Σi d_ki²), d = ((m − o + 180) mod 360) − 180",
    description="Mean over stations of the station's root mean square direction difference.",
    kind="angle",
    parameters=DIRECTION_FILTERS,
    points=direction_points,
    conditional=True,
    filter_reason="calm, or too little observed wind",
)
DIRECTION_MAE = replace(
    DIRECTION_RMSE,
    id="direction_mae",
    title="MAE Average",
    worst="increasing MAE",
    value=DirectionSums.mae,
    formula="1/Ns Σk 1/Nt Σi |d_ki|, d = ((m − o + 180) mod 360) − 180",
    description="Mean over stations of the station's mean absolute direction difference.",
)
DIRECTION_BIAS = replace(
    DIRECTION_RMSE,
    id="direction_bias",
    title="Circular Bias Average",
    worst="increasing |bias|",
    value=DirectionSums.bias,
    formula="1/Ns Σk atan2(Σi sin d_ki, Σi cos d_ki), d = ((m − o + 180) mod 360) − 180",
    description="Mean over stations of the angle of the mean direction difference, clockwise positive.",
    mean=circular_mean,
    beside={"mean_absolute": lambda sums: unit_mean(abs(sums.bias()))},
)
VECTOR_RMSE = Kpi(
    id="vector_rmse",
    title="Wind Vector RMSE Average",
    category=CATEGORY,
    unit="variable",
    best=0.0,
    worst="increasing RMSE",
    sums=VectorSums,
    value=VectorSums.rmse,
    formula="1/Ns Σk √(1/Nt Σi ((u_m − u_o)² + (v_m − v_o)²))",
    description="Mean over stations of the root mean square length of the difference of the wind vectors.",
    variable="wind_speed",
    kind="wind",
    points=wind_points,
    conditional=True,
    filter_reason="no observed direction",
)

KPIS = (
    BIAS,
    MAE,
    RMSE,
    STATION_BIAS,
    HOURS_ABOVE,
    CSI,
    FREQUENCY_BIAS,
    DIRECTION_RMSE,
    DIRECTION_MAE,
    DIRECTION_BIAS,
    VECTOR_RMSE,
    replace(BIAS, id="wind_speed_bias", title="Wind Speed Bias Average", variable="wind_speed", period="t1, t2"),
    replace(RMSE, id="wind_speed_rmse", title="24h forecast Wind Speed RMSE Average", variable="wind_speed"),
    replace(
        DIRECTION_RMSE,
        id="wind_direction_rmse",
        title="24h forecast Wind Direction RMSE Average",
        variable="wind_direction",
    ),
    replace(
        RMSE,
        id="wind_gust_rmse",
        title="24h forecast Wind Gust RMSE Average",
        variable="wind_gust",
    ),
    replace(
        HOURS_ABOVE,
        id="sustained_wind_speed",
        title="24h forecast Sustained Wind Speed Average",
        variable="wind_speed",
    ),
)
