"""KPIs of extracted fields: macro averages over the fields of the template, and single fields on request."""

from __future__ import annotations

from collections.abc import Callable

from metrics.extraction import ExtractionSums
from metrics.kpis.kpi import Kpi
from metrics.sums import Array, where

CATEGORY = "Extraction"


def of_classified(metric: Callable[[ExtractionSums], Array]) -> Callable[[ExtractionSums], Array]:
    """The metric of each field, missing where no document was classified, so that a mean leaves the field out."""
    return lambda sums: where(sums.n > 0, metric(sums))


METRICS = (
    ("f1", "F1 Score", ExtractionSums.f1, "2PR/(P+R)", "harmonic mean of precision and recall"),
    ("precision", "Precision", ExtractionSums.precision, "TP/(TP+FP)", "share of extracted values that are right"),
    ("recall", "Recall", ExtractionSums.recall, "TP/(TP+FN)", "share of true values that were extracted"),
    ("accuracy", "Accuracy", ExtractionSums.accuracy, "(TP+TN)/(TP+FP+FN+TN)", "share of right answers"),
)

KPIS = (
    *(
        Kpi(
            id=f"macro_{name}",
            title=f"Extraction Macro {title}",
            category=CATEGORY,
            unit="1",
            best=1.0,
            worst=0.0,
            sums=ExtractionSums,
            value=of_classified(metric),
            formula=f"1/Nf Σk {formula} of field k",
            description=f"Mean over fields of the {meaning}.",
            family="extraction",
        )
        for name, title, metric, formula, meaning in METRICS
    ),
    *(
        Kpi(
            id=f"field_{name}",
            title=f"Field {title}",
            category=CATEGORY,
            unit="1",
            best=1.0,
            worst=0.0,
            sums=ExtractionSums,
            value=of_classified(metric),
            formula=f"{formula} of the field that `variable` names",
            description=f"Of one field, the {meaning}.",
            family="extraction",
            kind="field",
        )
        for name, title, metric, formula, meaning in METRICS
    ),
)
