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
        for name in (each for each in forecast.dims if each in observed.dims):
            if forecast.sizes[name] != observed.sizes[name]:
                raise MismatchedSample(
                    f"forecast has shape {forecast.shape}, observed {observed.shape}; they differ along {name!r}"
                )
            labels = [each.indexes[name] for each in (forecast, observed) if name in each.indexes]
            if len(labels) == 2 and not labels[0].equals(labels[1]):
                raise MismatchedSample(f"forecast and observed have different labels along {name!r}")
        return
    shapes = np.shape(forecast), np.shape(observed)
    if shapes[0] != shapes[1]:
        raise MismatchedSample(f"forecast has shape {shapes[0]}, observed {shapes[1]}; they must be the same points")


def defined(value: Array, why: str) -> Array:
    """The value; an undefined single number is an error, an undefined cell of a field is missing.

    What is lazy is not looked at, so that there an undefined number is missing as well.
    """
    if np.ndim(value) == 0 and getattr(value, "chunks", None) is None and np.isnan(value):
        raise Undefined(why)
    return value
