"""What a metric is called, means and can be: the card that each public function carries (R-003-14)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics.errors import MismatchedSample, Undefined
from metrics.sums import Array


@dataclass(frozen=True, slots=True)
class Metric:
    """One public metric with its meaning; `unit` is "input" where the result has the unit of what goes in."""

    function: Callable[..., Any]
    unit: str
    range: str
    symbol: str = ""

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def description(self) -> str:
        """The first sentence of the function's docstring."""
        return (self.function.__doc__ or "").strip().splitlines()[0]


def same_shape(forecast: Array, observed: Array) -> None:
    """Refuse two numpy samples that only broadcasting would bring together; labelled ones are aligned by name."""
    if hasattr(forecast, "dims") and hasattr(observed, "dims"):
        for name in set(forecast.dims) & set(observed.dims):
            sizes = forecast.sizes[name], observed.sizes[name]
            if sizes[0] != sizes[1]:
                raise MismatchedSample(
                    f"along {name!r} the forecast has {sizes[0]} points, the observations {sizes[1]}"
                )
            labels = [each.indexes[name] for each in (forecast, observed) if name in each.indexes]
            if len(labels) == 2 and not labels[0].equals(labels[1]):
                raise MismatchedSample(f"forecast and observed have different labels along {name!r}")
        return
    shapes = np.shape(forecast), np.shape(observed)
    if shapes[0] != shapes[1]:
        raise MismatchedSample(f"forecast has shape {shapes[0]}, observed {shapes[1]}; they must be the same points")


def defined(value: Array, why: str) -> Array:
    """The value; an undefined single number is an error, an undefined cell of a field is missing."""
    if np.ndim(value) == 0 and not hasattr(value, "dims") and np.isnan(value):
        raise Undefined(why)
    return value
