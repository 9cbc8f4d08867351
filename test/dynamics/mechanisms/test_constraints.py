# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Constraint residuals and matrices against differences and a 40-digit reference."""

import numpy as np
import pytest

import reference as ref
from mechanisms import (
    CHAINS,
    JOINTS,
    MECHANISMS,
    X,
    delta,
    five_bar,
    four_bar,
    loop_in_tree,
    reference_matrix,
)
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core import product_rule as leibniz
from multibody_dynamics.dynamics.mechanisms.constraints import constraint_terms, independent_rows
from robots import random_inertia


@pytest.mark.parametrize("free", [f for f in JOINTS.values() if len(f)], ids=list(JOINTS)[1:])
def test_a_loop_over_one_joint_of_the_same_kind_has_no_effect(free):
    """f, A, A', A'' and A''' vanish in all configurations, however large the angles."""
    rng = np.random.default_rng(2)
    tree = dyn.model_from_screws(
        [-1], [np.atleast_2d(free)], [np.eye(4)], [random_inertia(rng)], joint_names=["joint"]
    )
    loop = dyn.mechanisms.LoopClosure("loop", "base", "body1", free)
    system = dyn.mechanisms.ConstrainedModel(tree, [loop])
    rows = rng.uniform(-2.5, 2.5, (4, 20, tree.n))
    assert abs(dyn.mechanisms.constraint_residual(system, rows[0])).max() < 1e-13
    for k, A in enumerate(dyn.mechanisms.constraint_matrices(system, *rows)):
        assert abs(A).max() < 1e-12 * 30**k


@pytest.mark.parametrize("free", JOINTS.values(), ids=JOINTS)
def test_matrix_is_the_derivative_of_the_residual(free):
    system, q = loop_in_tree(free)
    assert abs(dyn.mechanisms.constraint_residual(system, q)).max() < 1e-14
    (A,) = dyn.mechanisms.constraint_matrices(system, q)
    h = 1e-5
    steps = q + h * np.array([1, -1])[:, None, None] * np.eye(system.n)
    ahead, behind = dyn.mechanisms.constraint_residual(system, steps)
    np.testing.assert_allclose((ahead - behind).T / (2 * h), A, atol=1e-8)


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_derivatives_of_the_matrix(mechanism):
    """A^T A does not depend on the basis of the wrenches; 40 digits of its three derivatives."""
    rows = mechanism.motion()
    A = dyn.mechanisms.constraint_matrices(mechanism.system, *rows[:4])
    squares = leibniz.product(leibniz.transpose(A), A)
    B = reference_matrix(mechanism._replace(rows=slice(None)), rows)
    if mechanism.system.tree.name == "four_bar":  # the reference has no zero rows
        assert abs(np.delete(np.array(A), (2, 3), axis=1)).max() < 1e-15
    expected = ref.derivatives(ref.times(ref.transpose(B), B))[:4]
    for actual, wanted in zip(squares, expected.astype(float), strict=True):
        assert ref.error(actual.ravel(), wanted.ravel()) < 1e-13


@pytest.mark.parametrize("free", JOINTS.values(), ids=JOINTS)
def test_transmitted_wrenches(free):
    """Orthonormal in the first frame; their power on the two bodies gives the rows of A."""
    system, q = loop_in_tree(free)
    q, qd = dyn.mechanisms.consistent_motion(system, q, np.ones(system.n))
    W = constraint_terms(system, q).transmitted["loop"]
    loop = system.constraints[0]
    pose = dyn.frame_pose(system.tree, q, loop.first) @ loop.first_pose
    N = dyn.se3.Ad(pose).T @ W
    np.testing.assert_allclose(N.T @ N, np.eye(loop.size), atol=1e-13)
    J1, J2 = (dyn.jacobian(system.tree, q, body) for body in (loop.first, loop.second))
    (A,) = dyn.mechanisms.constraint_matrices(system, q)
    np.testing.assert_allclose(W.T @ (J2 - J1), A, atol=1e-13)
    assert abs(A @ qd).max() < 1e-12  # they do no work


def test_the_universal_joint_is_found_at_any_angle():
    """The closure is found from a distance, with several starts of Newton's method."""
    free = dyn.universal((0, 0, 0), (0, 0, 1), (1, 0, 0))
    tree = dyn.model_from_screws(
        [-1], [free], [np.eye(4)], [random_inertia(np.random.default_rng(0))]
    )
    system = dyn.mechanisms.ConstrainedModel(
        tree, [dyn.mechanisms.LoopClosure("cross", "base", "body1", free)]
    )
    angles = np.linspace(-3.1, 3.1, 15)
    q = np.stack(np.meshgrid(angles, angles), axis=-1)
    assert abs(dyn.mechanisms.constraint_residual(system, q)).max() < 1e-13


# redundancy


def test_three_of_five_rows_are_redundant_in_a_plane_and_named():
    m = four_bar()
    assert dyn.mechanisms.redundant_constraints(m.system, m.q) == (
        "loop 'pin': rotation about x",
        "loop 'pin': rotation about y",
        "loop 'pin': translation along z",
    )
    assert len(dyn.mechanisms.redundant_constraints(five_bar("a").system, five_bar("a").q)) == 3
    assert dyn.mechanisms.redundant_constraints(delta().system, delta().q) == ()


def test_names_of_directions():
    names = constraint_terms(*loop_in_tree(dyn.revolute(X, (0, 0, 0.5)))).names
    assert "loop 'loop': rotation about z" in names
    assert sum("motion against the wrench" in name for name in names) == 1
    assert "loop 'loop': translation along x" in names
    slanted = constraint_terms(*loop_in_tree(dyn.prismatic((1, 1, 0)))).names
    assert any("0.707, 0)" in name and "-0.707" in name for name in slanted)
    assert (
        constraint_terms(*loop_in_tree(CHAINS["universal"]))
        .names[3]
        .endswith("transmitted by its joint")
    )


def test_kept_rows_span_all_rows():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 3)) @ rng.normal(size=(3, 8))
    system, _ = loop_in_tree(())
    kept = independent_rows(system, A, np.ones(6))
    assert len(kept) == 3
    assert np.linalg.matrix_rank(A[kept], tol=1e-10) == 3


def test_the_scale_of_a_constraint_has_no_effect():
    """A user's row in other units does not count as zero next to the metres of a loop."""
    m = four_bar()
    tiny = dyn.mechanisms.ConstraintMatrix(
        "tiny", 1, lambda q: 1e-12 * X[None], lambda q, qd: 0 * X[None]
    )
    system = dyn.mechanisms.ConstrainedModel(m.system.tree, [*m.system.constraints, tiny])
    assert len(dyn.mechanisms.redundant_constraints(system, m.q)) == 3


def test_a_batch_with_a_singular_state():
    A = np.stack([np.eye(6, 4), np.diag([1.0, 1, 1, 0, 0, 0])[:, :4]])
    with pytest.raises(dyn.DynamicsError, match="rank 3 in one state of the batch and a higher"):
        independent_rows(loop_in_tree(())[0], A, np.ones((2, 6)))


# a user's matrix, batches, errors


def gear(**changes):
    """q_1 + 2 q_2^2 = 0 in the tree of the four-bar."""
    functions = {
        "A": lambda q: [[1, 4 * q[1], 0]],
        "A_dot": lambda q, qd: [[0, 4 * qd[1], 0]],
        "f": lambda q: [q[0] + 2 * q[1] ** 2],
    } | changes
    return dyn.mechanisms.ConstrainedModel(
        four_bar().system.tree, [dyn.mechanisms.ConstraintMatrix("gear", 1, **functions)]
    )


def test_user_functions():
    q, qd = np.arange(6.0).reshape(2, 3), np.ones((2, 3))
    A, A_dot = dyn.mechanisms.constraint_matrices(gear(), q, qd)
    np.testing.assert_array_equal(A[:, 0], [[1, 4, 0], [1, 16, 0]])
    np.testing.assert_array_equal(A_dot[:, 0], [[0, 4, 0]] * 2)
    np.testing.assert_array_equal(dyn.mechanisms.constraint_residual(gear(), q)[:, 0], [2, 35])
    np.testing.assert_array_equal(dyn.mechanisms.constraint_residual(gear(f=None), q), 0)


@pytest.mark.parametrize(
    ("changes", "rows", "message"),
    [
        ({"A": lambda q: np.zeros((2, 3))}, 1, r"constraint 'gear': A: expected .*1, 3\)"),
        ({"A": lambda q: [[1, np.nan, 0]]}, 1, "constraint 'gear': A.*nan"),
        ({"f": lambda q: np.zeros(2)}, 2, "constraint 'gear': f: expected shape"),
        ({}, 3, "constraint 'gear': A_ddot is required for this derivative"),
    ],
)
def test_wrong_user_functions(changes, rows, message):
    with pytest.raises(dyn.InputError, match=message):
        dyn.mechanisms.constraint_matrices(gear(**changes), *np.zeros((rows, 3)))


def test_user_functions_cannot_change_the_state():
    def spoil(q):
        q[:] = 7
        return [[1, 0, 0]]

    q = np.zeros(3)
    dyn.mechanisms.constraint_matrices(gear(A=spoil), q)
    assert not q.any()


@pytest.mark.parametrize("free", [JOINTS["revolute"], JOINTS["universal"]])
def test_batches(free):
    system, q = loop_in_tree(free)
    rows = q + np.random.default_rng(5).normal(scale=0.2, size=(3, 2, 4, system.n))
    together = dyn.mechanisms.constraint_matrices(system, *rows)
    assert dyn.mechanisms.constraint_residual(system, rows[0]).shape == (2, 4, system.m)
    for A, k in zip(together, range(3), strict=True):
        alone = dyn.mechanisms.constraint_matrices(system, *rows[:, 1, 2])[k]
        np.testing.assert_allclose(A[1, 2], alone, rtol=1e-11, atol=1e-11)
    empty = dyn.mechanisms.constraint_matrices(system, np.zeros((0, system.n)))[0]
    assert empty.shape == (0, system.m, system.n)


def test_wrong_states():
    system = four_bar().system
    with pytest.raises(dyn.InputError, match="q: expected shape"):
        dyn.mechanisms.constraint_residual(system, np.zeros(4))
    with pytest.raises(dyn.InputError, match="qdd was given without qd"):
        dyn.mechanisms.constraint_matrices(system, np.zeros(3), None, np.zeros(3))


def test_the_rank_does_not_depend_on_the_order_of_the_two_bodies():
    for mechanism in MECHANISMS.values():
        system, q = mechanism.system, mechanism.q
        swapped = [
            dyn.mechanisms.LoopClosure(
                c.name, c.second, c.first, c.free[::-1], c.second_pose, c.first_pose
            )
            for c in system.constraints
        ]
        other = dyn.mechanisms.ConstrainedModel(system.tree, swapped)
        count = len(dyn.mechanisms.redundant_constraints(system, q))
        assert len(dyn.mechanisms.redundant_constraints(other, q)) == count
