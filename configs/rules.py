"""How a model is brought to the stations: in space, in time and in height."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Space:
    """From grid points to a station."""

    how: Literal["bilinear", "nearest", "inverse_distance"] = "bilinear"
    k: int = 5
    power: float = 2.0
    metric: Literal["great_circle", "planar"] = "great_circle"
    max_distance: float | None = None

    def arguments(self) -> dict[str, Any]:
        """As `locate` takes them."""
        return {
            "how": self.how,
            "k": self.k,
            "power": self.power,
            "metric": self.metric,
            "max_distance": self.max_distance,
        }

    def describe(self) -> str:
        """In words, for the card."""
        text = self.how.replace("_", " ")
        if self.how == "inverse_distance":
            text += f" of the {self.k} nearest points, power {self.power:g}, {self.metric.replace('_', ' ')} distance"
        return text + (f", at most {self.max_distance:g} m away" if self.max_distance is not None else "")


@dataclass(frozen=True, slots=True)
class MatchingRules:
    """The rules of matching that a case sets; none of them looks at a score."""

    space: Space = Space()
    tolerance: float = 0.25  # hours
    networks: Mapping[str, float] = field(default_factory=dict)  # tolerance of a network of stations, hours
    interpolate_time: bool = False
    roughness: float | None = None  # metres; None compares winds as they are
    exclude: tuple[str, ...] = ()

    def describe_time(self, step: float | None) -> str:
        """In words, for the card."""
        if self.interpolate_time:
            return "model linear in time to each report"
        text = f"nearest report within {60 * self.tolerance_of('', step):g} min"
        others = [f"{name} {60 * self.tolerance_of(name, step):g} min" for name in sorted(self.networks)]
        return text + (f" ({', '.join(others)})" if others else "")

    def tolerance_of(self, network: str, step: float | None) -> float:
        """Hours between a report and a valid time; at most half the model's step (D-73)."""
        own = self.networks.get(network, self.tolerance)
        return own if step is None else min(own, step / 2)

    def describe_height(self, model: float | None, sensors: Sequence[float]) -> str:
        """In words, for the card."""
        said = "unknown" if model is None else f"{model:g} m"
        heights = (
            f"{sensors[0]:g}" + (f" to {sensors[-1]:g}" if len(sensors) > 1 else "") + " m" if sensors else "unknown"
        )
        if self.roughness is None:
            return f"as is (model {said}, sensors {heights})"
        return f"log law with z0 {self.roughness:g} m (model {said} to sensors {heights})"
