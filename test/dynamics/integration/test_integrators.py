# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Integration in absolute coordinates: scheme and claims of the paper, exact flows, orders."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import absolute
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.integration.butcher import METHODS
from rejections import assert_rejected

GROUPS = ["SE3", "SO3xR3"]
TOP = [(21.6, np.diag([0.36, 0.306, 0.09]))]
LINKS = [(2.7, 2.7 / 12 * np.diag([0.0125, 0.0425, 0.05]))] * 2
A, GROUND, WEIGHT = np.array([0.1, 0, 0]), (None, None), (0, 0, -9.81)
PAPER = {
    "heavy_top": (TOP, [((0, (-0.5, 0, 0)), GROUND)], (0, 0, 0)),
    "spherical_double_pendulum": (LINKS, [((0, -A), GROUND), ((0, A), (1, -A))], WEIGHT),
    "floating_bodies": (LINKS, [((0, A), (1, -A))], (0, 0, 0)),
    "three_bar_linkage": (LINKS, [((0, -A), GROUND), ((0, A), (1, A)), ((1, -A), GROUND)], WEIGHT),
}


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", PAPER)
def test_rk4_is_the_scheme_of_the_paper(name, group):
    """100 steps equal those of `absolute`, which follows the paper matrix by matrix."""
    system = dyn.integration.examples.SYSTEMS[name](group)
    pose, velocity = absolute.rk4(
        group,
        lambda C, V: absolute.acceleration(group, *PAPER[name], C, V),
        list(system.initial_pose),
        system.initial_velocity.ravel(),
        1e-3,
        100,
    )
    result = dyn.integration.integrate(system, 0.1, 1e-3)
    np.testing.assert_allclose(result.time, np.arange(101) / 1000)
    np.testing.assert_allclose(result.pose, pose, atol=1e-13)
    np.testing.assert_allclose(result.velocity, velocity, atol=3e-12)


# exact flows, from equations without constraints


def rotations(x):
    return x.reshape(-1, 3, 3)


def heavy_top_flow(t):
    """R and omega by Euler's equations about the pivot."""
    r = np.array([0.5, 0, 0])
    Theta = TOP[0][1] - 21.6 * dyn.so3.hat(r) @ dyn.so3.hat(r)

    def slope(t, x):
        R, w = x[:9].reshape(3, 3), x[9:]
        return np.append(R @ dyn.so3.hat(w), np.linalg.solve(Theta, np.cross(Theta @ w, w)))

    start = np.append(np.eye(3), (0, 20 * np.pi, 10 * np.pi))
    x = solve_ivp(slope, (0, t), start, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    R = x[:9].reshape(3, 3)
    return R[None], (R @ r)[None], x[None, 9:]


def double_pendulum_flow(t):
    """R_i and omega_i by d'Alembert's principle for r_1 = R_1 a, r_2 = 2 R_1 a + R_2 a."""
    (mass, Theta), _ = LINKS

    def slope(t, x):
        R, w = rotations(x[:18]), x[18:].reshape(2, 3)
        arm = [-Q @ dyn.so3.hat(A) for Q in R]
        J = np.block([[arm[0], np.zeros((3, 3))], [2 * arm[0], arm[1]]])
        spun = [Q @ np.cross(u, np.cross(u, A)) for Q, u in zip(R, w, strict=True)]
        bias = np.concatenate([spun[0], 2 * spun[0] + spun[1]])
        M = np.kron(np.eye(2), Theta) + mass * J.T @ J
        weight = np.tile(WEIGHT, 2)
        force = mass * J.T @ (weight - bias) - np.cross(w, w @ Theta).ravel()
        R_dot = np.stack([Q @ dyn.so3.hat(u) for Q, u in zip(R, w, strict=True)])
        return np.append(R_dot, np.linalg.solve(M, force))

    start = np.concatenate(
        [np.tile(np.eye(3).ravel(), 2), [10, 0, 0], np.pi * np.array([10, 10, 20])]
    )
    x = solve_ivp(slope, (0, t), start, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    R = rotations(x[:18])
    return R, np.stack([R[0] @ A, 2 * R[0] @ A + R[1] @ A]), x[18:].reshape(2, 3)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(
    ("name", "flow"),
    [("heavy_top", heavy_top_flow), ("spherical_double_pendulum", double_pendulum_flow)],
)
def test_the_exact_flow_without_constraints(name, flow, group):
    R, r, omega = flow(0.1)
    system = dyn.integration.examples.SYSTEMS[name](group)
    result = dyn.integration.integrate(
        system, 0.1, 0.1, "dormand_prince", tolerances=dyn.integration.Tolerances(1e-11, 1e-13)
    )
    np.testing.assert_allclose(result.pose[-1, :, :3, :3], R, atol=1e-10)
    np.testing.assert_allclose(result.pose[-1, :, :3, 3], r, atol=1e-10)
    np.testing.assert_allclose(result.velocity[-1, :, :3], omega, atol=1e-8)


def test_a_closed_loop_in_reduced_coordinates():
    """The triangle turns about the pivots, and each bar about its axis: three coordinates."""
    system = dyn.integration.examples.three_bar_linkage()
    apex = np.array([0.125, 0, np.sqrt(0.04 - 0.125**2)])
    axes = [dyn.revolute(apex - p, p) for p in (np.zeros(3), (0.25, 0, 0))]
    tree = dyn.model_from_screws(
        [-1, 0, 0],
        [dyn.revolute((1, 0, 0)), *axes],
        [np.eye(4), *system.initial_pose],
        [np.zeros((6, 6)), *(body.inertia for body in system.bodies)],
    )
    tight = dyn.integration.Tolerances(1e-11, 1e-13)
    motion = dyn.integration.integrate_tree(
        tree, np.zeros(3), [5, 20, -30], 0.1, 0.02, method="dormand_prince", tolerances=tight
    )
    bodies = dyn.forward_kinematics(tree, motion.q, motion.qd, representation="body")
    result = dyn.integration.integrate(system, 0.1, 0.02, "dormand_prince", tolerances=tight)
    np.testing.assert_allclose(result.pose, bodies.pose[:, 1:], atol=1e-10)
    np.testing.assert_allclose(result.velocity, bodies.twist[:, 1:], atol=1e-9)


# the claims of the paper


@pytest.fixture(scope="module")
def second():
    """One second of each example on both groups."""
    return {
        (name, group): dyn.integration.integrate(system(group), 1.0, 1e-3)
        for name, system in dyn.integration.examples.SYSTEMS.items()
        for group in GROUPS
    }


def worst(result):
    return result.constraint.max(axis=0)


def test_the_pivot_of_the_heavy_top(second):
    assert worst(second["heavy_top", "SE3"]) < 1e-12
    assert worst(second["heavy_top", "SO3xR3"]) == pytest.approx(9e-7, rel=0.1)


def test_the_energy_of_the_heavy_top_is_not_a_hundred_times_better(second):
    """Figure 3 claims two orders of magnitude."""
    start = second["heavy_top", "SE3"].energy[0]
    assert start == pytest.approx(13972.399, abs=1e-3)
    drift = [np.abs(second["heavy_top", group].energy - start).max() for group in GROUPS]
    assert 1 < drift[1] / drift[0] < 5


def test_joints_of_the_double_pendulum(second):
    on_se3, direct = (worst(second["spherical_double_pendulum", group]) for group in GROUPS)
    assert on_se3[0] < 1e-13 < 1e-7 < direct[0]
    assert 0.5 < on_se3[1] / direct[1] < 2


def test_joints_of_the_linkage_and_of_floating_bodies(second):
    on_se3, direct = (worst(second["three_bar_linkage", group]) for group in GROUPS)
    assert on_se3[[0, 2]].max() < 1e-13 < 1e-9 < direct[[0, 2]].min()
    assert 0.3 < on_se3[1] / direct[1] < 3
    on_se3, direct = (worst(second["floating_bodies", group]) for group in GROUPS)
    assert 0.3 < on_se3[0] / direct[0] < 3


def test_a_group_for_each_body(second):
    """SE(3) for the body on the ground only, which the paper leaves to future work."""
    system = dyn.integration.examples.spherical_double_pendulum({"link_2": "SO3xR3"})
    mixed = worst(dyn.integration.integrate(system, 1.0, 1e-3))
    assert mixed[0] < 1e-13
    assert mixed[1] < 2 * worst(second["spherical_double_pendulum", "SE3"])[1]


# orders, stabilisation, results


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("method", METHODS.values(), ids=lambda m: m.name)
def test_the_order_of_every_method(method, group):
    system = dyn.integration.examples.heavy_top(group)
    R, *_ = heavy_top_flow(0.05)
    h = 2e-3 if method.order == 5 else 1e-3
    errors = [
        np.abs(dyn.integration.integrate(system, 0.05, step, method).pose[-1, :, :3, :3] - R).max()
        for step in (h, h / 2)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(method.order, abs=0.3)


def test_stabilisation(second):
    system = dyn.integration.examples.three_bar_linkage("SO3xR3")
    free = worst(second["three_bar_linkage", "SO3xR3"])
    drawn = dyn.integration.integrate(system, 1.0, 1e-3, baumgarte=dyn.core.Baumgarte(100.0, 100.0))
    closed = dyn.integration.integrate(system, 1.0, 1e-3, project=True)
    assert worst(drawn).max() < free.max() / 3
    assert worst(closed).max() < 1e-14
    assert np.abs(closed.energy - closed.energy[0]).max() < 1e-6


def test_reactions_carry_the_weight():
    """The base joints carry the weight and the rate of momentum."""
    result = dyn.integration.integrate(dyn.integration.examples.three_bar_linkage(), 0.1, 1e-3)
    base = result.reaction[:, [0, 2]]
    rate = np.gradient(result.momentum[:, 3:], result.time, axis=0, edge_order=2)
    wanted = rate + 2 * 2.7 * np.array([0, 0, 9.81])
    np.testing.assert_allclose(base[5:-5, :, 3:].sum(axis=1), wanted[5:-5], atol=0.02)
    assert result.acceleration.shape == (101, 2, 6)
    np.testing.assert_allclose(result.reaction[..., :3], 0, atol=1e-11)  # spherical: no moment


def test_reactions_and_accelerations_contain_the_stabilisation():
    system, baumgarte = (
        dyn.integration.examples.three_bar_linkage("SO3xR3"),
        dyn.core.Baumgarte(100.0, 100.0),
    )
    for law in (None, lambda t, C, V: np.zeros((2, 6))):
        result = dyn.integration.integrate(system, 0.01, 5e-3, baumgarte=baumgarte, wrenches=law)
        state = result.pose[-1], result.velocity[-1]
        wanted = dyn.integration.absolute_acceleration(system, *state, baumgarte=baumgarte)
        np.testing.assert_allclose(result.acceleration[-1], wanted, atol=1e-12)
        assert np.abs(wanted - dyn.integration.absolute_acceleration(system, *state)).max() > 1e-4


def test_every_selects_states_and_progress_is_reported():
    reported = []
    system = dyn.integration.examples.heavy_top()
    every, all_ = (
        dyn.integration.integrate(system, 0.0205, 1e-3, every=k, progress=reported.append)
        for k in (4, 1)
    )
    assert reported[-1] == 1.0
    np.testing.assert_allclose(every.time, [0, 0.004, 0.008, 0.012, 0.016, 0.02, 0.0205])
    np.testing.assert_array_equal(every.pose, all_.pose[[0, 4, 8, 12, 16, 20, 21]])
    resumed = dyn.integration.integrate(
        system, 0.01, 1e-3, start=(every.pose[2], every.velocity[2])
    )
    np.testing.assert_allclose(resumed.pose[:9], all_.pose[8:17], atol=1e-14)


def test_invalid_arguments_raise():
    system = dyn.integration.examples.heavy_top()
    pose, velocity = system.initial_pose, system.initial_velocity
    moved = pose @ dyn.se3.exp([0, 0, 0, 1, 0, 0])

    def run(*more, system=system, t_end=1.0, step=1e-3, **options):
        return lambda: dyn.integration.integrate(system, t_end, step, *more, **options)

    assert_rejected(
        (run(start=(pose, 1.01 * velocity + 1)), "velocity constraint 'pivot' 1.5 m/s"),
        (run(start=(moved, velocity)), "position constraint 'pivot'"),
        (run(start=pose), "start: two arrays"),
        (run(start=3), "start: two arrays"),
        (run(start=(pose[None], velocity)), "start pose: (1, 4, 4), (1, 1, 4, 4)"),
        (lambda: dyn.integration.project_state(system, pose[None], velocity), "pose: (1, 4, 4)"),
        (run(baumgarte=10.0), "baumgarte: dyn.core.Baumgarte(alpha, beta)"),
        (run("dormand_prince", tolerances=1e-6), "tolerances: dyn.integration.Tolerances"),
        (lambda: dyn.integration.Tolerances("a"), "tolerances: relative: real numbers"),
        (run(t_end=[1.0]), "t_end: (), (1,)"),
        (run(system=None), "system: AbsoluteSystem None"),
        (run(every=0), "every: positive whole number 0"),
        (run(every=2.0), "every: positive whole number 2.0"),
        (run("rk5"), "method 'rk5'"),
        (run(tolerances=dyn.integration.Tolerances()), "adaptive 'dormand_prince'"),
        (run(wrenches=lambda t, C, V: np.zeros(6)), "wrenches: (..., 1, 6)"),
        (run(t_end=2000.0, step=20.0), "'heavy_top' finite t =", dyn.DynamicsError),
    )
