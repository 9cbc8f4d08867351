# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Munthe-Kaas methods on products of groups: order, dense output, invariance."""

import numpy as np
import pytest
from scipy.linalg import expm

from multibody_dynamics.dynamics import DynamicsError, so3
from multibody_dynamics.dynamics.integration import Tolerances, munthe_kaas
from multibody_dynamics.dynamics.integration.butcher import METHODS
from multibody_dynamics.dynamics.integration.munthe_kaas_method import output_times
from multibody_dynamics.dynamics.lie.lie_groups import SE3, SO3, ProductGroup, R
from rejections import assert_rejected

GROUP = ProductGroup([SO3(), R(2)])
START = (np.eye(3), np.array([1.0, 0.0]))


def field(t, X):
    """A rotation whose rate depends on time and on an oscillator."""
    R, (x, v) = X
    return np.array([x, np.cos(t), 0.5 + R[0, 0], v, -4 * x])


def end(method, step, **options):
    return munthe_kaas(GROUP, field, START, 1.0, step, method=method, **options)[1][-1]


EXACT = end("dormand_prince", 1e-2)


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda m: m.name)
def test_the_order_on_a_group_is_that_of_the_method(method):
    errors = [np.abs(end(method, h)[0] - EXACT[0]).max() for h in (0.1, 0.05)]
    if method.order == 5:
        errors = [np.abs(end(method, h)[0] - EXACT[0]).max() for h in (0.2, 0.1)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(method.order, abs=0.5)


def test_dense_output_is_as_accurate_as_the_steps():
    tolerances = Tolerances(1e-9, 1e-11)
    times, states = munthe_kaas(
        GROUP, field, START, 1.0, 0.01, method="dormand_prince", tolerances=tolerances
    )
    assert len(times) == len(states) == 101
    for k in (17, 50, 100):
        fine = munthe_kaas(GROUP, field, START, times[k], times[k] / 100, method="dormand_prince")
        for found, exact in zip(states[k], fine[1][-1], strict=True):
            np.testing.assert_allclose(found, exact, atol=3e-9)


def test_a_constant_screw_is_integrated_exactly_in_one_step():
    group, V = ProductGroup([SE3()]), np.array([1.0, -2, 0.5, 0.3, 2, 1])
    for method in METHODS:
        (_, C) = munthe_kaas(group, lambda t, X: V, (np.eye(4),), 1.0, 1.0, method=method)[1]
        V_hat = np.zeros((4, 4))
        V_hat[:3, :3], V_hat[:3, 3] = so3.hat(V[:3]), V[3:]
        np.testing.assert_allclose(C[0], expm(V_hat), atol=1e-14)


def test_times_end_at_t_end_and_progress_is_reported():
    np.testing.assert_allclose(output_times(0.1, 0.03), [0, 0.03, 0.06, 0.09, 0.1])
    assert len(output_times(0.3, 0.1)) == 4
    np.testing.assert_allclose(output_times(2.5, 1), [0, 1, 2, 2.5])
    reported = []
    munthe_kaas(GROUP, field, START, 0.5, 0.1, progress=reported.append)
    assert reported == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])


def test_invalid_arguments_raise():
    line = ProductGroup([R(1)])

    def along(field, **options):
        span = {"start": (np.ones(1),), "t_end": 2.0, "step": 0.1}
        return lambda: munthe_kaas(line, field, **span, **options)

    adaptive = {"method": "dormand_prince", "tolerances": Tolerances()}
    assert_rejected(
        (lambda: output_times(0.0, 0.1), "positive time"),
        (lambda: output_times(1.0, -1.0), "positive time"),
        (lambda: output_times(np.inf, 0.1), "finite"),
        (lambda: end("rk4", 0.1, tolerances=Tolerances()), "need a method with an error estimate"),
        (lambda: Tolerances(0.0), "positive"),
        (along(lambda t, X: X[0] ** 2, **adaptive), "step falls below", DynamicsError),
        (along(lambda t, X: None), "field at the start"),
        (along(lambda t, X: "fast"), "field at the start"),
        (along(lambda t, X: np.ones(2)), "field at the start: shape"),
        (along(lambda t, X: [np.nan]), "finite"),
    )
    with np.errstate(all="ignore"):
        blow_up = along(lambda t, X: X[0] ** 9 * 1e40)
        assert_rejected((blow_up, "no longer finite"), error=DynamicsError)
