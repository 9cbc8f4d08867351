# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Integration in joint coordinates: order, energy, stiff springs, projection onto loops."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from rejections import assert_rejected
from robots import panda

ROBOT = panda()
Q = np.array([0.3, -0.5, 0.2, -1.8, 0.1, 1.2, 0.4])
QD = np.array([0.5, 0.3, -0.4, 0.6, 1.0, -0.8, 0.2])
SPRINGS = dyn.integration.JointSprings(20.0, 0.05, Q + 0.1)


def law(t, q, qd):
    return np.sin(9 * t) - 0.1 * qd + np.cos(q)


def end(method, step, **options):
    options = {"torque": law, "springs": SPRINGS, **options}
    motion = dyn.integration.integrate_tree(ROBOT, Q, QD, 0.1, step, method=method, **options)
    return motion.q[-1]


@pytest.mark.parametrize(("method", "order"), [("rk2", 2), ("rk4", 4), ("rosenbrock", 4)])
def test_order_under_a_law_and_springs(method, order):
    exact = end("dormand_prince", 1e-3)
    errors = [np.abs(end(method, h) - exact).max() for h in (4e-3, 2e-3)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.5)
    adaptive = end("dormand_prince", 0.05, tolerances=dyn.integration.Tolerances(1e-9, 1e-11))
    np.testing.assert_allclose(adaptive, exact, atol=1e-8)


def test_energy_is_conserved_without_torque_and_torques_do_work():
    motion = dyn.integration.integrate_tree(ROBOT, Q, QD, 0.2, 1e-3)
    energy = dyn.rigid.kinetic_energy(ROBOT, motion.q, motion.qd) + dyn.rigid.potential_energy(
        ROBOT, motion.q
    )
    np.testing.assert_allclose(energy, energy[0], atol=1e-8)
    lifted = dyn.integration.integrate_tree(
        ROBOT, Q, 0 * QD, 0.1, 1e-3, torque=dyn.gravity_forces(ROBOT, Q)
    )
    np.testing.assert_allclose(lifted.q, np.broadcast_to(Q, lifted.q.shape), atol=1e-12)
    weight = {"panda_link7": [0, 0, 0, 0, 0, -50.0]}
    pulled = dyn.integration.integrate_tree(ROBOT, Q, 0 * QD, 1e-3, 1e-3, wrenches=weight)
    qdd = dyn.forward_dynamics(ROBOT, Q, 0 * QD, 0 * Q, wrenches=weight)
    np.testing.assert_allclose(pulled.qd[-1], 1e-3 * qdd, atol=1e-4)


def test_stiff_springs_with_steps_too_large_for_explicit_methods():
    """1e6 N m/rad on light joints: |lambda| h exceeds 10."""
    springs = dyn.integration.JointSprings(1e6, 50.0, Q)
    implicit = end("rosenbrock", 5e-3, springs=springs, torque=None)
    sag = -dyn.gravity_forces(ROBOT, Q) / 1e6
    np.testing.assert_allclose(implicit - Q, sag, atol=1e-4)
    with pytest.raises(dyn.DynamicsError), np.errstate(all="ignore"):
        end("rk4", 5e-3, springs=springs, torque=None)


def test_any_second_order_equation_and_projection():
    reported = []
    free = dyn.integration.integrate_joints(
        lambda t, q, qd: -q, [1.0], [0.0], 2.0, 0.01, progress=reported.append
    )
    np.testing.assert_allclose(free.q[:, 0], np.cos(free.time), atol=1e-9)
    assert reported[-1] == 1.0
    held = dyn.integration.integrate_joints(
        lambda t, q, qd: -q, [1.0, 0.0], [0.0, 1.0], 1.0, 0.1,
        project=lambda q, qd: (q / np.linalg.norm(q), qd - (q @ qd) * q / (q @ q)),
    )  # fmt: skip
    np.testing.assert_allclose(np.linalg.norm(held.q, axis=1), 1.0, atol=1e-15)
    assert free.q.shape == free.qd.shape == (201, 1)


def test_wrenches_on_two_names_of_one_body_act_together():
    """The flange and the hand are fixed to the last link."""
    wrench = np.array([1.0, -2.0, 0.5, 3.0, 4.0, -5.0])

    def moved(**wrenches):
        motion = dyn.integration.integrate_tree(ROBOT, Q, QD, 2e-3, 1e-3, wrenches=wrenches)
        return motion.qd[-1]

    both = moved(panda_link7=wrench, panda_link8=2.0 * wrench)
    np.testing.assert_allclose(both, moved(panda_link7=3.0 * wrench), rtol=1e-12)


def test_invalid_arguments_raise():
    def joints(acceleration):
        return dyn.integration.integrate_joints(acceleration, [0.0] * 2, [0.0] * 2, 0.1, 0.01)

    fit = {"tolerances": dyn.integration.Tolerances()}
    assert_rejected(
        (lambda: dyn.integration.integrate_tree(ROBOT, Q[:3], QD, 0.1, 0.01), "q: (..., 7)"),
        (lambda: dyn.integration.JointSprings(1.0, -1.0), "springs: damping is -1"),
        (lambda: end("rosenbrock", 0.01, **fit), "'rosenbrock' has a fixed step"),
        (lambda: end("rk5", 0.01), "unknown method 'rk5'"),
        (lambda: joints(lambda t, q, qd: np.zeros(3)), "acceleration at t = 0: expected shape 2"),
    )
