"""Every exception that firecard raises on purpose.

FirecardError                 anything below; its message is written for the user and names the offender
├── BadValue                  a number outside what its formula is defined for (also a ValueError)
│   ├── OutOfRange            a KPI value outside the bounds of its normalisation
│   ├── BadParameter          a ≥ b, m ≤ a, a negative weight: parameters that make no sense
│   └── Undefined             a metric without a value: nothing left, zero range, no event
├── MismatchedSample          forecast and observation do not lie on the same points
├── UnknownUnit               a unit nobody knows, or one of another quantity
├── BadCase                   a case file that cannot be used: file, line and what was expected
├── BadInput                  a data file that cannot be used: file, field and what was expected
├── MissingInput              a file, a cycle or a model that is not there
├── OutputRefused             an output directory that cannot be written
├── ComputeFailed             no worker to compute on, or one that is not fit for it
└── ServerFailed              the private Prefect server did not come up
"""


class FirecardError(Exception):
    """Anything that firecard refuses on purpose."""


class BadValue(FirecardError, ValueError):
    """A number outside what its formula is defined for."""


class OutOfRange(BadValue):
    """A KPI value outside the bounds of its normalisation."""


class BadParameter(BadValue):
    """Parameters that make no sense together."""


class Undefined(BadValue):
    """A metric that has no value on this sample."""


class MismatchedSample(FirecardError):
    """Forecast and observation do not lie on the same points."""


class UnknownUnit(FirecardError):
    """A unit nobody knows, or one of another quantity."""


class BadCase(FirecardError):
    """A case file that cannot be used."""


class BadInput(FirecardError):
    """A data file that cannot be used."""


class MissingInput(FirecardError):
    """A file, a cycle or a model that is not there."""


class OutputRefused(FirecardError):
    """An output directory that cannot be written."""


class ComputeFailed(FirecardError):
    """There is no worker to compute on, or one that is not fit for it."""


class ServerFailed(FirecardError):
    """The private Prefect server did not come up."""
