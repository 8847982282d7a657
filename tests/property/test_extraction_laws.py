"""Laws 13 to 15: what never changes a classification, a winner or a rank."""

from __future__ import annotations

from datetime import date

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.extraction import KINDS, ExtractionSums, extraction_counts, overall
from metrics.scoring.ranking import contest, rank

LAW = settings(derandomize=True, deadline=None, max_examples=60)

VALUES = ("nda", "Lease", "2024-01-02", "2023-12-31", "12.5", "", "Not Present")
value = st.sampled_from(VALUES)
answer = st.sampled_from((*VALUES, "pending", "error"))
FIELDS = ("type", "date", "party")


@st.composite
def tables(draw, models=("a", "b", "c")):
    """A ground truth and the answers of models, documents by fields."""
    documents = draw(st.integers(1, 6))

    def table(of):
        return [[draw(of) for _ in FIELDS] for _ in range(documents)]

    return table(value), {model: table(answer) for model in models}


def counts(truth, prediction) -> ExtractionSums:
    """The counts of every field."""
    each = [
        extraction_counts(list(given), list(right))
        for given, right in zip(zip(*prediction, strict=True), zip(*truth, strict=True), strict=True)
    ]
    return ExtractionSums(*(np.array([getattr(field, name) for field in each]) for name in ExtractionSums.names()))


def ranked(truth, predictions, fields=FIELDS):
    counted = {model: counts(truth, table) for model, table in predictions.items()}
    marks = {
        model: tuple(overall(each)[name] for name in ("f1", "precision", "recall")) for model, each in counted.items()
    }
    contests = [
        contest(
            field,
            {
                model: tuple(each.metrics()[name][index] for name in ("f1", "precision", "recall"))
                for model, each in counted.items()
            },
        )
        for index, field in enumerate(fields)
    ]
    return rank(marks, contests, ("f1", "precision", "recall"))


def shown(ranking):
    places = [
        (place.rank, place.model, tuple(np.round(place.marks, 12)), round(place.wins, 12)) for place in ranking.places
    ]
    return places, sorted((each.name, each.outcome, each.winners) for each in ranking.contests)


@LAW
@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_documents_fields_and_models_does_not_matter(tables, random):  # law 13
    truth, predictions = tables
    documents, columns, models = list(range(len(truth))), list(range(len(FIELDS))), list(predictions)
    for each in (documents, columns, models):
        random.shuffle(each)

    def turned(table):
        return [[table[document][column] for column in columns] for document in documents]

    other = ranked(
        turned(truth), {model: turned(predictions[model]) for model in models}, [FIELDS[each] for each in columns]
    )
    assert shown(other) == shown(ranked(truth, predictions))


@LAW
@given(tables())
def test_renaming_in_order_keeps_the_ranks(tables):  # law 13
    truth, predictions = tables
    names = {"a": "Amber", "b": "basalt", "c": "Coral"}
    renamed = ranked(truth, {names[model]: table for model, table in predictions.items()})
    assert [place.model for place in renamed.places] == [
        names[each.model] for each in ranked(truth, predictions).places
    ]


@LAW
@given(tables())
def test_every_answer_is_counted(tables):  # law 13
    truth, predictions = tables
    for table in predictions.values():
        each = counts(truth, table)
        assert (each.tp + each.fp + each.fn + each.tn == len(truth) + each.wrong - each.excluded).all()
        assert (each.n + each.excluded == len(truth)).all()


@LAW
@given(tables(), st.sampled_from(["pending", "error", " Pending "]))
def test_unfinished_documents_change_nothing(tables, state):  # law 13
    truth, predictions = tables
    more = [
        [*truth, ["nda"] * len(FIELDS)],
        {name: [*table, [state] * len(FIELDS)] for name, table in predictions.items()},
    ]
    assert shown(ranked(*more)) == shown(ranked(truth, predictions))


@LAW
@given(tables())
def test_wins_add_up_to_the_fields_that_somebody_won(tables):  # law 14
    ranking = ranked(*tables)
    decided = sum(each.outcome != "tie" for each in ranking.contests)
    assert abs(sum(place.wins for place in ranking.places) - decided) < 1e-9


@LAW
@given(tables())
def test_a_copy_of_a_model_is_no_sole_winner(tables):  # law 14
    truth, predictions = tables
    twins = ranked(truth, {**predictions, "twin": predictions["a"]})
    for each in twins.contests:
        assert not (each.outcome == "sole" and set(each.winners) & {"a", "twin"})


@LAW
@given(tables(), st.data())
def test_a_wrong_answer_made_right_never_lowers_the_f1(tables, data):  # law 14
    truth, predictions = tables
    table = predictions["a"]
    document, field = data.draw(st.integers(0, len(truth) - 1)), data.draw(st.integers(0, len(FIELDS) - 1))
    if table[document][field] in ("pending", "error"):
        return
    mended = [list(row) for row in table]
    mended[document][field] = truth[document][field]
    assert counts(truth, mended).f1()[field] >= counts(truth, table).f1()[field] - 1e-12


@LAW
@given(tables())
def test_averages_lie_between_the_fields(tables):  # law 15
    truth, predictions = tables
    for table in predictions.values():
        each = counts(truth, table)
        for name, average in overall(each).items():
            own = each.metrics()[name][each.n > 0]
            assert own.min(initial=1.0) - 1e-12 <= average <= own.max(initial=0.0) + 1e-12 or not own.size


@LAW
@given(tables(), st.randoms(use_true_random=False))
def test_spelling_changes_nothing(tables, random):  # law 15
    truth, predictions = tables

    def respelt(text):
        if text[:4].isdigit():
            day = date.fromisoformat(text)
            return random.choice([f"{day:%B} {day.day}, {day.year}", f"{day.day} {day:%b} {day.year}", f" {text}"])
        return random.choice([text.upper(), text.lower(), f"  {text}\t", text.replace(" ", "  ")])

    other = {model: [[respelt(each) for each in row] for row in table] for model, table in predictions.items()}
    assert shown(ranked(truth, other)) == shown(ranked(truth, predictions))


@LAW
@given(tables())
def test_ranks_are_one_to_n(tables):  # law 15
    assert [place.rank for place in ranked(*tables).places] == [1, 2, 3]


@LAW
@given(st.lists(st.lists(st.integers(0, 5), min_size=len(KINDS), max_size=len(KINDS)), min_size=1, max_size=4))
def test_counts_add_over_blocks_of_documents(blocks):
    parts = [ExtractionSums.of_counts(np.array(each)) for each in blocks]
    whole = ExtractionSums.of_counts(np.array(blocks).sum(axis=0))
    added = parts[0]
    for each in parts[1:]:
        added = added + each
    assert added.arrays() == whole.arrays()
