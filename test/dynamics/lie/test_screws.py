# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Screw algebra over tuples against matrices, for every supported kind of scalar."""

import inspect
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from multibody_dynamics.dynamics.core.compilation import IS_COMPILED, compiled
from multibody_dynamics.dynamics.lie import screws

# Kinds of arguments: scalar, vector, 3x3 matrix, symmetric matrix, screw.
SIZES = {"s": (), "v": (3,), "R": (3, 3), "A": (3, 3), "X": (6,)}


def hat(a):
    zero = a[0] - a[0]
    return np.array([[zero, -a[2], a[1]], [a[2], zero, -a[0]], [-a[1], a[0], zero]])


def ad(X):
    return np.block([[hat(X[:3]), 0 * hat(X[:3])], [hat(X[3:]), hat(X[:3])]])


def about_z(s, c):
    return np.array([[c, -s, 0 * s], [s, c, 0 * s], [0 * s, 0 * s, 0 * s + 1]])


# Every function with its arguments, and the same in matrices.
ALGEBRA = {
    "add": ("vv", lambda a, b: a + b),
    "add3": ("vvv", lambda a, b, c: a + b + c),
    "subtract": ("vv", lambda a, b: a - b),
    "scale": ("sv", lambda s, a: s * a),
    "muladd": ("svv", lambda s, a, b: s * a + b),
    "dot": ("vv", lambda a, b: a @ b),
    "cross": ("vv", lambda a, b: hat(a) @ b),
    "rotate": ("Rv", lambda R, a: R @ a),
    "rotate_back": ("Rv", lambda R, a: R.T @ a),
    "transpose": ("R", lambda R: R.T),
    "matmul": ("RR", lambda A, B: A @ B),
    "rotate_about_z": ("Rss", lambda R, s, c: R @ about_z(s, c)),
    "symmetric_times": ("Av", lambda A, x: A @ x),
    "rotate_symmetric": ("RA", lambda R, A: R @ A @ R.T),
    "about_origin": ("Asv", lambda A, m, c: A - m * hat(c) @ hat(c)),
    "add_screws": ("XX", lambda X, Y: X + Y),
    "subtract_screw": ("XX", lambda X, Y: X - Y),
    "minus_screw": ("X", lambda X: -X),
    "scale_screw": ("sX", lambda s, X: s * X),
    "muladd_screw": ("sXX", lambda s, X, Y: s * X + Y),
    "ad": ("XX", lambda X, Y: ad(X) @ Y),
    "coad": ("XX", lambda X, W: -ad(X).T @ W),
    "pair": ("XX", lambda V, W: V @ W),
}
RESULTS = {
    "rotate_symmetric": "A", "about_origin": "A", "rotate": "v", "rotate_back": "v",
    "symmetric_times": "v", "dot": "s", "pair": "s",
}  # fmt: skip
MEMORY = {name for name in vars(screws) if name.startswith(("load_", "store_", "accumulate_"))}


def as_tuples(kind, array):
    if kind == "s":
        return array[()]
    if kind == "A":
        return tuple(array[np.triu_indices(3)])
    if kind == "X":
        return tuple(array[:3]), tuple(array[3:])
    return tuple(array.ravel())


def kind_of_result(name, kinds):
    return RESULTS.get(name, "X" if "X" in kinds else "R" if "R" in kinds else "v")


def draw(rng, kinds, number):
    """Arguments as arrays of whole numbers converted by `number`."""
    arrays = []
    for kind in kinds:
        values = rng.integers(-9, 10, SIZES[kind])
        values = values + values.T if kind == "A" else values
        arrays.append(np.array(np.vectorize(number, otypes=[object])(values), dtype=object))
    return arrays


def flat(value):
    return [x for part in value for x in flat(part)] if isinstance(value, tuple) else [value]


NUMBERS = {
    "integer": int,
    "fraction": lambda k: Fraction(int(k), 7),
    "float": lambda k: float(k) / 8,
    "complex": lambda k: complex(k, 3 - k) / 4,
    "mpmath": lambda k: mp.mpf(int(k)) / 16,
}


def test_every_function_is_tested():
    functions = {
        name
        for name, value in vars(screws).items()
        if inspect.isfunction(value) and value.__module__ == screws.__name__
    }
    assert functions == set(ALGEBRA) | MEMORY


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", ALGEBRA)
def test_tuples_equal_matrices_exactly(name, number):
    kinds, expected = ALGEBRA[name]
    rng = np.random.default_rng(1)
    for _ in range(5):
        arrays = draw(rng, kinds, NUMBERS[number])
        result = getattr(screws, name)(*map(as_tuples, kinds, arrays))
        wanted = np.asarray(expected(*arrays), dtype=object)
        assert flat(result) == flat(as_tuples(kind_of_result(name, kinds), wanted))


@pytest.mark.parametrize("name", ALGEBRA)
def test_arrays_as_scalars_are_a_batch(name):
    kinds, _ = ALGEBRA[name]
    rng = np.random.default_rng(2)
    draws = [
        [as_tuples(k, a.astype(float)) for k, a in zip(kinds, draw(rng, kinds, float), strict=True)]
        for _ in range(4)
    ]

    def stack(*values):
        if isinstance(values[0], tuple):
            return tuple(stack(*parts) for parts in zip(*values, strict=True))
        return np.array(values)

    function = getattr(screws, name)
    batch = function(*(stack(*arguments) for arguments in zip(*draws, strict=True)))
    for k, arguments in enumerate(draws):
        assert [x[k] for x in flat(batch)] == flat(function(*arguments))


KINDS = "ssvvvRRAXX"


def everything(s, c, a, b, d, R, B, A, X, Y):
    """Calls each function once, for the compiler."""
    return (
        screws.add(a, b), screws.add3(a, b, d), screws.subtract(a, b), screws.scale(s, a),
        screws.muladd(s, a, b), screws.dot(a, b), screws.cross(a, b), screws.rotate(R, a),
        screws.matmul(R, B), screws.rotate_about_z(R, s, c), screws.symmetric_times(A, a),
        screws.rotate_symmetric(R, A), screws.about_origin(A, s, a), screws.add_screws(X, Y),
        screws.muladd_screw(s, X, Y), screws.ad(X, Y), screws.pair(X, Y),
    )  # fmt: skip


def test_compiled_code_calls_the_same_functions():
    whole = [a.astype(float) for a in draw(np.random.default_rng(3), KINDS, float)]  # no rounding
    arguments = list(map(as_tuples, KINDS, whole))
    machine_code = compiled(everything)
    assert (machine_code is not everything) == IS_COMPILED
    assert flat(machine_code(*arguments)) == flat(everything(*arguments))


def test_rows_are_read_and_written_in_the_right_place():
    row = np.arange(60.0).reshape(3, 20)
    before = row.copy()
    assert screws.load_vector(row, 1, 4) == (24, 25, 26)
    assert screws.load_screw(row, 1, 4) == ((24, 25, 26), (27, 28, 29))
    assert screws.load_symmetric(row, 2, 0) == tuple(range(40, 46))
    assert screws.load_rotation(row, 2, 1) == tuple(range(41, 50))
    np.testing.assert_array_equal(row, before)

    screws.store_vector(row, 0, 2, (-1, -2, -3))
    screws.store_screw(row, 1, 3, ((-1, -2, -3), (-4, -5, -6)))
    screws.store_rotation(row, 2, 5, tuple(range(-9, 0)))
    sums = screws.accumulate_screw(row, 0, 10, ((1, 2, 3), (4, 5, 6)))
    screws.accumulate_symmetric(row, 1, 10, (1, 2, 3, 4, 5, 6))
    before[0, 2:5] = [-1, -2, -3]
    before[1, 3:9] = [-1, -2, -3, -4, -5, -6]
    before[2, 5:14] = range(-9, 0)
    before[:2, 10:16] += [1, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(row, before)
    assert sums == ((11, 13, 15), (17, 19, 21))


class Symbol:
    """A scalar that supports only + - *: no comparison, no function, no conversion."""

    def __init__(self, text):
        self.text = str(text)

    def __add__(self, other):
        return Symbol(f"({self.text} + {other.text})")

    def __sub__(self, other):
        return Symbol(f"({self.text} - {other.text})")

    def __mul__(self, other):
        return Symbol(f"{self.text} {other.text}")


def test_symbols_pass_through():
    a, b = (tuple(Symbol(f"{name}{k}") for k in "xyz") for name in "ab")
    assert [x.text for x in screws.cross(a, b)] == [
        "(ay bz - az by)", "(az bx - ax bz)", "(ax by - ay bx)",
    ]  # fmt: skip
    arguments = map(as_tuples, KINDS, draw(np.random.default_rng(4), KINDS, Symbol))
    assert all(isinstance(x, Symbol) for x in flat(everything(*arguments)))
