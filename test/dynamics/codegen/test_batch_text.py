# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Many states by vector code: every state, whatever their number, and nothing beyond them."""

import ctypes
import re

import numpy as np
import pytest

from multibody_dynamics.dynamics.codegen import Graph, Program, batch_module, cosine, sine
from multibody_dynamics.dynamics.codegen.machine_code import compile_module
from multibody_dynamics.dynamics.core import IS_COMPILED

llvm = pytest.importorskip("llvmlite.binding", reason="machine code needs Numba")

pytestmark = pytest.mark.skipif(
    not IS_COMPILED, reason="machine code needs Numba, which is optional"
)


def example():
    graph = Graph()
    x, k, y = graph.inputs("x", 3), graph.inputs("k", 2), graph.inputs("y", 1)
    graph.inputs("none", 0)
    first = [k[0] * sine(x[0]) - x[1] * y[0], 0.0, cosine(2.0 * x[2]) / (2.0 + k[1] * x[0] * x[0])]
    return Program(graph, {"first": first, "second": [-y[0]]})


@pytest.fixture(scope="module", params=[2, 4, 8])
def batch(request):
    """The machine code as a function of arrays and a range of states."""
    lanes, program = request.param, example()
    text = batch_module(program, "example", lanes, shared=["k"])
    (address,) = compile_module(f"test-batch-{lanes}", text, ["example.batch"])
    numbers = [ctypes.c_int64] * 2  # of the first state, and of the one after the last
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 6, *numbers)(address)
    return lambda arrays, first, end: call(*(a.ctypes.data for a in arrays), first, end)


def states(count):
    rng = np.random.default_rng(count)
    k = np.array([0.7, 1.3])
    inputs = rng.normal(size=(count, 3)), k, rng.normal(size=(count, 1)), np.empty((count, 0))
    return [*inputs, np.full((count, 3), np.nan), np.full((count, 1), np.nan)]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 100])
def test_any_number_of_states(batch, count):
    arrays = states(count)
    assert batch(arrays, 0, count) == 0
    x, k, y, none, first, second = arrays
    expected = example().evaluate(x=x, k=k, y=y, none=none)
    np.testing.assert_allclose(first, expected["first"], rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(second, -y)


def test_only_the_given_range_is_written(batch):
    arrays = states(50)
    whole = states(50)
    assert batch(whole, 0, 50) == 0
    assert batch(arrays, 16, 33) == 0
    for part, all_of_it in zip(arrays[4:], whole[4:], strict=True):
        assert np.isnan(part[:16]).all()
        assert np.isnan(part[33:]).all()
        np.testing.assert_array_equal(part[16:33], all_of_it[16:33])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_reported(batch, value):
    for where in (0, 5, 49):
        arrays = states(50)
        arrays[0][where, 2] = value
        assert batch(arrays, 0, 50) == 1
        assert batch(arrays, where + 1, 50) == 0
    arrays[2][3] = value
    assert batch(arrays, 0, 16) == 1
    assert batch(arrays, 0, 0) == 0


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_more_entries_than_lanes(lanes):
    graph = Graph()
    x = graph.inputs("x", 19)
    text = batch_module(Program(graph, {"y": [k * a for k, a in enumerate(x)]}), "many", lanes)
    (address,) = compile_module(f"test-entries-{lanes}", text, ["many.batch"])
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)(address)
    states = np.random.default_rng(lanes).normal(size=(11, 19))
    found = np.full((12, 19), np.nan)
    assert call(states.ctypes.data, found.ctypes.data, 0, 11) == 0
    np.testing.assert_array_equal(found[:11], np.arange(19) * states)
    assert np.isnan(found[11]).all()
    for entry in range(19):
        states[10, entry] = np.inf
        assert call(states.ctypes.data, found.ctypes.data, 0, 11) == 1
        states[10, entry] = 0.0


@pytest.mark.parametrize(("processor", "features"), [("generic", "+neon"), ("generic", "+sve")])
def test_two_lanes_are_vector_code_on_arm(processor, features):
    """Compiled for another processor, and read: products of two states in one instruction."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple("aarch64-unknown-linux-gnu")
    except RuntimeError:
        pytest.skip("this llvmlite has been built without the code generator for ARM")
    module = llvm.parse_assembly(batch_module(example(), "example", 2, shared=["k"]))
    module.verify()
    machine = target.create_target_machine(cpu=processor, features=features, opt=2, reloc="pic")
    text = machine.emit_assembly(module)
    assert re.search(r"fml[as]\s+v\d+\.2d", text)
    assert machine.emit_object(module)


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("count", [8, 9, 16, 100])
def test_states_in_columns(lanes, count):
    program = example()
    text = batch_module(program, "example", lanes, shared=["k"])
    (address,) = compile_module(f"test-columns-{lanes}", text, ["example.columns"])
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 6, *[ctypes.c_int64] * 3)(address)
    x, k, y, none, *results = states(count)
    arrays = [x.T.copy(), k, y.T.copy(), none.T.copy(), *(a.T.copy() for a in results)]
    addresses = [array.ctypes.data for array in arrays]
    assert call(*addresses, 0, count, count) == 0
    expected = program.evaluate(x=x, k=k, y=y, none=none)
    np.testing.assert_allclose(arrays[4].T, expected["first"], rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(arrays[5].T, -y)
    arrays[4][:] = np.nan
    assert call(*addresses, 0, 8, count) == 0
    assert np.isnan(arrays[4][:, 8:]).all()
    assert not np.isnan(arrays[4][:, :8]).any()
    for where in (0, count - 1):
        arrays[0][1, where] = np.inf
        assert call(*addresses, 0, count, count) != 0
        arrays[0][1, where] = 0.0
