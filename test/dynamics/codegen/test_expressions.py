# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recorded expressions: what vanishes, what is shared, and the values."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics.dynamics.codegen import Expression, Graph, Operation, Program, cosine, sine
from rejections import assert_rejected


def inputs(count=3):
    graph = Graph()
    return graph, graph.inputs("x", count)


def size(graph, *results):
    return Program(graph, {"y": results}).size


def test_zeros_ones_and_signs_are_no_operations():
    graph, (x, y, _) = inputs()
    for same in (x + 0.0, 0 + x, x - 0.0, 1 * x, x * 1.0, x / 1, 0.0 - (-x), -1 * (x * -1.0), +x):
        assert same == x
    for zero in (0.0 * x, x * 0, x - x, -x + x, 0.0 / x):
        assert not isinstance(zero, Expression)
        assert zero == 0.0
    negative = -x
    assert -negative == x
    assert x / x == 1.0
    assert x / -x == -1.0
    assert -x == -1.0 * x == x / -1.0 == 0.0 - x
    assert (-x) * (-y) == x * y
    assert (-x) * y == -(x * y)
    assert -x - y == -(x + y)
    assert y - x == -(x - y)
    assert size(graph, -x, x + y, -x - y) == 1


def test_equal_terms_are_computed_once_and_dead_ones_never():
    graph, (x, y, z) = inputs()
    assert x * y + z == z + y * x
    unused = (x + z) * z
    assert unused is not None
    assert size(graph, x * y + z, z + y * x, (x * y) * 2.0) == 3


def test_constants_are_folded():
    graph, (x, _, _) = inputs()
    assert 2.0 * (3.0 * x) == 6.0 * x == (x * -3) * -2.0
    assert 0.5 * (2.0 * x) == x
    assert x + x == 2.0 * x
    assert -x - x == -2 * x
    assert size(graph, 2.0 * (3.0 * (4.0 * x))) == 1


def test_numpy_scalars_and_arrays_mix_with_expressions():
    _, (x, y, _) = inputs()
    assert np.float64(2.0) * x == x * np.float64(2.0) == 2.0 * x
    assert np.float64(1.0) + x == x + 1.0
    row = np.array([x, 0.0, y], dtype=object)
    assert list(2.0 * row) == [2.0 * x, 0.0, 2.0 * y]


def test_sines_and_cosines():
    _, (x, y, _) = inputs()
    assert sine(x - y) == -sine(y - x)
    assert cosine(sine(-x)) == cosine(sine(x))
    assert sine(-x) == -sine(x)
    assert cosine(-x) == cosine(x)
    assert (sine(0.5), cosine(0.5)) == (math.sin(0.5), math.cos(0.5))


def test_wrong_uses_are_errors():
    graph, (x, _, _) = inputs()
    _, (other, _, _) = inputs()
    assert_rejected(
        (lambda: graph.inputs("x", 1), "already has inputs 'x'"),
        (lambda: x * math.nan, "finite numbers only"),
        (lambda: x * math.inf, "finite numbers only"),
        (lambda: x + other, "another graph"),
    )
    assert_rejected(
        (lambda: bool(x), "not known while it is recorded"),
        *[(lambda bad=bad: x * bad, "") for bad in ("1", 1j, None)],
        error=TypeError,
    )
    assert_rejected((lambda: x / 0, ""), error=ZeroDivisionError)


def test_pause_is_called_while_expressions_are_recorded():
    calls = []
    graph = Graph(lambda: calls.append(1))
    (x,) = graph.inputs("x", 1)
    for k in range(1000):
        x = x * x + (k + 1.0)
    assert len(calls) > 20


NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 2.0, -0.5, 3.0])


@st.composite
def formulas(draw):
    """A function of three scalars, as a list of steps on a growing list of values."""
    kind = st.sampled_from("+-*/n")
    place = st.integers(0, 10**6)
    return draw(st.lists(st.tuples(kind, place, place, NUMBERS), min_size=1, max_size=30))


def run(steps, values):
    values = list(values)
    for kind, i, j, number in steps:
        a, b = values[i % len(values)], values[j % len(values)]
        match kind:
            case "+":
                values.append(a + b * number)
            case "-":
                values.append(number - a - b)
            case "*":
                values.append(a * b)
            case "/":
                values.append(a / (2.0 if number == 0.0 else number))
            case _:
                values.append(-a)
    return values


@settings(max_examples=200, deadline=None, derandomize=True)
@given(formulas())
def test_recorded_formulas_have_the_values_of_the_formulas(steps):
    graph, x = inputs()
    recorded = Program(graph, {"y": run(steps, x)})
    given_values = np.array([0.75, -1.5, 0.375])
    expected = np.array(run(steps, given_values.tolist()))
    found = recorded.evaluate(x=given_values)["y"]
    usable = np.abs(expected) < 1e100
    # Sums may cancel: the error is one of the largest intermediate value.
    largest = max(1.0, *np.abs(expected[usable]))
    assert np.abs(found - expected)[usable].max() <= 1e-12 * largest
    assert Operation.SINE not in recorded.counts()
