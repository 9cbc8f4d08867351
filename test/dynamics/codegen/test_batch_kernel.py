# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Many states on several threads: the same results as one after the other, in both layouts."""

import threading

import numpy as np
import pytest

from multibody_dynamics.dynamics.codegen import BatchKernel, Graph, Program, batch_kernel, cosine
from multibody_dynamics.dynamics.core import IS_COMPILED

pytestmark = pytest.mark.skipif(
    not IS_COMPILED, reason="machine code needs Numba, which is optional"
)


def example():
    graph = Graph()
    x, y = graph.inputs("x", 2), graph.inputs("y", 1)
    return Program(graph, {"z": [x[0] * cosine(y[0]), x[0] + x[1], 3.0], "w": [x[1] / 4.0]})


@pytest.fixture
def kernel(monkeypatch):
    monkeypatch.setattr(batch_kernel, "CHUNK", 64)
    return BatchKernel("test-batch-kernel", 4, example)


def arrays(count):
    rng = np.random.default_rng(count)
    inputs = [rng.normal(size=(count, size)) for size in (2, 1)]
    return [*inputs, *(np.full((count, size), np.nan) for size in (3, 1))]


@pytest.mark.parametrize("threads", [1, 2, 5, None])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 130, 1000])
def test_rows_and_columns(kernel, count, threads):
    rows = arrays(count)
    columns = [array.T.copy() for array in rows]
    assert kernel.rows(rows, count, threads)
    fills_a_vector = count >= kernel.lanes
    assert not fills_a_vector or kernel.columns(columns, count, threads)
    expected = example().evaluate(x=rows[0], y=rows[1])
    for k, wanted in enumerate(expected.values(), start=2):
        np.testing.assert_allclose(rows[k], wanted, rtol=1e-14)
        if fills_a_vector:
            np.testing.assert_array_equal(rows[k], columns[k].T)


def test_numbers_that_are_not_finite(kernel):
    for where in (0, 64, 999):
        rows = arrays(1000)
        rows[1][where] = np.nan
        assert not kernel.rows(rows, 1000, 2)
        assert not kernel.columns([array.T.copy() for array in rows], 1000, 2)


def test_no_more_threads_than_asked_for(monkeypatch):
    monkeypatch.setattr(batch_kernel, "CHUNK", 8)
    for threads in (1, 3):
        seen, gate = set(), threading.Barrier(threads, timeout=20)

        def evaluate(first, end, seen=seen, gate=gate):
            if threading.get_ident() not in seen:
                seen.add(threading.get_ident())
                gate.wait()
            return 0

        assert batch_kernel._run(evaluate, 8 * 20, threads)
        assert len(seen) == threads


def test_the_last_chunk_has_as_many_states_as_lanes(monkeypatch):
    monkeypatch.setattr(batch_kernel, "CHUNK", 16)
    for count in (0, 3, 16, 17, 31, 32, 33, 50):
        chunks = []
        assert batch_kernel._run(lambda *chunk, c=chunks: c.append(chunk) or 0, count, 1, 8)
        assert sum(end - first for first, end in chunks) == count
        assert all(end - first >= min(8, count) for first, end in chunks)


def test_cores():
    assert batch_kernel.cores() >= 1
