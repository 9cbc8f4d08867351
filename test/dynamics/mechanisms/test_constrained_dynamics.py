# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Dynamics of closed mechanisms against virtual work, closed forms, Pinocchio and the paper."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from mechanisms import (
    FOUR_BAR,
    JOINTS,
    closed_tree,
    delta,
    five_bar,
    four_bar,
    loop_in_tree,
    pinocchio_acceleration,
    reference_motion,
    reference_torques,
    spatial_loop,
)
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.mechanisms import (
    ConstrainedModel,
    ConstraintMatrix,
    LoopClosure,
    assemble,
    consistent_motion,
    constrained_forward_dynamics,
    constrained_hybrid_dynamics,
    constrained_inverse_dynamics,
    constraint_matrices,
    constraint_residual,
    redundant_constraints,
)
from multibody_dynamics.dynamics.mechanisms.constraints import constraint_terms
from reference import error
from rejections import assert_rejected
from robots import random_base, random_tree

CHOICES = ("unique", "minimum_force", "minimum_torque")
MINIMA = CHOICES[1:]
MECHANISMS = {
    "four-bar": four_bar(),
    "four-bar, 3 motors": four_bar().with_motors("crank", "coupler", "rocker"),
    "five-bar, 2 motors": five_bar("a", "e"),
    "five-bar, 3 motors": five_bar("a", "c", "e"),
    "five-bar, 5 motors": five_bar("a", "b", "c", "d", "e"),
    "cut at the ball": spatial_loop(),
    "cut at the cross": spatial_loop("universal"),
    "cut at the cross, 3 motors": spatial_loop("universal").with_motors(
        "crank", "rocker", "ball_2"
    ),
    "delta": delta(),
    "delta, 5 motors": delta().with_motors("motor0", "motor1", "motor2", "elbow0_1", "wrist0_2"),
}
UNIQUE = [key for key, m in MECHANISMS.items() if len(m.system.actuated) == len(m.independent)]


@cache
def motion(name):
    """The mechanism, and its motion with 40 digits and as floats."""
    mechanism = MECHANISMS[name]
    rates = np.random.default_rng(1).uniform(-1, 1, (4, mechanism.system.n))
    exact = reference_motion(mechanism, mechanism.q, rates)
    return mechanism, exact, exact.astype(float)


def motor_torques(system, result):
    return [row[..., system.actuated_indices] for row in result[:3]]


# inverse dynamics and its rates


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", MECHANISMS)
def test_torques_and_rates_by_virtual_work(name, choice):
    mechanism, exact, rows = motion(name)
    if choice == "unique" and name not in UNIQUE:
        with pytest.raises(dyn.InputError, match=r"not unique.*choose 'minimum_force'"):
            constrained_inverse_dynamics(mechanism.system, *rows)
        return
    passive = np.random.default_rng(2).normal(size=(3, len(mechanism.system.passive)))
    result = constrained_inverse_dynamics(
        mechanism.system, *rows, choice=choice, passive_torque=passive[0],
        passive_torque_dot=passive[1], passive_torque_ddot=passive[2],
    )  # fmt: skip
    expected = reference_torques(mechanism, exact, choice, passive)
    for k, actual in enumerate(motor_torques(mechanism.system, result)):
        assert error(actual, expected[k].astype(float)) < 1e-13
        given = result[k][mechanism.system.passive_indices]
        np.testing.assert_array_equal(given, passive[k])


@pytest.mark.parametrize("name", ["five-bar, 3 motors", "delta, 5 motors", "four-bar, 3 motors"])
def test_the_formulas_of_the_paper(name):
    """(59), (61)-(64), and (65), (66) if all joints have motors, with pseudoinverses."""
    mechanism, _, rows = motion(name)
    system = mechanism.system
    dropped = redundant_constraints(system, rows[0])
    A = constraint_matrices(system, rows[0])[0]
    A = A[np.linalg.norm(A, axis=1) > 1e-12] if dropped else A
    a, p = system.actuated_indices, system.passive_indices
    tau_r = dyn.inverse_dynamics(system.tree, *rows[:3]).tau
    A_a, A_p = A[:, a], A[:, p]
    least = np.linalg.pinv(A_p.T) @ tau_r[p]
    force = tau_r[a] - A_a.T @ least
    N = np.linalg.svd(A_p.T)[2][len(p) :].T
    s = np.linalg.pinv(A_a.T @ N) @ force
    torque = force - A_a.T @ N @ s
    for choice, tau, multipliers in zip(
        MINIMA, (force, torque), (least, least + N @ s), strict=True
    ):
        result = constrained_inverse_dynamics(system, *rows[:3], choice=choice)
        assert error(result.tau[a], tau) < 1e-12
        there = result.multipliers[result.multipliers != 0] if len(p) else multipliers
        np.testing.assert_allclose(there, multipliers, atol=1e-12 * max(1, abs(multipliers).max()))
        assert result.redundant == dropped
        assert result.tau_dot is result.tau_ddot is None
    if not len(p):
        expected = tau_r - A.T @ np.linalg.solve(A @ A.T, A @ tau_r)
        assert error(torque, expected) < 1e-12
        assert error(force, tau_r) == 0


@pytest.mark.parametrize("base", [None, random_base(3)], ids=["at rest", "moving"])
@pytest.mark.parametrize("choice", MINIMA)
@pytest.mark.parametrize("name", MECHANISMS)
def test_loop_wrenches_replace_the_cut_joints(name, choice, base):
    """The open tree with the loop wrenches on its bodies needs the same torques."""
    mechanism, _, rows = motion(name)
    system, tree = mechanism.system, mechanism.system.tree
    applied = {tree.body_names[0]: np.array([0.3, -0.2, 0.5, 4.0, -3.0, 1.0])}
    result = constrained_inverse_dynamics(
        system, *rows[:3], choice=choice, wrenches=applied, base=base
    )
    total = {body: np.zeros(6) for body in tree.body_names} | {tree.base_name: np.zeros(6)}
    total[tree.body_names[0]] += applied[tree.body_names[0]]
    for loop in system.constraints:
        total[loop.first] -= result.loop_wrenches[loop.name]
        total[loop.second] += result.loop_wrenches[loop.name]
    del total[tree.base_name]
    needed = dyn.inverse_dynamics(tree, *rows[:3], wrenches=total, base=base)
    assert error(needed.tau, result.tau) < 1e-12


@pytest.mark.parametrize("name", UNIQUE)
def test_on_a_moving_base_forward_dynamics_inverts_inverse_dynamics(name):
    mechanism, _, rows = motion(name)
    system, base = mechanism.system, random_base(4)
    needed = constrained_inverse_dynamics(system, *rows[:3], base=base)
    q, qd, qdd = rows[:3]
    for moved in (
        constrained_forward_dynamics(system, q, qd, needed.tau, base=base),
        constrained_hybrid_dynamics(
            system, q, qd, prescribed=(), qdd=np.full(system.n, np.nan), tau=needed.tau, base=base
        ),
    ):
        assert error(moved.qdd, qdd) < 1e-9
        for loop, wrench in needed.loop_wrenches.items():
            assert error(moved.loop_wrenches[loop], wrench) < 1e-9


def test_batches_of_inverse_dynamics():
    m = MECHANISMS["cut at the cross, 3 motors"]
    start = m.q + np.zeros((2, 3, 1))
    rows = np.random.default_rng(0).uniform(-1, 1, (5, 2, 3, m.system.n))
    rows[0] = start
    rows[0, ..., 0] += np.linspace(0, 0.5, 6).reshape(2, 3)
    rows = consistent_motion(m.system, *rows, fixed=m.independent)
    for choice in MINIMA:
        together = constrained_inverse_dynamics(m.system, *rows, choice=choice)
        alone = constrained_inverse_dynamics(m.system, *[row[1, 2] for row in rows], choice=choice)
        for a, b in zip(together[:4], alone[:4], strict=True):
            assert error(a[1, 2], b) < 1e-11
        assert together.loop_wrenches["cross"].shape == (2, 3, 6)


# forward dynamics


@pytest.mark.parametrize("free", [(), dyn.spherical()], ids=["weld", "ball"])
@pytest.mark.parametrize("seed", range(2))
def test_pinocchio_agrees_on_forward_dynamics(seed, free):
    """Trees of all joint types with a loop; some of the welds are redundant."""
    system, q, qd, tau = closed_tree(seed, free)
    result = constrained_forward_dynamics(system, q, qd, tau)
    assert error(result.qdd, pinocchio_acceleration(system, q, qd, tau)) < 1e-12


@pytest.mark.parametrize("name", MECHANISMS)
def test_forward_dynamics_inverts_inverse_dynamics(name):
    mechanism, _, rows = motion(name)
    system = mechanism.system
    for choice in MINIMA:
        needed = constrained_inverse_dynamics(system, *rows[:3], choice=choice)
        result = constrained_forward_dynamics(system, *rows[:2], needed.tau)
        assert error(result.qdd, rows[2]) < 1e-12
        np.testing.assert_array_equal(result.tau, needed.tau)
        size = max(1, abs(needed.multipliers).max())
        np.testing.assert_allclose(result.multipliers, needed.multipliers, atol=1e-11 * size)
        for loop, W in needed.loop_wrenches.items():
            np.testing.assert_allclose(result.loop_wrenches[loop], W, atol=1e-11 * size)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(list(JOINTS)))
def test_constraints_do_no_work(seed, joint):
    """The torques of the open tree for this motion have the power of the applied torques."""
    system, q = loop_in_tree(JOINTS[joint])
    qd, tau = np.random.default_rng(seed).normal(size=(2, system.n))
    q, qd = consistent_motion(system, q, qd)
    result = constrained_forward_dynamics(system, q, qd, tau)
    needed = dyn.inverse_dynamics(system.tree, q, qd, result.qdd).tau
    assert needed @ qd == pytest.approx(tau @ qd, abs=1e-11 * np.abs(tau * qd).sum())
    A, A_dot = constraint_matrices(system, q, qd)
    assert abs(A @ result.qdd + A_dot @ qd).max() < 1e-10


def test_a_loop_without_effect():
    """A second hinge on the axis of the first: all five rows are redundant."""
    tree = random_tree(4, 1, kinds=("revolute",), branching=0.0)
    hinge = LoopClosure.at(tree, "hinge", "base", "body1", tree.screws[0], point=(0.0, 0.0, 0.0))
    system = ConstrainedModel(tree, [hinge])
    q, qd, tau = np.random.default_rng(1).normal(size=(3, 4))
    result = constrained_forward_dynamics(system, q, qd, tau)
    assert len(result.redundant) == 5
    np.testing.assert_array_equal(result.qdd, dyn.forward_dynamics(tree, q, qd, tau))
    inverse = constrained_inverse_dynamics(system, q, qd, result.qdd)
    assert error(inverse.tau, tau) < 1e-12


def test_baumgarte_stabilisation_reduces_the_residual():
    """With alpha = beta the residual decays like (1 + c t) exp(-alpha t)."""
    m = five_bar("a", "e")
    system, n, alpha = m.system, m.system.n, 20.0
    q, qd = m.motion(1)[:2]
    start = np.concatenate([q + 1e-4 * np.arange(n), qd])
    pull = dyn.core.Baumgarte(alpha, alpha)

    def rate(_, x):
        result = constrained_forward_dynamics(system, x[:n], x[n:], np.zeros(n), baumgarte=pull)
        return np.concatenate([x[n:], result.qdd])

    run = solve_ivp(rate, (0, 0.4), start, rtol=1e-9, atol=1e-11)
    first, last = (constraint_residual(system, run.y[:n, k]) for k in (0, -1))
    f_dot = constraint_matrices(system, start[:n])[0] @ qd
    t = 0.4
    expected = (first + (f_dot + alpha * first) * t) * np.exp(-alpha * t)
    assert abs(first).max() > 1e-4
    np.testing.assert_allclose(last, expected, atol=1e-2 * abs(expected).max())


# hybrid dynamics


@pytest.mark.parametrize("name", MECHANISMS)
def test_extreme_cases_of_hybrid_dynamics(name):
    mechanism, _, rows = motion(name)
    system, n = mechanism.system, mechanism.system.n
    tau = np.random.default_rng(4).normal(size=n)
    nothing = np.zeros(n)
    forward = constrained_forward_dynamics(system, *rows[:2], tau)
    hybrid = constrained_hybrid_dynamics(system, *rows[:2], prescribed=(), qdd=nothing, tau=tau)
    np.testing.assert_array_equal(hybrid.qdd, forward.qdd)
    everywhere = mechanism.with_motors(*system.tree.joint_names).system
    for choice in MINIMA:
        inverse = constrained_inverse_dynamics(everywhere, *rows[:3], choice=choice)
        hybrid = constrained_hybrid_dynamics(
            system, *rows[:2], prescribed=system.tree.joint_names, qdd=rows[2], tau=nothing,
            choice=choice,
        )  # fmt: skip
        assert error(hybrid.tau, inverse.tau) < 1e-12
        np.testing.assert_array_equal(hybrid.qdd, rows[2])


def dense_hybrid(system, q, qd, u, qdd, tau):
    """(70) and (71) as one linear system in q''_v, tau_u and the least multipliers."""
    n = system.n
    v = np.setdiff1d(np.arange(n), u)
    M = dyn.mass_matrix(system.tree, q)
    b = dyn.inverse_dynamics(system.tree, q, qd, np.zeros(n)).tau
    A, A_dot = constraint_matrices(system, q, qd)
    m = len(A)
    K = np.zeros((n + m, n + m))
    K[:n, : len(v)] = M[:, v]
    K[u, len(v) + np.arange(len(u))] = -1
    K[:n, n:] = -A.T
    K[n:, : len(v)] = A[:, v]
    rest = -b - M[:, u] @ qdd[u]
    rest[v] += tau[v]
    x = np.linalg.lstsq(K, np.r_[rest, -A_dot @ qd - A[:, u] @ qdd[u]], rcond=1e-11)[0]
    accelerations, torques = qdd.copy(), tau.copy()
    accelerations[v], torques[u] = x[: len(v)], x[len(v) : n]
    return accelerations, torques


@pytest.mark.parametrize(
    ("name", "prescribed"),
    [
        ("five-bar, 2 motors", ["a"]),
        ("five-bar, 2 motors", ["c"]),
        ("five-bar, 2 motors", ["a", "e"]),
        ("cut at the cross", ["rocker"]),
        ("delta", ["motor1"]),
        ("delta", ["motor0", "wrist0_1"]),
    ],
)
def test_hybrid_dynamics_of_any_prescribed_joints(name, prescribed):
    mechanism, _, rows = motion(name)
    system = mechanism.system
    qdd, tau = np.random.default_rng(6).normal(size=(2, system.n))
    u = system.indices(prescribed)
    result = constrained_hybrid_dynamics(system, *rows[:2], prescribed=prescribed, qdd=qdd, tau=tau)
    expected_qdd, expected_tau = dense_hybrid(system, *rows[:2], u, qdd, tau)
    assert error(result.qdd, expected_qdd) < 1e-11
    assert error(result.tau, expected_tau) < 1e-11
    np.testing.assert_array_equal(result.qdd[u], qdd[u])
    again = constrained_forward_dynamics(system, *rows[:2], result.tau)
    assert error(again.qdd, result.qdd) < 1e-11


def test_five_bar_with_one_motor():
    """No torques move all joints as prescribed; with one prescribed motor the others are free."""
    m = five_bar("a")
    rows = m.motion(2)
    with pytest.raises(dyn.DynamicsError) as raised:
        constrained_inverse_dynamics(m.system, *rows[:3])
    for part in ("2 degrees of freedom", "motors on only 1 of", "m = 3 < n_p = 4",
                 "constrained_hybrid_dynamics"):  # fmt: skip
        assert part in str(raised.value)
    hybrid = constrained_hybrid_dynamics(
        m.system, *rows[:2], prescribed=["a"], qdd=rows[2], tau=np.zeros(5)
    )
    assert hybrid.qdd[0] == rows[2][0]
    assert abs(hybrid.qdd - rows[2]).max() > 1
    again = constrained_forward_dynamics(m.system, *rows[:2], hybrid.tau)
    assert error(again.qdd, hybrid.qdd) < 1e-12
    assert not hybrid.tau[1:].any()


@pytest.mark.parametrize("choice", MINIMA)
def test_hybrid_dynamics_with_more_constraints_than_free_joints(choice):
    """m > n_v: three prescribed joints in a mechanism with two degrees of freedom."""
    m = five_bar("a", "c", "e")
    rows = m.motion(5)
    split = {"prescribed": ["a", "c", "e"], "tau": np.zeros(5)}
    inverse = constrained_inverse_dynamics(m.system, *rows[:3], choice=choice)
    hybrid = constrained_hybrid_dynamics(m.system, *rows[:2], qdd=rows[2], choice=choice, **split)
    assert error(hybrid.qdd, rows[2]) < 1e-12
    assert error(hybrid.tau, inverse.tau) < 1e-12
    assert len(hybrid.redundant) == 3
    with pytest.raises(dyn.InputError, match=r"not unique: 3 constraints.*determine only 2"):
        constrained_hybrid_dynamics(m.system, *rows[:2], qdd=rows[2], **split)
    with pytest.raises(dyn.DynamicsError, match="accelerations of a, c, e contradict"):
        constrained_hybrid_dynamics(
            m.system, *rows[:2], qdd=rows[2] + np.eye(5)[2], choice=choice, **split
        )


def test_batches_of_motions():
    system, q = loop_in_tree(dyn.universal((0, 0, 0), (0, 0, 1), (0.2, 1, 0)))
    q = assemble(system, q + np.random.default_rng(0).normal(scale=0.1, size=(2, 3, 9)))
    qdd, tau = np.random.default_rng(1).normal(size=(2, 2, 3, 9))
    _, qd = consistent_motion(system, q, qdd)
    W = {"body9": np.ones(6)}
    split = {"prescribed": ["joint2"], "wrenches": W}
    together = constrained_hybrid_dynamics(system, q, qd, qdd=qdd, tau=tau, **split)
    alone = constrained_hybrid_dynamics(
        system, q[1, 2], qd[1, 2], qdd=qdd[1, 2], tau=tau[1, 2], **split
    )
    for a, b in zip(together[:3], alone[:3], strict=True):
        assert error(a[1, 2], b) < 1e-11


def test_a_batch_of_wrenches_on_one_state():
    m = five_bar("a", "c", "e")
    rows = m.motion(1)
    load = np.random.default_rng(0).normal(size=(4, 6))
    options = {"choice": "minimum_torque", "wrenches": {"body2": load}}
    inverse = constrained_inverse_dynamics(m.system, *rows, **options)
    alone = constrained_inverse_dynamics(
        m.system, *rows, choice="minimum_torque", wrenches={"body2": load[2]}
    )
    assert error(inverse.tau_ddot[2], alone.tau_ddot) < 1e-13
    hybrid = constrained_hybrid_dynamics(
        m.system, *rows[:2], prescribed=["a", "c", "e"], qdd=rows[2], tau=np.zeros(5), **options
    )
    assert error(hybrid.tau, inverse.tau) < 1e-12


# constraints by functions


def four_bar_by_functions():
    """The closure of the four-bar in planar coordinates."""
    a, b, c, g = FOUR_BAR
    lengths = np.array([[a, 0, 0], [0, b, 0], [0, 0, -c]])
    angles = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]])  # of the bars, from the joints

    def turned(q, k):
        """The k-th derivative of (cos, sin) by the angles of the bars."""
        return np.stack([np.cos(angles @ q + k * np.pi / 2), np.sin(angles @ q + k * np.pi / 2)])

    def A(q):
        return turned(q, 1) @ lengths @ angles

    def A_dot(q, qd):
        return (turned(q, 2) * (angles @ qd)) @ lengths @ angles

    def A_ddot(q, qd, qdd):
        w, w_dot = angles @ qd, angles @ qdd
        return (turned(q, 3) * w**2 + turned(q, 2) * w_dot) @ lengths @ angles

    def f(q):
        return turned(q, 0) @ lengths @ np.ones(3) - (g, 0)

    return ConstraintMatrix("closure", 2, A, A_dot, A_ddot, f=f, row_names=("x", "y"))


def test_constraints_by_functions():
    loop = four_bar()
    system = ConstrainedModel(loop.system.tree, [four_bar_by_functions()], ("crank",))
    q, *rates = loop.motion(3)
    np.testing.assert_allclose(assemble(system, loop.start, fixed=["crank"]), q, atol=1e-14)
    by_loop = constrained_inverse_dynamics(loop.system, q, *rates)
    by_functions = constrained_inverse_dynamics(system, q, *rates)
    for a, b in zip(by_functions[:3], by_loop[:3], strict=True):
        assert error(a, b) < 1e-12
    assert by_functions.redundant == ()
    assert by_functions.loop_wrenches == {}
    tau = np.array([0.3, -1.0, 2.0])
    a, b = (constrained_forward_dynamics(s, q, rates[0], tau) for s in (system, loop.system))
    assert error(a.qdd, b.qdd) < 1e-12


# errors


def test_a_motion_that_violates_the_constraints():
    m = five_bar("a", "e")
    rows = m.motion(1)
    for k, name in enumerate(("q", "qd", "qdd", "qddd", "qdddd")):
        wrong = [row + 1e-3 * (j == k) for j, row in enumerate(rows)]
        with pytest.raises(dyn.InputError, match=f"{name} violates loop 'weld': .* by .*allowed"):
            constrained_inverse_dynamics(m.system, *wrong)
    two = [np.stack([row, row + 1e-3 * (k == 2)]) for k, row in enumerate(rows)]
    with pytest.raises(dyn.InputError, match=r"qdd violates .*state \[1\]"):
        constrained_inverse_dynamics(m.system, *two)


def test_a_dead_point():
    """Crank and coupler are aligned; with the motor at the rocker they can buckle."""
    m = four_bar().with_motors("rocker")
    rocker = np.arccos(-0.125)  # 1.1 m, crank plus coupler, from the bearing
    crank = np.arctan2(0.6 * np.sin(rocker), 1 + 0.6 * np.cos(rocker))
    q = assemble(m.system, [crank, 0.0, rocker])
    zero = np.zeros(3)
    with pytest.raises(dyn.DynamicsError, match="singular configuration: with the motors locked"):
        constrained_inverse_dynamics(m.system, q, zero, zero)


def test_a_configuration_where_constraints_become_dependent():
    """The motion of a stretched parallelogram is undetermined: two branches meet."""
    z, x = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
    tree = dyn.model_from_screws(
        (-1, 0, -1),
        [dyn.revolute(z), dyn.revolute(z, x), dyn.revolute(z, (2.0, 0, 0))],
        [np.eye(4)] * 3,
        [dyn.spatial_inertia(1.0, (k, 0.1, 0), 0.1 * np.eye(3)) for k in range(3)],
    )
    pin_joint = LoopClosure.at(tree, "pin", "body2", "body3", dyn.revolute(z), point=(3.0, 0, 0))
    system = ConstrainedModel(tree, [pin_joint])
    redundant = redundant_constraints(system, np.zeros(3))
    assert len(redundant) == 4  # three because the mechanism is planar
    _, qd = consistent_motion(system, np.zeros(3), [1.0, 0.3, -0.4])
    with pytest.raises(dyn.DynamicsError, match=r"no acceleration satisfies loop 'pin'.*singular"):
        constrained_forward_dynamics(system, np.zeros(3), qd, np.zeros(3))


def test_wrong_arguments():
    m = four_bar()
    q, qd, qdd = m.motion()[:3]
    three = np.zeros((3, 3))

    def inverse(*rows, **options):
        return lambda: constrained_inverse_dynamics(m.system, *rows, **options)

    def forward(*rows):
        return lambda: constrained_forward_dynamics(m.system, *rows)

    hip = {"prescribed": ["hip"], "qdd": qdd, "tau": np.zeros(3)}
    assert_rejected(
        (inverse(q, qd, qdd, choice="least"), "choice must be one of unique, minimum_force"),
        (inverse(q, qd, qdd, passive_torque=[1.0]), "passive_torque: expected shape (..., 2)"),
        (inverse(q, qd, None), "inverse dynamics needs qdd"),
        (forward(q, None, three[0]), "constrained dynamics require qd"),
        (forward(q, qd, three[0, :2]), "tau: expected shape"),
        (lambda: constrained_hybrid_dynamics(m.system, q, qd, **hip), "no joint 'hip'"),
        (forward([q, q], qd, three), "motion (2,), tau (3,)"),
        (inverse([q, q], qd, qdd, passive_torque=three[:, :2]), "(2,), passive_torque (3,)"),
    )


def test_unused_entries_may_be_nan():
    m = four_bar()
    q, qd, qdd = m.motion()[:3]
    split = {"prescribed": [0], "qdd": [qdd[0], np.nan, np.nan], "tau": [np.nan, 0.0, 0.0]}
    result = constrained_hybrid_dynamics(m.system, q, qd, **split)
    assert error(result.qdd, qdd) < 1e-12
    assert error(result.tau, constrained_inverse_dynamics(m.system, q, qd, qdd).tau) < 1e-12
    with pytest.raises(dyn.DynamicsError, match="accelerations of crank, coupler contradict"):
        constrained_hybrid_dynamics(
            m.system, q, qd, prescribed=[0, 1], qdd=qdd + np.eye(3)[1], tau=np.zeros(3)
        )


@pytest.mark.parametrize("choice", CHOICES)
def test_an_empty_batch(choice):
    m = four_bar()
    none, rest = np.zeros((0, 3)), np.zeros(3)
    inverse = constrained_inverse_dynamics(m.system, none, *[rest] * 4, choice=choice)
    forward = constrained_forward_dynamics(m.system, none, rest, rest)
    assert inverse.tau_ddot.shape == forward.qdd.shape == (0, 3)


def test_multipliers_belong_to_the_rows_that_are_kept():
    for mechanism in MECHANISMS.values():
        system, (q, qd, qdd) = mechanism.system, mechanism.motion(2)[:3]
        for joint in system.tree.joint_names:
            result = constrained_hybrid_dynamics(
                system, q, qd, prescribed=[joint], qdd=qdd, tau=0 * q, choice="minimum_force"
            )
            names = np.array(constraint_terms(system, q).names)
            assert not result.multipliers[np.isin(names, result.redundant)].any()
