"""What several tests of the mathematics need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dask
import pytest


@contextmanager
def _nothing_is_computed() -> Iterator[None]:
    """Inside, any Dask computation is a failure: lazy means that nobody has looked yet."""

    def refuse(*_args, **_kwargs):
        raise AssertionError("computed before it was asked to")

    with dask.config.set(scheduler=refuse):
        yield


@pytest.fixture
def nothing_is_computed() -> Callable:
    return _nothing_is_computed
