"""What a reader has to tell of a file besides its reports: how much of it was what, and what could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

NOTES = "notes"
"""Where a reader leaves its notes: `frame.attrs[NOTES]`."""


@dataclass(frozen=True, slots=True)
class Notes:
    """How many there were of what, with examples where there are some, and plain sentences. Notes of two files add.

    >>> one = Notes({"reports": 2, "groups that cannot be read": 2}, {"groups that cannot be read": ("28/KT", "?")})
    >>> (one + Notes({"reports": 1200})).in_words()
    ('1,202 reports', "2 groups that cannot be read (such as '28/KT', '?')")
    """

    counts: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()

    def __add__(self, other: Notes) -> Notes:
        names = dict.fromkeys((*self.counts, *other.counts))
        return Notes(
            {name: self.counts.get(name, 0) + other.counts.get(name, 0) for name in names},
            {**other.examples, **self.examples},
            tuple(dict.fromkeys((*self.sentences, *other.sentences))),
        )

    def in_words(self) -> tuple[str, ...]:
        """A phrase each; what there was none of is not spoken of."""
        counted = [f"{count:,} {what}{self._example(what)}" for what, count in self.counts.items() if count]
        return (*counted, *self.sentences)

    def _example(self, what: str) -> str:
        return f" (such as {', '.join(map(repr, self.examples[what]))})" if what in self.examples else ""
