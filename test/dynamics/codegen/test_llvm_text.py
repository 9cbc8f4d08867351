# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Programs as machine code: arithmetic, sines and cosines, lanes, and large angles."""

import ctypes

import mpmath
import numpy as np
import pytest

from multibody_dynamics.dynamics.codegen import Graph, Program, cosine, llvm_text, sine
from multibody_dynamics.dynamics.codegen.llvm_text import (
    LARGEST_ANGLE,
    function_text,
    literal,
    module_text,
    table_text,
)
from multibody_dynamics.dynamics.codegen.machine_code import compile_module
from multibody_dynamics.dynamics.core import IS_COMPILED

pytestmark = pytest.mark.skipif(
    not IS_COMPILED, reason="machine code needs Numba, which is optional"
)


def function(program, name, *, lanes=1, width=1, shared=()):
    """The machine code of a program as a function of arrays."""
    text = function_text(program, name, lanes=lanes, width=width, shared=shared)
    (address,) = compile_module(
        f"test-{name}-{lanes}-{width}", module_text(text, lanes=lanes, width=width), [name]
    )
    count = len(program.inputs) + len(program.results)
    strides = [ctypes.c_int64] * 2 * (lanes > 1)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count, *strides)(address)

    def run(*arrays, strides=()):
        for array in arrays:
            assert array.dtype == float
        call(*(array.ctypes.data for array in arrays), *strides)

    return run


def trigonometry(count):
    graph = Graph()
    x = graph.inputs("x", count)
    return Program(graph, {"sine": [sine(a) for a in x], "cosine": [cosine(a) for a in x]})


def angles():
    rng = np.random.default_rng(3)
    multiples = np.arange(-64, 65) * (np.pi / 4)
    near = np.concatenate([np.nextafter(multiples, k) for k in (-np.inf, np.inf)])
    return np.concatenate([
        rng.uniform(-np.pi, np.pi, 600), rng.uniform(-100, 100, 300), rng.uniform(-1e5, 1e5, 100),
        multiples, near, [0.0, -0.0, 5e-324, 1e-300, 1e-9, LARGEST_ANGLE, -LARGEST_ANGLE],
    ])  # fmt: skip


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_sines_and_cosines_are_correct_to_one_unit_in_the_last_place(width):
    x = angles()
    size = 16
    run = function(trigonometry(size), "trigonometry", width=width)
    x = np.resize(x, (-(-len(x) // size), size))
    s, c = np.empty_like(x), np.empty_like(x)
    for rows in zip(x, s, c, strict=True):
        run(*rows)
    with mpmath.workdps(60):
        for found, exact in ((s, mpmath.sin), (c, mpmath.cos)):
            for value, angle in zip(found.ravel(), x.ravel(), strict=True):
                true = exact(mpmath.mpf(float(angle)))
                # near multiples of pi/2, pi/2 itself is known to 2^-118: below 1e-29 in all
                assert abs(value - true) <= max(np.spacing(abs(float(true))), 1e-29)


def test_signs_of_zero_are_kept():
    run = function(trigonometry(2), "zeros", width=2)
    s, c = np.empty(2), np.empty(2)
    run(np.array([0.0, -0.0]), s, c)
    assert list(np.signbit(s)) == [False, True]
    assert list(c) == [1.0, 1.0]


@pytest.mark.parametrize("width", [1, 4])
def test_huge_and_undefined_angles_are_left_to_the_library(width):
    run = function(trigonometry(5), "huge", width=width)
    x = np.array([1e22, -3e5, 0.5, np.nextafter(LARGEST_ANGLE, np.inf), 1e300])
    s, c = np.empty(5), np.empty(5)
    run(x, s, c)
    with mpmath.workdps(400):
        np.testing.assert_allclose(s, [float(mpmath.sin(float(a))) for a in x], rtol=4e-16)
        np.testing.assert_allclose(c, [float(mpmath.cos(float(a))) for a in x], rtol=4e-16)
    run(np.array([np.nan, np.inf, -np.inf, 1.0, 2.0]), s, c)
    assert list(np.isnan(s)) == list(np.isnan(c)) == [True, True, True, False, False]


def formula(count=6):
    """Sums, differences, products, quotients, constants, and results that are zero or negative."""
    graph = Graph()
    x, k = graph.inputs("x", count), graph.inputs("k", 2)
    terms = [x[i] * x[i - 1] - 0.3 * x[i - 2] for i in range(count)]
    terms.append(k[0] * sine(x[0]) + cosine(2.0 * x[1]) / (3.0 + x[2] * x[2]))
    for i in range(300):  # several blocks
        terms.append(terms[-1] * (0.5 + 1e-3 * i) - terms[-3] * k[1] * 0.1)
    return Program(graph, {"y": [-terms[-1], terms[5], 0.0, 2.5, -terms[8]], "z": [x[0]]})


def test_a_function_equals_the_evaluation():
    program = formula()
    run = function(program, "formula", width=4)
    x, k = np.random.default_rng(1).normal(size=6), np.array([0.7, -1.1])
    y, z = np.full(5, np.nan), np.full(1, np.nan)
    run(x, k, y, z)
    expected = program.evaluate(x=x, k=k)
    np.testing.assert_allclose(y, expected["y"], rtol=1e-12, atol=1e-14)
    assert z == x[0]


def nested():
    """Sines and cosines of computed angles: sums, and sines again."""
    graph = Graph()
    x = graph.inputs("x", 5)
    first = [x[k] * x[k - 1] + sine(2.0 * x[k]) for k in range(5)]
    second = [cosine(a) - 3.0 * sine(0.5 * a) for a in first]
    return Program(graph, {"y": [sine(a) * x[0] for a in second]})


@pytest.mark.parametrize(("lanes", "width"), [(1, 1), (1, 4), (1, 8), (4, 4)])
def test_sines_of_computed_angles(lanes, width):
    program = nested()
    run = function(program, "nested", lanes=lanes, width=width)
    for size in (1.0, 3e3):  # squares of the second are left to the library
        x = size * np.random.default_rng(2).normal(size=(5, lanes))
        y = np.full((5, lanes), np.nan)
        run(x, y, strides=(lanes, lanes) if lanes > 1 else ())
        expected = program.evaluate(x=x.T)["y"].T
        np.testing.assert_allclose(y, expected, rtol=0, atol=3e-9 * size)


def test_a_table_copies_a_result_only_where_its_condition_holds():
    graph = Graph()
    (x, y), (kept,) = graph.inputs("x", 2), graph.inputs("kept", 1)
    program = Program(graph, {"sum": [x + kept], "size": [x, 1.0 / y]})
    texts = (
        function_text(program, "sums"),
        table_text(program, "sums", condition="size", memory=("sum", "kept")),
    )
    module = module_text(*texts, lanes=1, width=1)
    (address,) = compile_module("test-condition", module, ["sums.table"])
    call = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(address)
    for given, is_valid in (
        ((0.5, 2.0), True), ((-1.0, -1.0), True), ((1.5, 2.0), False), ((-1.5, 2.0), False),
        ((0.5, 0.5), False), ((0.5, 0.0), False), ((np.nan, 2.0), False),
    ):  # fmt: skip
        arrays = [np.array(given), np.array([10.0]), np.empty(1), np.empty(2)]
        table = np.array([array.ctypes.data for array in arrays])
        assert call(table.ctypes.data) is is_valid
        np.testing.assert_array_equal(arrays[2], [10.0 + given[0]])
        assert arrays[1] == (arrays[2] if is_valid else 10.0)


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_lanes_are_independent_states(lanes):
    program = formula()
    run = function(program, "lanes", lanes=lanes, width=lanes, shared=["k"])
    count = lanes + 3  # more columns than lanes: the stride
    x, k = np.random.default_rng(1).normal(size=(6, count)), np.array([0.7, -1.1])
    y, z = np.full((5, lanes), np.nan), np.full((1, lanes), np.nan)
    run(x, k, y, z, strides=(count, lanes))
    expected = program.evaluate(x=x[:, :lanes].T, k=k)
    np.testing.assert_allclose(y.T, expected["y"], rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(z[0], x[0, :lanes])
    x[1, 0] = 1e7  # one large angle among the lanes
    run(x, k, y, z, strides=(count, lanes))
    expected = program.evaluate(x=x[:, :lanes].T, k=k)
    np.testing.assert_allclose(y.T, expected["y"], rtol=1e-12, atol=1e-14)


def test_a_table_holds_the_addresses_of_all_arrays():
    program = formula()
    text = function_text(program, "f")
    text = module_text(text, table_text(program, "f"), lanes=1, width=1)
    (address,) = compile_module("test-table", text, ["f.table"])
    x, k = np.random.default_rng(1).normal(size=6), np.array([0.7, -1.1])
    arrays = (x, k, np.empty(5), np.empty(1))
    table = np.array([array.ctypes.data for array in arrays])
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(table.ctypes.data)
    expected = program.evaluate(x=x, k=k)["y"]
    np.testing.assert_allclose(arrays[2], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("value", [0.1, -2.0, 5e-324, 1.7976931348623157e308])
def test_literals_are_exact(value):
    bits = int(literal(value), 16)
    assert np.array(bits, dtype=np.uint64).view(float) == value


def test_products_and_sums_are_fused_but_never_reordered():
    text = function_text(formula(), "f")
    flags = {line.split()[3] for line in text.splitlines() if " = fmul " in line}
    assert "contract" in flags
    assert not {"fast", "reassoc", "arcp", "afn", "nnan", "ninf", "nsz"} & set(text.split())
    assert llvm_text.BLOCK > 0
