# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Spatial inertia against systems of point masses."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model import inertia
from rejections import assert_rejected
from robots import random_inertia, random_pose


def masses(seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1, 9), rng.normal(0.2, 0.3, (9, 3))


def of_points(m, points):
    """(mass, com, inertia about it) by their definitions as sums."""
    com = m @ points / m.sum()
    arms = points - com
    about = sum(mk * (a @ a * np.eye(3) - np.outer(a, a)) for mk, a in zip(m, arms, strict=True))
    return m.sum(), com, about


def energy(m, points, V):
    """Kinetic energy of the masses in the twist V = (omega, v)."""
    velocities = V[3:] + np.cross(V[:3], points)
    return m @ (velocities**2).sum(axis=1) / 2


@settings(max_examples=30)
@given(seed=st.integers(0, 1000))
def test_energy_of_any_twist(seed):
    m, points = masses(seed)
    M = dyn.spatial_inertia(*of_points(m, points))
    for V in np.random.default_rng(seed).normal(size=(5, 6)):
        assert pytest.approx(energy(m, points, V), rel=1e-13) == V @ M @ V / 2


@settings(max_examples=30)
@given(seed=st.integers(0, 1000))
def test_decompose_is_the_inverse(seed):
    parts = of_points(*masses(seed))
    for found, expected in zip(inertia.decompose(dyn.spatial_inertia(*parts)), parts, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


def test_a_massless_body_has_its_com_at_the_origin():
    mass, com, about = inertia.decompose(np.zeros((6, 6)))
    assert mass == 0
    assert not com.any()
    assert not about.any()


@settings(max_examples=30)
@given(seed=st.integers(0, 1000))
def test_transform_is_that_of_the_moved_masses(seed):
    m, points = masses(seed)
    C = random_pose(np.random.default_rng(seed))
    moved = points @ C[:3, :3].T + C[:3, 3]
    expected = dyn.spatial_inertia(*of_points(m, moved))
    M = inertia.transform(dyn.spatial_inertia(*of_points(m, points)), C)
    np.testing.assert_allclose(M, expected, rtol=0, atol=1e-14 * np.abs(expected).max() * 10)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((np.nan, (0, 0, 0), np.eye(3)), "mass"),
        (([1.0], (0, 0, 0), np.eye(3)), r"mass: expected shape \(\), got \(1,\)"),
        ((1, np.zeros((0, 3)), np.eye(3)), r"com: expected shape \(3,\), got \(0, 3\)"),
        ((1, (0, 0, 0), np.ones((2, 3, 3))), r"inertia_com: expected shape \(3, 3\)"),
        ((1, (0, 0), np.eye(3)), "com"),
        ((1, (0, 0, 0), np.eye(2)), "inertia_com"),
        ((1, (0, 0, 1j), np.eye(3)), "com.*real"),
    ],
)
def test_arguments_are_checked(arguments, word):
    with pytest.raises(dyn.InputError, match=word):
        dyn.spatial_inertia(*arguments)


def body(moments, mass=1.0):
    return dyn.spatial_inertia(mass, (0.1, -0.2, 0.3), np.diag(moments))


def test_impossible_inertias_are_rejected():
    skewed, linear_first = body((1, 2, 2)), np.roll(body((1, 2, 2)), 3, axis=(0, 1))
    skewed[0, 1] += 0.1

    def checked(M):
        return lambda: inertia.check(M, "link 'x'")

    assert_rejected(
        (checked(body((1, 1, 1), mass=-1.0)), "link 'x' negative"),
        (checked(body((1, 1, -0.1))), "link 'x' principal moments COM"),
        (checked(np.full((6, 6), np.nan)), "link 'x' finite"),
        (checked(np.eye(5)), "link 'x' 6x6"),
        (checked(linear_first), "link 'x' angular part first"),
        (checked(skewed), "link 'x' spatial_inertia"),
        error=dyn.ModelError,
    )


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_possible_inertias_are_accepted(size):
    inertia.check(size * body((1, 1, 0)), "a rod")
    inertia.check(size * body((1, 1, 0), mass=0.0), "a rotor without mass")
    inertia.check(np.zeros((6, 6)), "nothing")
    inertia.check(size * random_inertia(np.random.default_rng(0)), "points")
    inertia.check(size * body((1, 1, -1e-9)), "a rod of five digits")


def test_the_triangle_inequality():
    with pytest.warns(dyn.ModelWarning, match=r"link 'x'.*triangle"):
        inertia.check_triangle(body((1, 1, 2.1)), "link 'x'")
    with pytest.raises(dyn.ModelError, match=r"link 'x'.*triangle"):
        inertia.check_triangle(body((1, 1, 2.1)), "link 'x'", strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inertia.check_triangle(body((1, 1, 2)), "a plate", strict=True)
        inertia.check_triangle(np.zeros((6, 6)), "nothing", strict=True)


def test_principal_moments_do_not_depend_on_the_axes():
    R = random_pose(np.random.default_rng(4))[:3, :3]
    moments = inertia.principal_moments(R @ np.diag((3.0, 1.0, 2.0)) @ R.T)
    np.testing.assert_allclose(moments, (1, 2, 3), rtol=1e-14)


@pytest.mark.parametrize("com", [(0.3, 0.0, 0.0), (0.07, -0.4, 0.9), (3.0, 2.0, 1.0)])
def test_point_masses_are_accepted_anywhere(com):
    """After rounding, their inertia about the COM may be slightly negative."""
    M = inertia.spatial_inertia(0.1 + 0.2, com, np.zeros((3, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for turn in np.random.default_rng(1).normal(size=(50, 6)):
            moved = inertia.transform(M, dyn.se3.exp(turn))
            inertia.check(moved, "point")
            inertia.check_triangle(moved, "point")
