# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""u = M q_r'' + C q_r' + g and its rates: closed forms, complex step, laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid
from multibody_dynamics.dynamics.core.batches import times
from reference import error, worst
from rejections import assert_rejected
from robots import draw, panda, random_base, random_tree, random_wrenches

SEEDS = st.integers(0, 2**32 - 1)
EQUAL = 1e-12
passive = rigid.passive_inverse_dynamics


def rows(model, *shape, seed=1):
    """State q .. q''' and reference q_r' .. q_r''''."""
    return draw(model, 4, *shape, seed=seed), draw(model, 4, *shape, seed=seed + 1)


def rotors(model):
    return model.with_reflected_inertia(np.linspace(0.1, 0.4, model.n))


@settings(max_examples=15)
@given(SEEDS)
def test_the_closed_forms_give_the_same(seed):
    model = rotors(random_tree(6, seed))
    (q, qd, _, _), reference = rows(model, 3, seed=seed)
    M, C = dyn.mass_matrix(model, q), dyn.coriolis_matrix(model, q, qd)
    expected = times(M, reference[1]) + times(C, reference[0]) + dyn.gravity_forces(model, q)
    u = passive(model, (q, qd), reference[:2])
    assert u.tau_dot is None
    assert error(u.tau, expected) < EQUAL


@settings(max_examples=15)
@given(SEEDS)
def test_rates_are_derivatives_by_complex_step(seed):
    model = rotors(random_tree(6, seed))
    state, reference = rows(model, seed=seed)
    u = passive(model, state, reference)
    step = 1e-30j
    moved = [[x[k] + step * x[k + 1] for k in range(3)] for x in (state, reference)]
    ahead = rigid.generic_passive_inverse_dynamics(model, *moved)
    slopes = np.array([[complex(x).imag for x in row] for row in ahead]) / step.imag
    assert error(u.tau_dot, slopes[0]) < EQUAL
    assert error(u.tau_ddot, slopes[1]) < EQUAL


@pytest.mark.parametrize("seed", range(3))
def test_base_motion_and_wrenches_enter_as_in_inverse_dynamics(seed):
    model = random_tree(6, seed)
    state, base = draw(model, 5, seed=seed), random_base(seed)
    both = {"base": base, "wrenches": random_wrenches(model)}
    expected = dyn.inverse_dynamics(model, *state, **both)
    assert worst(passive(model, state[:4], state[1:], **both), expected) < EQUAL


def test_on_a_moving_base_the_sliding_error_stays_passive():
    """Q - u = M s' + (C + a skew part of the base's motion) s."""
    model, base = random_tree(6, 5), random_base(6)
    state, reference = rows(model)
    q, qd, qdd, _ = state
    s, s_dot = qd - reference[0], qdd - reference[1]
    Q = dyn.inverse_dynamics(model, q, qd, qdd, base=base).tau
    power = s @ (Q - passive(model, state[:2], reference[:2], base=base).tau)
    M, Md = dyn.mass_matrix(model, q), rigid.mass_matrix_dot(model, q, qd)
    assert abs(power - s @ M @ s_dot - s @ Md @ s / 2) < EQUAL * abs(power) * 10


def test_the_cost_grows_linearly():
    """Operations for chains of general joints, counted by the numbers themselves."""

    class Counter:
        total = 0

        def _count(self, _other):
            Counter.total += 1
            return self

        def __neg__(self):
            return self

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _count

    totals = []
    for n in (5, 10, 20):
        model = random_tree(n, 1, kinds=("helical",), branching=0.0)
        Counter.total = 0
        state = [[Counter() for _ in range(n)] for _ in range(4)]
        rigid.generic_passive_inverse_dynamics(
            model, state, state, sin=lambda x: x, cos=lambda x: x
        )
        totals.append(Counter.total)
    assert totals[2] - totals[1] == 2 * (totals[1] - totals[0]) > 0


def test_wrong_rows_are_rejected_and_named():
    model, q = panda(), np.zeros(7)
    generic = rigid.generic_passive_inverse_dynamics
    assert_rejected(
        (lambda: passive(model, (q,), (q,)), "two to four rows"),
        (lambda: passive(model, (q, q), (q, q, q)), "two to four rows"),
        (lambda: passive(model, (q,) * 5, (q,) * 5), "two to four rows"),
        (lambda: passive(model, (q, q, q), (q, q, None)), "qrddd is required"),
        (lambda: generic(model, (q, q), (q[:2], q)), "qrd: expected 7 scalars"),
    )


@pytest.mark.parametrize("seed", range(3))
def test_reference_twists_are_jacobians_times_reference_rates(seed):
    """V_r = J q_r', and V_r' by complex step along the motion; on a moving base, V_r = V for
    q_r' = q'."""
    model, base = random_tree(6, seed), random_base(seed)
    state, reference = rows(model, seed=seed)
    found = rigid.reference_motion(model, state, reference)
    for i, name in enumerate(model.body_names):
        q, qd = state[:2]
        J = dyn.jacobian(model, q, name, representation="body")
        J_dot = dyn.jacobian_dot(model, q, qd, name, representation="body")
        assert error(found.reference_twists[0][i], J @ reference[0]) < EQUAL
        assert error(found.reference_twists[1][i], J @ reference[1] + J_dot @ reference[0]) < EQUAL
    moved = rigid.reference_motion(model, state[:3], state[1:], base=base)
    assert worst(moved.reference_twists[: len(moved.twists)], moved.twists) < EQUAL


@pytest.mark.parametrize("seed", range(4))
def test_moments_give_the_power_and_its_gradient(seed):
    """x . u = sum_i tr(L_i P_i) + rotors, for any x and any parameters."""
    model = random_tree(6, seed).with_reflected_inertia(np.full(6, 0.3))
    solver = rigid.PassiveInverseDynamicsSolver(model)
    state, reference = rows(model, seed=seed)
    base, x = random_base(seed), draw(model, 1, seed=seed)[0]
    solver.set_base(base)
    u = solver(state, reference)[0].copy()
    L = solver.power_moments(x)
    np.testing.assert_array_equal(L, np.swapaxes(L, 1, 2))
    rotors = x @ (model.reflected_inertia * reference[1])
    assert abs(np.sum(L * rigid.pseudo_inertias(model)) + rotors - x @ u) < 1e-12 * np.abs(u).sum()
    loaded = model.with_payload("body3", 1.5, (0.1, -0.2, 0.3), 0.01 * np.eye(3))
    more = rigid.passive_inverse_dynamics(loaded, state, reference, base=base).tau - u
    added = np.sum(L * (rigid.pseudo_inertias(loaded) - rigid.pseudo_inertias(model)))
    assert abs(added - x @ more) < 1e-12 * np.abs(u).sum()


def test_wrong_arguments_of_the_solver_are_named():
    model = random_tree(5, 3)
    solver = rigid.PassiveInverseDynamicsSolver(model)
    assert_rejected(
        (lambda: solver(draw(model, 3), draw(model, 4)), "expected 4 rows (q, ), got 3"),
        (lambda: solver.power_moments(np.full(5, np.inf)), "x: expected 5 finite numbers"),
    )
