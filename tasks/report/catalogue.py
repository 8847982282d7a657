"""The catalogue of KPIs in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from metrics.kpis.kpi import Kpi

PERIODS = {"ts": "ts (start of the window)", "t1, t2": "t1, t2 (the window)"}


def catalogue_rows(kpis: Iterable[Kpi]) -> list[dict[str, Any]]:
    """Every KPI as plain data."""
    return [
        {
            "id": kpi.id,
            "title": kpi.title,
            "category": kpi.category,
            "family": kpi.family,
            "type": "template" if kpi.family == "weather" or kpi.parameters else "instance",
            "variable": (kpi.variable or f"any {kpi.kind}") if kpi.family == "weather" else None,
            "unit": kpi.unit,
            "best": kpi.best,
            "worst": kpi.worst,
            "aggregate": kpi.aggregate,
            "period": kpi.period if kpi.family == "weather" else None,
            "parameters": [
                {
                    "name": each.name,
                    "unit": each.unit,
                    "meaning": each.meaning,
                    "default": each.default,
                    "required": each.required,
                }
                for each in kpi.parameters
            ],
            "formula": kpi.formula,
            "description": kpi.description,
        }
        for kpi in kpis
    ]


def catalogue_text(kpis: Iterable[Kpi]) -> str:
    """Every KPI in a few lines."""
    lines = []
    for row in catalogue_rows(kpis):
        period = [PERIODS[row["period"]]] if row["period"] else []
        parameters = [*period, *map(_parameter, row["parameters"])]
        unit = {"variable": "the variable's unit", "1": "no unit"}.get(row["unit"], row["unit"])
        lines += [
            row["id"],
            f"  {row['title']}  ({row['category']})",
            f"  {row['description']}",
            f"  formula     {row['formula']}",
            *([f"  variable    {row['variable']}"] if row["variable"] else []),
            f"  unit        {unit}; best {row['best']:g}, worst {row['worst']}",
            f"  parameters  {'; '.join(parameters) or 'none'}",
            "",
        ]
    lines.append(
        "At weather stations a template takes `variable:` from the case, and every KPI can be `aggregate: pooled`."
    )
    return "\n".join(lines)


def _parameter(parameter: dict[str, Any]) -> str:
    unit = "" if parameter["unit"] == "variable" else f" [{parameter['unit']}]"
    need = (
        "required"
        if parameter["required"]
        else f"default {parameter['default'] if parameter['default'] is not None else 'none'}"
    )
    return f"{parameter['name']}{unit}: {parameter['meaning']} ({need})"
