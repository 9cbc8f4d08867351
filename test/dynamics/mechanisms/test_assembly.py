# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Closed configurations and consistent motions, against 40-digit series and least squares."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import JOINTS, MECHANISMS, X, four_bar, loop_in_tree, move, reference_motion
from multibody_dynamics import dynamics as dyn
from reference import error

LOOP = loop_in_tree(JOINTS["universal"])


def random_rows(system, seed=1, batch=()):
    return np.random.default_rng(seed).uniform(-1, 1, (5, *batch, system.n))


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_independent_joints_determine_the_motion(mechanism):
    system, q = mechanism.system, mechanism.q
    rows = random_rows(system)
    rows[0] = q
    expected = reference_motion(mechanism, q, rows[1:]).astype(float)
    motion = dyn.mechanisms.consistent_motion(system, *rows, fixed=mechanism.independent)
    for actual, wanted in zip(motion, expected, strict=True):
        assert error(actual, wanted) < 1e-13
    held = system.indices(mechanism.independent)
    np.testing.assert_array_equal(np.array(motion)[:, held], rows[:, held])


@pytest.mark.parametrize("free", JOINTS.values(), ids=JOINTS)
def test_any_loop_can_be_assembled(free):
    system, q = loop_in_tree(free)
    start = q + np.random.default_rng(3).normal(scale=0.1, size=(4, system.n))
    closed = dyn.mechanisms.assemble(system, start)
    assert abs(dyn.mechanisms.constraint_residual(system, closed)).max() < 1e-13
    assert abs(closed - start).max() < 1.5


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_correction_is_minimal_in_the_kinetic_metric(seed):
    """The correction is M-orthogonal to every motion that the constraints permit."""
    system, q = LOOP
    wanted = np.random.default_rng(seed).normal(size=system.n)
    _, qd = dyn.mechanisms.consistent_motion(system, q, wanted)
    (A,) = dyn.mechanisms.constraint_matrices(system, q)
    allowed = np.linalg.svd(A)[2][system.m :].T
    assert abs(A @ qd).max() < 1e-12
    assert allowed.shape[1] == system.n - system.m
    assert abs(allowed.T @ dyn.mass_matrix(system.tree, q) @ (wanted - qd)).max() < 1e-11
    again = dyn.mechanisms.consistent_motion(system, q, qd)
    np.testing.assert_allclose(again, (q, qd), atol=1e-12)


def test_the_two_ways_to_close_a_four_bar():
    m = four_bar()
    above = dyn.mechanisms.assemble(m.system, [0.7, 0.3, 1.5], fixed=["crank"])
    below = dyn.mechanisms.assemble(m.system, [0.7, -1.6, -2.0], fixed=["crank"])
    assert above[2] > 0 > below[2]


def test_a_turn_of_the_crank_as_one_batch():
    m = four_bar()
    angles = np.linspace(0, 2 * np.pi, 9)[:, None]
    start = np.broadcast_to(m.q, (9, 3)).copy()
    start[:, :1] = angles
    q = dyn.mechanisms.assemble(m.system, start, fixed=["crank"])
    assert abs(dyn.mechanisms.constraint_residual(m.system, q)).max() < 1e-14
    alone = dyn.mechanisms.assemble(m.system, start[4], fixed=["crank"])
    np.testing.assert_allclose(q[4], alone, atol=1e-13)


def test_bars_that_are_too_short():
    m = four_bar()
    loop = m.system.constraints[0]
    short = dyn.mechanisms.LoopClosure(
        "pin", loop.first, loop.second, loop.free, move((0.1, 0, 0)), loop.second_pose
    )
    system = dyn.mechanisms.ConstrainedModel(m.system.tree, [short])
    with pytest.raises(dyn.DynamicsError, match=r"no configuration found.*loop 'pin': translation"):
        dyn.mechanisms.assemble(system, m.start, fixed=["crank"])


def test_a_joint_without_inertia_is_named():
    m = four_bar()
    tree = m.system.tree
    only_crank = tree.link_inertias * np.array([1.0, 0.0, 0.0])[:, None, None]
    light = replace(m.system, tree=replace(tree, link_inertias=only_crank))
    with pytest.raises(dyn.DynamicsError, match=r"no metric: joint 'rocker'.*list it as independ"):
        dyn.mechanisms.assemble(light, m.start, fixed=["coupler"])
    with pytest.raises(dyn.DynamicsError, match=r"no metric: joint 'coupler'"):
        dyn.mechanisms.assemble(light, m.start, fixed=["rocker"])
    closed = dyn.mechanisms.assemble(light, m.q, fixed=["coupler", "rocker"])
    np.testing.assert_allclose(closed, m.q, atol=1e-12)


def test_too_many_fixed_joints():
    m = four_bar()
    q = m.q
    with pytest.raises(dyn.DynamicsError, match=r"no qd obeys the constraints.*loop 'pin'"):
        dyn.mechanisms.consistent_motion(m.system, q, [1.0, 1.0, 1.0], fixed=["crank", "rocker"])
    with pytest.raises(dyn.DynamicsError, match=r"state \[1\]"):
        dyn.mechanisms.assemble(m.system, [q, q + 0.1], fixed=["crank", "coupler", "rocker"])


def test_bad_input_is_rejected():
    m = four_bar()
    with pytest.raises(dyn.InputError, match="no joint 'hip'"):
        dyn.mechanisms.assemble(m.system, m.start, fixed=["hip"])
    with pytest.raises(dyn.InputError, match="qdd was given without qd"):
        dyn.mechanisms.consistent_motion(m.system, m.start, None, X)
    with pytest.raises(dyn.InputError, match="consistent_motion requires q"):
        dyn.mechanisms.consistent_motion(m.system, None)
