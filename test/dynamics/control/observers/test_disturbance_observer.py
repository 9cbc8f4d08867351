# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The momentum observer against known wrenches on simulated robots, and its discretisation."""

import numpy as np
import pytest

from flat_motions import linear_springs
from multibody_dynamics.dynamics.control import DisturbanceObserver
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.model import MultibodyModel
from multibody_dynamics.dynamics.motion import Reference, sum_of_sines
from multibody_dynamics.dynamics.rigid import gravity_forces, inverse_dynamics, jacobian
from rejections import assert_rejected
from robots import panda, random_tree

READY = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5])
WRENCH = np.array([3.0, -2.0, 4.0, 12.0, -15.0, 20.0])


def motion(model: MultibodyModel, start: float = 0.0) -> Reference:
    rng = np.random.default_rng(4)
    a, b = rng.uniform(-0.5, 0.5, (2, model.n, 3))
    offset = READY if model.n == 7 else np.zeros(model.n)
    return sum_of_sines(model.joint_names, offset, a, b, 3.0, 3.0, start_time=start)


def run(observer: DisturbanceObserver, model, external, step: float, start=1.0, end=2.0):
    """Residuals (k, n) along the motion, with Q = inverse dynamics - external(t, q)."""
    reference = motion(model)
    residuals = []
    for t in start + step * np.arange(round((end - start) / step) + 1):
        q, qd, qdd = reference(t)[:3]
        Q = inverse_dynamics(model, q, qd, qdd).tau - external(t, q)
        residuals.append(observer.update(t, q, qd, Q).copy())
    return np.array(residuals)


def nothing(t: float, q: np.ndarray) -> float:
    return 0.0


@pytest.mark.parametrize("model", [panda(), random_tree(6, 2)])
def test_a_motion_shows_only_as_the_error_of_the_trapezoidal_rule(model):
    coarse, fine = (
        np.abs(run(DisturbanceObserver(model, 30.0), model, nothing, step)).max()
        for step in (2e-3, 1e-3)
    )
    scale = max(np.abs(inverse_dynamics(model, *motion(model)(t)[:3]).tau).max() for t in (1, 2))
    assert fine < 1e-4 * scale
    assert coarse / fine == pytest.approx(4.0, rel=0.05)


def test_a_constant_torque_appears_with_the_time_constant_at_any_steps():
    model = panda()
    gain = np.linspace(10.0, 60.0, 7)
    constant = np.linspace(-3.0, 4.0, 7)
    observer = DisturbanceObserver(model, gain)
    rng = np.random.default_rng(1)
    hold = gravity_forces(model, READY) - constant
    t = 5.0
    observer.update(t, READY, np.zeros(7), hold)
    for _ in range(40):
        t += rng.uniform(1e-4, 0.04)
        residual = observer.update(t, READY, np.zeros(7), hold)
        wanted = constant * -np.expm1(-gain * (t - 5.0))
        np.testing.assert_allclose(residual, wanted, rtol=1e-11, atol=1e-11)
    assert observer.starts == 1


def test_a_known_wrench_on_a_moving_arm_converges_to_its_joint_torques():
    model, gain = panda(), 40.0

    def torque(t: float, q: np.ndarray) -> np.ndarray:
        J = jacobian(model, q, model.body_names[-1])
        return J.T @ WRENCH

    residuals = run(DisturbanceObserver(model, gain), model, torque, 1e-3)
    wanted = np.array([torque(t, motion(model)(t)[0]) for t in 1.0 + 1e-3 * np.arange(1001)])
    filtered = np.zeros_like(wanted)  # r' = L (tau - r) by the exact solution for linear pieces
    decay = np.exp(-gain * 1e-3)
    for k in range(1, len(wanted)):
        slope = (wanted[k] - wanted[k - 1]) / 1e-3
        steady = wanted[k] - slope / gain
        filtered[k] = steady + (filtered[k - 1] - steady + slope * 1e-3) * decay
    np.testing.assert_allclose(residuals, filtered, atol=2e-3)
    assert np.abs(wanted).max() > 10.0
    late = np.abs(residuals - wanted)[500:].max()
    assert late < 1.2 * np.abs(np.diff(wanted[500:], axis=0)).max() / 1e-3 / gain


def test_a_torque_sensor_at_a_rigid_joint_excludes_rotor_and_friction():
    sources = ("torque_sensor", *["motor_torque"] * 6)
    joints = linear_springs(panda().joint_names, np.inf, 0.3, sources, viscous=2.0)
    observer = DisturbanceObserver.of_motors(panda(), joints, 30.0)
    np.testing.assert_array_equal(observer.model.reflected_inertia, [0.0, *[0.3] * 6])
    np.testing.assert_allclose(observer.friction(np.ones(7)), [0.0, *[2.0] * 6])
    others = linear_springs(tuple("abcdefg"), np.inf, 0.3)
    with pytest.raises(InputError, match="actuators belong to joints a, b"):
        DisturbanceObserver.of_motors(panda(), others, 30.0)


def test_time_jumps_gaps_and_repeats():
    model = panda()
    observer = DisturbanceObserver(model, 50.0, max_step=0.02)
    pushed = gravity_forces(model, READY) - 1.0
    rest = np.zeros(7)
    for t in (0.0, 0.01, 0.02):
        observer.update(t, READY, rest, pushed)
    before = observer.residual.copy()
    assert (before > 0.6).all()
    for t in (0.02, 0.02 - 1e-6):
        observer.update(t, READY, rest, pushed + 50.0)
        np.testing.assert_array_equal(observer.residual, before)
    assert not observer.update(0.05, READY, rest, pushed).any()  # a gap
    observer.update(0.06, READY, rest, pushed)
    assert not observer.update(0.01, READY, rest, pushed).any()  # backwards
    assert observer.starts == 3
    observer.update(0.02, READY, rest, pushed)
    observer.reset()
    assert not observer.residual.any()
    assert not observer.update(0.03, READY, rest, pushed).any()
    assert observer.starts == 4


def test_bad_inputs_are_rejected_and_change_nothing():
    model = panda()
    observer = DisturbanceObserver(model, 50.0)
    rest, pushed = np.zeros(7), gravity_forces(model, READY) - 1.0
    observer.update(0.0, READY, rest, pushed)
    observer.update(0.01, READY, rest, pushed)
    before = observer.residual.copy()
    broken = pushed.copy()
    broken[3] = np.nan
    assert_rejected(
        (lambda: observer.update(0.02, READY, rest, broken), "torque panda_joint4"),
        (lambda: observer.update(0.02, READY, rest[:6], pushed), "qd: expected shape"),
        (lambda: observer.update(np.nan, READY, rest, pushed), "t is nan"),
        (lambda: DisturbanceObserver(model, [1, 0, 1, 1, 1, 1, 1]), "'panda_joint2' gain 0"),
        (lambda: DisturbanceObserver(model, 1.0, max_step=0.0), "max_step"),
    )
    np.testing.assert_array_equal(observer.residual, before)
