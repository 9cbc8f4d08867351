# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""C99 of programs for two states at once."""

import ctypes

import numpy as np
import pytest

from multibody_dynamics.dynamics.codegen import Graph, Program, c_lanes, c_source, cosine, sine
from translated_code import loaded, needs_compiler


def swinging():
    """A program with sines of an input, and of what follows from one."""
    graph = Graph()
    q, qd = graph.inputs("q", 2), graph.inputs("qd", 2)
    graph.inputs("unused", 2)
    turned = sine(2.0 * q[1]) * cosine(q[0])
    force = [-turned * qd[0] - q[1], sine(q[0]) / (2.0 + qd[1] * qd[1])]
    return Program(graph, {"force": force, "rate": [0.25, -turned]})


@needs_compiler
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_every_state_has_the_results_of_its_own_call(tmp_path, level, count):
    program = swinging()
    text = (
        f"{c_source.prototype(program, 'one')};\n{c_lanes.prototype('f', 2)};\n"
        f"{c_source.function(program, 'one')}{c_lanes.function(program, 'f')}"
    )
    functions = loaded(tmp_path, text, (level,))
    inputs = np.random.default_rng(3).normal(size=(2, 3, 2))
    results, expected = np.full((2, 2, 2), np.nan), np.full((2, 2, 2), np.nan)
    for own, result in zip(inputs[:count], expected, strict=False):
        functions.one(*(ctypes.c_void_p(row.ctypes.data) for row in (*own, *result)))
    pointers = [(ctypes.c_void_p * 2)(*(each.ctypes.data for each in a)) for a in (inputs, results)]
    functions.f(count, *pointers)
    np.testing.assert_array_equal(results, expected)
    found = program.evaluate(q=inputs[0, 0], qd=inputs[0, 1], unused=inputs[0, 2])
    np.testing.assert_allclose(results[0], list(found.values()), rtol=1e-14)
