# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Records: their fields, records of zeros, intervals."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest

from multibody_dynamics.dynamics.core import record_fields
from multibody_dynamics.dynamics.core.inputs import Array
from multibody_dynamics.dynamics.core.record_fields import Field, Integers, Interval
from rejections import assert_rejected


class Inner(NamedTuple):
    """One."""

    mode: Annotated[Integers, Field("which")]
    row: Annotated[Array, Field("rad", ("n",))]


class Outer(NamedTuple):
    """Another."""

    inner: Annotated[Inner, Field("its part")]
    time: Annotated[Array, Field("s")]
    table: Annotated[Array, Field("N m", (2, "n + m"))]
    cycles: Annotated[Integers, Field("all", counts=True)]


class Settings(NamedTuple):
    """Constants."""

    period: Annotated[float, Field("s", within="(0, inf)")]
    timeout: Annotated[float, Field("s", within="(period, inf]")]
    order: Annotated[int, Field("of a filter", within="[2, 4]")]
    gains: Annotated[Array, Field("of both", (2, "m"), ("(0, inf)", "(-inf, inf)"))]
    lower: Annotated[Array, Field("rad", ("n",), "[-inf, upper]")]
    upper: Annotated[Array, Field("rad", ("n",))]


GOOD = Settings(1e-3, np.inf, 3, np.array([[1.0], [-2.0]]), np.array([-np.inf, 0.0]), np.zeros(2))


def test_a_record_of_zeros_has_an_array_for_each_number():
    found = record_fields.zeros(Outer, n=3, m=2)
    assert found.inner.mode.dtype == np.int64
    assert found.inner.mode.shape == found.time.shape == (1,)
    assert (found.inner.row.shape, found.table.shape) == ((3,), (2, 5))
    assert not any(part.any() for part in (*found.inner, *found[1:]))
    kinds = [each.kind for each in record_fields.declared_fields(Outer)]
    assert kinds == [Inner, "double", "double", "unsigned long"]


def test_an_undeclared_field_is_refused():
    class Wrong(NamedTuple):
        time: float

    assert_rejected((lambda: record_fields.declared_fields(Wrong), "Wrong.time has no Field"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(0, inf]", Interval(0.0, np.inf, False, True)),
        ("[0, period)", Interval(0.0, "period", True, False)),
    ],
)
def test_the_text_of_an_interval(text, found):
    assert record_fields.interval(text) == found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("period", 0.0), ("period", np.inf), ("period", np.nan), ("timeout", 1e-3), ("order", 5),
        ("gains", np.array([[0.0], [1.0]])), ("gains", np.array([[1.0], [np.inf]])),
        ("lower", np.array([0.0, 1e-9])), ("lower", np.array([np.nan, 0.0])),
    ],
)  # fmt: skip
def test_values_outside_their_intervals_are_found(name, value):
    assert record_fields.outside(GOOD) == ""
    assert record_fields.outside(GOOD._replace(**{name: value})) == name
