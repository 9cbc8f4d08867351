# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Contact forces against a general optimiser, differences in time, and closed forms of statics."""

import numpy as np
import pytest
from scipy.optimize import minimize

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.tasks.contact_forces import ForcesInCones, PointContacts
from reference import error
from rejections import assert_rejected

UP = np.array([0.0, 0.0, 1.0])
SHARE = 6.0  # N
BARRIER = 0.1


def rectangle(friction=0.5):
    """Four points on level ground, 0.4 m by 0.2 m about (1, 2)."""
    corners = np.array([[1.2, 2.1, 0.0], [1.2, 1.9, 0.0], [0.8, 2.1, 0.0], [0.8, 1.9, 0.0]])
    return PointContacts(corners, np.tile(UP, (4, 1)), np.full(4, friction))


def uneven(seed=0, count=5):
    """Points on tilted ground of different roughness."""
    rng = np.random.default_rng(seed)
    normals = UP + rng.normal(scale=0.4, size=(count, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    return PointContacts(rng.normal(size=(count, 3)), normals, rng.uniform(0.3, 1.0, count))


def held(contacts, seed=0, count=20):
    """Wrenches (count, 3, 6) of random forces inside the cones, with rates."""
    rng = np.random.default_rng(seed)
    p = len(contacts.friction)
    normal = rng.uniform(0.3, 2.0, (count, p, 1))
    sideways = np.cross(contacts.normals, rng.normal(size=(count, p, 3)))
    sideways *= contacts.friction[:, None] * rng.uniform(0, 0.9, (count, p, 1))
    sideways /= np.linalg.norm(np.cross(contacts.normals, sideways), axis=-1, keepdims=True) + 1e-9
    sideways *= contacts.friction[:, None] * rng.uniform(0, 0.9, (count, p, 1))
    f = SHARE * normal * (contacts.normals + sideways)
    wrench = np.zeros((count, 3, 6))
    wrench[:, 0] = exerted(contacts, f)
    wrench[:, 1:] = rng.normal(scale=20, size=(count, 2, 6))
    return wrench


def exerted(contacts, f):
    """Wrench (..., 6) of forces (..., p, 3)."""
    return np.concatenate([np.cross(contacts.positions, f), f], axis=-1).sum(axis=-2)


def forces(contacts, wrench, barrier=BARRIER):
    found, is_held = ForcesInCones(contacts, SHARE, barrier)(np.asarray(wrench, dtype=float))
    assert is_held.all()
    return found


def standing(force=(0.0, 0.0, 4 * SHARE), point=(1.0, 2.0, 0.0)):
    """A force (3,) at a point (3,) as a wrench (1, 3, 6) without rates."""
    wrench = np.zeros((1, 3, 6))
    wrench[0, 0] = np.concatenate([np.cross(point, force), force])
    return wrench


@pytest.mark.parametrize("contacts", [rectangle(), *map(uneven, range(3))], ids=lambda c: "")
def test_the_forces_exert_the_wrench_and_its_rates_inside_the_cones(contacts):
    wrench = held(contacts)
    found = forces(contacts, wrench)
    assert error(exerted(contacts, found), wrench) < 1e-12
    assert (np.sum(found[:, 0] * contacts.normals, axis=-1) > 0.0).all()
    assert (contacts.used(found[:, 0]) < 1.0).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_forces_minimise_the_objective(seed):
    """SciPy's general method for constrained problems finds the same point."""
    contacts = uneven(seed)
    wrench = held(contacts, count=1)
    found = forces(contacts, wrench)[0, 0]

    def objective(x):
        f = x.reshape(-1, 3)
        normal = np.sum(f * contacts.normals, axis=1)
        c = contacts.friction**2 * normal**2 - np.sum(f**2, axis=1) + normal**2
        return np.sum(x**2) / 2 - BARRIER * np.sum(np.log(np.maximum(c, 1e-12)))

    def missing(x):
        return exerted(contacts, SHARE * x.reshape(-1, 3)) - wrench[0, 0]

    start = 0.97 * found / SHARE
    best = minimize(
        objective, start.ravel(), method="SLSQP", constraints={"type": "eq", "fun": missing},
        options={"maxiter": 500, "ftol": 1e-14},
    )  # fmt: skip
    assert best.success
    assert objective(found.ravel() / SHARE) <= best.fun + 1e-9
    assert np.abs(SHARE * best.x.reshape(-1, 3) - found).max() < 1e-3


def test_the_rates_are_those_of_the_forces_over_time():
    contacts = uneven()
    first, second, third = held(contacts, count=3)[:, 0]

    def at(t):
        weights = [np.cos(t) ** 2, np.sin(t) ** 2 * np.cos(2 * t) ** 2]
        rows = (first, second, third)
        return sum(w * row for w, row in zip([*weights, 1 - sum(weights)], rows, strict=True))

    h, steps = 1e-2, np.arange(-4, 5)
    alone = np.zeros((len(steps), 3, 6))
    alone[:, 0] = [at(0.3 + h * k) for k in steps]
    # weights of central differences of order 8
    slope = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280]) / h
    curvature = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72] + [0] * 4)
    curvature[5:] = curvature[3::-1]
    curvature /= h**2
    wrench = np.stack([w @ alone[:, 0] for w in (np.eye(9)[4], slope, curvature)])[None]
    along = forces(contacts, alone)[:, 0]
    (found,) = forces(contacts, wrench)
    for row, weights in zip(found, (np.eye(9)[4], slope, curvature), strict=True):
        assert error(row, np.einsum("k,kpi->pi", weights, along)) < 1e-7


def test_far_from_the_cones_the_forces_are_those_of_least_norm():
    """The pseudo-inverse of the grasp map, from which a weak barrier deviates in proportion."""
    contacts = rectangle()
    wrench = standing((1.0, -0.5, 4 * SHARE), (1.02, 2.01, 0.0))
    G = np.hstack([np.vstack([dyn.so3.hat(x), np.eye(3)]) for x in contacts.positions])
    least = (np.linalg.pinv(G) @ wrench[0, 0]).reshape(-1, 3)
    weak, weaker = (error(forces(contacts, wrench, b)[0, 0], least) for b in (1e-4, 1e-5))
    assert weaker < 1e-5
    assert weak == pytest.approx(10 * weaker, rel=0.01)


def test_the_weight_in_the_middle_rests_on_all_feet_alike():
    (found,) = forces(rectangle(), standing())
    assert np.abs(found[0] - SHARE * UP).max() < 1e-12 * SHARE
    assert not found[1:].any()


@pytest.mark.parametrize("friction", [0.2, 1.5])
def test_forces_exist_up_to_the_limit_of_friction(friction):
    for share, exists in ((0.99, True), (1.01, False)):
        sideways = 4 * SHARE * friction * share
        wrench = standing((0.0, sideways, 4 * SHARE))
        _, is_held = ForcesInCones(rectangle(friction), SHARE, BARRIER)(wrench)
        assert is_held.tolist() == [exists]


@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.5, 0.0)])
def test_forces_exist_as_long_as_the_centre_of_pressure_is_between_the_feet(direction):
    """Up to an edge and up to a corner of the rectangle, where forces of least norm would pull."""
    edge = np.array(direction) * [0.2, 0.2 if direction[0] else 0.1, 0.0]
    for share, exists in ((0.99, True), (1.01, False)):
        wrench = standing(point=[1.0, 2.0, 0.0] + share * edge)
        _, is_held = ForcesInCones(rectangle(), SHARE, BARRIER)(wrench)
        assert is_held.tolist() == [exists]


def test_a_wrench_without_forces_leaves_the_others_as_they_are():
    contacts = rectangle()
    pulling = standing((0.0, 0.0, -SHARE))
    found, is_held = ForcesInCones(contacts, SHARE, BARRIER)(np.concatenate([standing(), pulling]))
    assert is_held.tolist() == [True, False]
    assert error(found[0], forces(contacts, standing())[0]) < 1e-12


def test_points_on_a_line_are_rejected():
    def on(positions):
        p = len(positions)
        contacts = PointContacts(np.array(positions), np.tile(UP, (p, 1)), np.ones(p))
        return lambda: ForcesInCones(contacts, SHARE, BARRIER)

    assert_rejected(
        (on([[0.0, 0.0, 0.0]]), "1 line"),
        (on([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [3.0, 0.0, 3.0]]), "3 line moment"),
    )
