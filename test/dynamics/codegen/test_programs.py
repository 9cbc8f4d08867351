# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Programs: order, counts, and evaluation by NumPy."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.codegen import Graph, Operation, Program, cosine, sine


@pytest.fixture
def program():
    graph = Graph()
    x, y = graph.inputs("position", 2)
    (k,) = graph.inputs("gain", 1)
    graph.inputs("unused", 4)
    dead = x * y * k
    assert dead is not None
    return Program(
        graph,
        {"force": [-k * sine(2.0 * x), 0.0, k / (1.0 + x * x)], "other": [cosine(y) - y, 3.0]},
    )


def test_arguments_come_before_their_use(program):
    for k, (operation, first, second) in enumerate(program.nodes):
        if operation not in (Operation.INPUT, Operation.CONSTANT):
            assert first < k
            assert second is None or second < k


def test_only_what_is_needed_remains(program):
    counts = program.counts()
    assert counts[Operation.MULTIPLY] == 3  # 2 x, k sin, x x
    assert counts[Operation.DIVIDE] == counts[Operation.SINE] == counts[Operation.COSINE] == 1
    assert program.size == 3 + 1 + 2
    assert len(program.angles()) == 2
    assert program.inputs == {"position": 2, "gain": 1, "unused": 4}


def test_values_of_one_state_and_of_a_batch(program):
    position = np.random.default_rng(1).normal(size=(5, 3, 2))
    x, y = position[..., 0], position[..., 1]
    found = program.evaluate(position=position, gain=[2.5], unused=np.zeros(4))
    force = np.stack([-2.5 * np.sin(2 * x), 0 * x, 2.5 / (1 + x * x)], axis=-1)
    np.testing.assert_allclose(found["force"], force, rtol=1e-15)
    np.testing.assert_allclose(found["other"][..., 0], np.cos(y) - y, rtol=1e-15)
    assert (found["other"][..., 1] == 3.0).all()
    one = program.evaluate(position=position[0, 0], gain=[2.5], unused=np.zeros(4))
    np.testing.assert_array_equal(one["force"], found["force"][0, 0])


def test_wrong_inputs_are_named(program):
    with pytest.raises(dyn.InputError, match="expected inputs position, gain, unused, got gain"):
        program.evaluate(gain=[1.0])
    with pytest.raises(dyn.InputError, match=r"gain: expected shape \(\.\.\., 1\), got \(2,\)"):
        program.evaluate(position=[0, 0], gain=[1, 2], unused=np.zeros(4))


def test_results_of_another_graph_are_rejected():
    graph, other = Graph(), Graph()
    graph.inputs("x", 1)
    with pytest.raises(dyn.InputError, match="result 'y' belongs to another graph"):
        Program(graph, {"y": other.inputs("x", 1)})
