# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Coordinates about the current pose: against power series of the pose, without brackets."""

from math import factorial

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3
from multibody_dynamics.dynamics.mechanisms.local_coordinates import (
    local_motion,
    local_rates,
    pose_coordinates,
    structure_constants,
)
from reference import error

ORDER = 5  # powers of time
GROUPS = {
    "ball": dyn.spherical((0.3, -0.1, 0.2)),
    "free": dyn.floating(),
    "planar": dyn.planar((0.1, -0.2, 1.0)),
    "cylindrical": dyn.cylindrical((0, 0.6, 0.8), (0.1, 0, 0)),
    "helical": dyn.helical((0, 1, 0.3), (0.1, 0, 0), 0.1)[None],
}
each_group = pytest.mark.parametrize("screws", GROUPS.values(), ids=GROUPS)


def product(*factors):
    """The product of power series (ORDER, 4, 4) in time."""
    total = factors[0]
    for factor in factors[1:]:
        total = np.array(
            [sum(total[i] @ factor[k - i] for i in range(k + 1)) for k in range(ORDER)]
        )
    return total


def exponential(X, x):
    """exp(X x(t)) as a power series, exact since x(0) = 0; x (ORDER,) are its coefficients."""
    term = total = np.eye(4) * (np.arange(ORDER) == 0)[:, None, None]
    for n in range(1, ORDER):
        term = product(term, x[:, None, None] * se3.hat(X)) / n
        total = total + term
    return total


def motion(screws, seed=1):
    """Random x', ..., x'''' (4, k), and from them nu and B with derivatives, from the pose."""
    rates = np.random.default_rng(seed).normal(size=(ORDER - 1, len(screws)))
    scaled = np.array([rate / factorial(k + 1) for k, rate in enumerate(rates)])
    series = np.concatenate([np.zeros((1, len(screws))), scaled])
    factors = [exponential(X, x) for X, x in zip(screws, series.T, strict=True)]
    inverses = [exponential(-X, x) for X, x in zip(screws, series.T, strict=True)]
    basis = np.linalg.pinv(screws)

    def derivatives(matrices):
        return np.array([factorial(k) * se3.vee(T) @ basis for k, T in enumerate(matrices[:-1])])

    T, inverse = product(*factors), product(*inverses[::-1])
    T_dot = np.concatenate([np.arange(1, ORDER)[:, None, None] * T[1:], np.zeros((1, 4, 4))])
    one = np.eye(4) * (np.arange(ORDER) == 0)[:, None, None]
    columns = [
        derivatives(product(*inverses[:j:-1], one @ se3.hat(X), *factors[j + 1 :]))
        for j, X in enumerate(screws)
    ]
    return rates, derivatives(product(inverse, T_dot)), np.stack(columns, axis=-1)


@each_group
def test_rates_and_matrices_are_those_of_the_pose(screws):
    rates, twists, matrices = motion(screws)
    brackets = structure_constants(screws)
    pose, x, B = local_motion(brackets, np.eye(4), twists, 6)
    assert not pose.any()
    assert error(x, rates) < 1e-13
    for ours, expected in zip(B, matrices, strict=True):
        assert np.abs(ours - expected).max() < 1e-12
    batch = np.broadcast_to(twists[:2], (2, 3, *twists[:2].shape))
    poses = np.broadcast_to(np.eye(4), (2, 3, 4, 4))
    assert error(local_motion(brackets, poses, batch, 3)[1][1, 2], rates[:2]) < 1e-13


@pytest.mark.parametrize("pitch", [0.4, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 3.0])
def test_coordinates_of_a_pose_at_any_pitch(pitch):
    turns = dyn.so3.exp([[0, 0, 2.5], [0, pitch, 0], [-1.2, 0, 0]])
    T = se3.from_rotation_translation(turns[0] @ turns[1] @ turns[2], (0.1, -0.2, 0.3))
    back, x = np.eye(4), np.empty(6)
    pose_coordinates(T, x)
    for X, value in zip(dyn.floating(), x, strict=True):
        back = back @ se3.exp(X * value)
    assert error(back, T, axes=2) < 1e-15
    angles = np.empty(3)
    pose_coordinates(T, angles)
    assert (angles == x[3:]).all()


def test_any_scalar_in_plain_python():
    """The derivative by complex step of x'''' with respect to nu, which enters as a polynomial."""
    brackets = structure_constants(GROUPS["ball"])
    twists, direction = motion(GROUPS["ball"], seed=2)[1], np.array([0.3, -1.2, 0.7])

    def fourth(step):
        nu = twists + step * direction * (np.arange(4) == 0)[:, None]
        x, B, after = (np.zeros(s, dtype=nu.dtype) for s in ((4, 3), (4, 3, 3), (4, 3, 3)))
        local_rates(brackets, nu, x, B, after)
        return x[3]

    exact = fourth(1e-30j).imag / 1e-30
    h = 1e-3
    differences = (8 * (fourth(h) - fourth(-h)) - (fourth(2 * h) - fourth(-2 * h))) / (12 * h)
    assert error(exact, differences) < 1e-9


def test_what_is_no_group_is_recognised():
    assert structure_constants(dyn.universal((0, 0, 0), (1, 0, 0), (0, 1, 0))) is None
    assert (
        structure_constants(np.stack([dyn.prismatic(dyn.model.joints.X), dyn.revolute((0, 0, 1))]))
        is None
    )
    with pytest.raises(dyn.ModelError, match="linearly independent"):
        structure_constants(np.stack([dyn.revolute((0, 0, 1))] * 2))
