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
            "type": "binding" if kpi.variable else "template",
            "variable": kpi.variable or f"any {kpi.kind}",
            "unit": kpi.unit,
            "best": kpi.best,
            "worst": kpi.worst,
            "aggregate": kpi.aggregate,
            "period": kpi.period,
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
        unit = {"variable": "the variable's unit", "1": "no unit"}.get(row["unit"], row["unit"])
        lines += [
            row["id"],
            f"  {row['title']}  ({row['category']})",
            f"  {row['description']}",
            f"  formula     {row['formula']}",
            f"  variable    {row['variable']}",
            f"  unit        {unit}; best {row['best']:g}, worst {row['worst']}; {row['aggregate']}",
            f"  parameters  {'; '.join([PERIODS[row['period']], *map(_parameter, row['parameters'])])}",
            "",
        ]
    lines.append("A template takes `variable:` from the case. Every KPI can be `aggregate: stations` or `pooled`.")
    return "\n".join(lines)


def _parameter(parameter: dict[str, Any]) -> str:
    unit = "" if parameter["unit"] == "variable" else f" [{parameter['unit']}]"
    need = (
        "required"
        if parameter["required"]
        else f"default {parameter['default'] if parameter['default'] is not None else 'none'}"
    )
    return f"{parameter['name']}{unit}: {parameter['meaning']} ({need})"
