# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Jobs in processes give the results of jobs in this process, in the same order."""

import os

import pytest

from multibody_dynamics.tools.base.parallel import processes, results_of


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_in_the_order_of_the_jobs(workers):
    with processes(workers) as executor:
        assert (executor is None) == (workers == 1)
        assert results_of(executor, abs, range(-20, 5), "jobs") == [abs(x) for x in range(-20, 5)]


def test_the_environment_is_restored(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with processes(2):
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in os.environ
