# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Vector code for many states equals the function for one, on any number of threads."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.codegen import batch_kernel
from multibody_dynamics.dynamics.rigid import batch_inverse_dynamics
from multibody_dynamics.dynamics.rigid.batch_inverse_dynamics import BatchInverseDynamics
from multibody_dynamics.dynamics.rigid.tracing import MOST_JOINTS
from reference import error
from rejections import assert_rejected
from robots import panda, random_tree

ROWS = ("q", "qd", "qdd", "qddd", "qdddd")
MODELS = {
    "panda": panda,
    "off-axis tree": lambda: random_tree(6, 3).with_reflected_inertia(np.full(6, 0.2)),
    "prismatic": lambda: random_tree(3, 5, kinds=("prismatic",)),
    "one joint": lambda: random_tree(1, 8),
}


def states(model, *shape):
    return np.random.default_rng(4).uniform(-3, 3, (5, *shape, model.n))


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_batches_equal_the_function(name, order):
    model = MODELS[name]()
    evaluate = BatchInverseDynamics(model, order)
    for shape in ((), (1,), (13,), (2, 9), (0,)):
        rows = states(model, *shape)[: order + 3]
        found, expected = evaluate(*rows), dyn.inverse_dynamics(model, *rows)
        for k in range(order + 1):
            assert found[k].shape == (*shape, model.n)
            assert not found[k].size or error(found[k], expected[k]) < 1e-12
        assert found[order + 1 :] == (None,) * (2 - order)


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(batch_kernel, "CHUNK", 64)
    model = random_tree(3, 9, kinds=("revolute",))
    evaluate, rows = BatchInverseDynamics(model), states(model, 1000)
    rows[0, 17, 0] = 1e6  # beyond the range of the polynomials
    one = np.array(evaluate(*rows, threads=1))
    for threads in (2, 3, 16, None):
        np.testing.assert_array_equal(evaluate(*rows, threads=threads), one)
    assert error(one, np.array(dyn.inverse_dynamics(model, *rows))) < 1e-12
    columns = [np.ascontiguousarray(row.T) for row in rows]
    for threads in (1, 2, 3, 16, None):
        found = evaluate.columns(*columns, threads=threads)
        np.testing.assert_array_equal(np.swapaxes(found, 1, 2)[:, :992], one[:, :992])
        assert error(np.swapaxes(found, 1, 2), one) < 1e-14


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100])
def test_states_in_columns(order, count):
    model = random_tree(4, 3)
    evaluate, rows = BatchInverseDynamics(model, order), states(model, count)[: order + 3]
    columns = [np.ascontiguousarray(row.T) for row in rows]
    out = np.full((order + 1, 4, count), np.nan)
    for found in (evaluate.columns(*columns), evaluate.columns(*columns, out=out)):
        expected = evaluate(*rows)
        for k in range(order + 1):
            assert found[k].shape == (4, count)
            assert not count or error(found[k].T, expected[k]) < 1e-14
    grid = [row.reshape(4, count, 1) for row in columns]
    assert evaluate.columns(*grid).tau.shape == (4, count, 1)


def test_columns_are_checked():
    model = random_tree(3, 9)
    evaluate = BatchInverseDynamics(model, 0)
    columns = list(np.ones((3, 3, 20)))
    wild, buffer = np.ones((3, 3, 20)), np.ones((4, 3, 20))
    wild[1, 2, 19] = np.inf
    assert_rejected(
        (lambda: evaluate.columns(columns[0], columns[1].T, columns[2]), "qd: (3, ...), (20, 3)"),
        (lambda: evaluate.columns(*columns[:2]), "missing"),
        (lambda: evaluate.columns(*columns, columns[0]), "surplus"),
        (lambda: evaluate.columns(*columns, *columns), "at most"),
        (lambda: evaluate.columns(*wild), "qd["),
        (lambda: evaluate.columns(*buffer[:3], out=buffer[2:3]), "does not overlap"),
    )
    whole = np.arange(60.0).reshape(20, 3).T  # not contiguous
    np.testing.assert_array_equal(
        evaluate.columns(whole, whole[:, :1], whole).tau,
        evaluate(whole.T, whole[:, 0], whole.T).tau.T,
    )


def test_unusual_arrays_are_converted():
    model = random_tree(3, 9)
    evaluate = BatchInverseDynamics(model)
    rows = np.random.default_rng(1).integers(-2, 3, (5, 6, 3))
    expected = np.array(evaluate(*rows.astype(float)))
    variants = (
        rows, rows.tolist(), rows.astype(np.float32), rows.astype(">f8"),
        np.asfortranarray(rows.astype(float)), np.repeat(rows.astype(float), 2, axis=1)[:, ::2],
    )  # fmt: skip
    for variant in variants:
        np.testing.assert_array_equal(evaluate(*variant), expected)
    whole = rows.astype(float)
    broadcast = evaluate(whole[0], *whole[1:, 0])
    repeated = evaluate(whole[0], *np.repeat(whole[1:, :1], 6, axis=1))
    np.testing.assert_array_equal(broadcast, repeated)


def test_results_are_written_to_the_given_array():
    model = random_tree(3, 9)
    evaluate, rows = BatchInverseDynamics(model, 1), states(model, 20)[:4]
    expected = np.array(evaluate(*rows)[:2])
    out = np.full((2, 20, 3), np.nan)
    found = evaluate(*rows, out=out)
    assert np.shares_memory(found.tau_dot, out)
    np.testing.assert_array_equal(out, expected)
    fixed = np.zeros((2, 20, 3))
    fixed.flags.writeable = False
    short, single, backward = out[:1], out.astype(np.float32), out[:, ::-1]
    for bad in (short, single, backward, out.tolist(), np.zeros((2, 21, 3)), fixed):
        with pytest.raises(dyn.InputError, match=r"out: expected .* \(2, 20, 3\)"):
            evaluate(*rows, out=bad)


def test_wrong_arguments_are_named():
    model = random_tree(3, 9)
    evaluate, rows = BatchInverseDynamics(model, 1), list(states(model, 20)[:4])
    for k, value in ((0, np.nan), (2, np.inf)):
        wrong = [row.copy() for row in rows]
        wrong[k][7, 1] = value
        with pytest.raises(dyn.InputError, match=f"^{ROWS[k]}\\b"):
            evaluate(*wrong)
    for k in range(4):
        with pytest.raises(dyn.InputError, match=f"^{ROWS[k]}\\b"):
            evaluate(*rows[:k], rows[k][:, :2], *rows[k + 1 :])
    assert_rejected(
        (lambda: evaluate(rows[0][:3], *rows[1:]), "broadcast"),
        (lambda: evaluate(*rows[:3]), "qddd: order 1 takes ; qddd is missing"),
        (lambda: evaluate(*rows, rows[0]), "qdddd is surplus"),
        (lambda: evaluate(*rows, threads=0), "threads: expected at least 1, got 0"),
        (lambda: evaluate(*rows, threads=np.nan), "threads: expected at least 1, got nan"),
        (lambda: evaluate(*rows, threads="2"), "threads: expected at least 1, got '2'"),
        (lambda: evaluate(np.ma.masked_less(rows[0], 0.0), *rows[1:]), "q: some numbers are mask"),
        (lambda: BatchInverseDynamics(model, 3), "order: expected 0, 1 or 2, got 3"),
    )


def test_a_payload_needs_no_new_code(monkeypatch):
    model = random_tree(4, 5)
    BatchInverseDynamics(model)
    heavy = model.with_payload("body4", 2.0, (0.1, 0.2, 0.3), np.eye(3)).with_gravity((1, -2, 3))

    def never(*_, **__):
        raise AssertionError("traced again")

    monkeypatch.setattr(batch_inverse_dynamics, "trace_inverse_dynamics", never)
    evaluate, rows = BatchInverseDynamics(heavy), states(model, 20)
    expected, columns = dyn.inverse_dynamics(heavy, *rows), np.moveaxis(rows, -1, 1)
    for found, turned, wanted in zip(
        evaluate(*rows), evaluate.columns(*columns), expected, strict=True
    ):
        assert error(found, wanted) < 1e-12
        assert error(turned.T, wanted) < 1e-12


def test_long_robots_stay_with_the_function(monkeypatch):
    def never(*_):
        raise AssertionError("traced")

    monkeypatch.setattr(batch_inverse_dynamics, "trace_inverse_dynamics", never)
    model = random_tree(MOST_JOINTS + 1, 9)
    rows = states(model, 5)
    found = BatchInverseDynamics(model)(*rows)
    np.testing.assert_array_equal(found, dyn.inverse_dynamics(model, *rows))


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_other_processors_have_other_lanes(monkeypatch, lanes):
    """Without AVX-512, four states or two at a time; LLVM writes eight as several registers."""
    monkeypatch.setattr(batch_kernel, "lanes", lambda: lanes)
    model = MODELS["off-axis tree"]()
    rows = states(model, 37)
    evaluate, expected = BatchInverseDynamics(model), dyn.inverse_dynamics(model, *rows)
    columns = evaluate.columns(*np.moveaxis(rows, -1, 1))
    for row, column, wanted in zip(evaluate(*rows), columns, expected, strict=True):
        assert error(row, wanted) < 1e-12
        np.testing.assert_array_equal(column.T, row)


def test_without_numba_the_function_computes(monkeypatch):
    monkeypatch.setattr(batch_inverse_dynamics, "available", lambda: False)
    model = random_tree(3, 9)
    rows = states(model, 20)
    found = BatchInverseDynamics(model)(*rows)
    np.testing.assert_array_equal(found, dyn.inverse_dynamics(model, *rows))
