"""Every KPI and every metric by name: plain mappings, built from the families' tuples."""

from __future__ import annotations

from collections.abc import Iterable

from metrics import circular, confusion, continuous, exceedance, severity, survival
from metrics import extraction as extraction_metrics
from metrics.errors import BadParameter
from metrics.kpis import extraction, impact, threat, weather
from metrics.kpis.kpi import Kpi
from metrics.metric import Metric


def catalogue(kpis: Iterable[Kpi]) -> dict[str, Kpi]:
    """The KPIs by id; two of the same id, or two bound ones of the same title, are refused (D-23)."""
    by_id: dict[str, Kpi] = {}
    titles: dict[tuple[str, str], str] = {}
    for kpi in kpis:
        # Generic templates take their variable's name into the title, so that only what is bound alike may clash.
        title = (kpi.title, kpi.kind if kpi.variable is None else "")
        if kpi.id in by_id:
            raise BadParameter(f"two KPIs have the id {kpi.id!r}")
        if title in titles:
            raise BadParameter(f"{kpi.id!r} and {titles[title]!r} have the same title {kpi.title!r}")
        by_id[kpi.id], titles[title] = kpi, kpi.id
    return by_id


KPIS = catalogue((*weather.KPIS, *impact.KPIS, *extraction.KPIS, *threat.KPIS))
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        *continuous.METRICS,
        *circular.METRICS,
        *exceedance.METRICS,
        *confusion.METRICS,
        *severity.METRICS,
        *extraction_metrics.METRICS,
        *survival.METRICS,
    )
}
