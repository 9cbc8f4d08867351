# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Errors of encoders are recognised and corrected, and friction is then found where it acts."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification import (
    IdentificationSettings,
    MeasuredRun,
    identify_robot,
)
from multibody_dynamics.dynamics.identification.drives.sensor_errors import (
    SensorErrors,
    corrected,
)

RATE, LATE, ZERO = 250.0, 3e-3, (2e-3, -3e-3)
STIFFNESS, ROTOR, VISCOUS, COULOMB = 20_000.0, 2.0, 30.0, 12.0
FREQUENCIES = ((1.3, 2.9, 5.3), (1.9, 3.7, 6.1))


@pytest.fixture(scope="module")
def arm():
    return dyn.load_urdf("config/robots/planar_two_link.urdf")


def recorded(arm, late, zeros, seed=1):
    """Positions and motor torques of an arm with stiff springs and friction of the motors alone."""
    t = np.arange(0.0, 16.0, 1.0 / RATE)
    rows = np.zeros((5, len(t), 2))
    for j, own in enumerate(FREQUENCIES):
        for w in own:
            for k in range(5):
                rows[k, :, j] += 0.6 / w * w**k * np.sin(w * t + seed + k * np.pi / 2.0)
    Q, Qd, Qdd = dyn.inverse_dynamics(arm, *rows)
    theta, thetad, thetadd = (
        x + y / STIFFNESS for x, y in zip(rows[:3], (Q, Qd, Qdd), strict=True)
    )
    tau = Q + ROTOR * thetadd + VISCOUS * thetad + COULOMB * np.tanh(thetad / 0.02)
    rng = np.random.default_rng(seed)
    q = CubicSpline(t, rows[0])(t - late) - np.asarray(zeros)
    return MeasuredRun(
        f"run {seed}", RATE, q=q[8:], theta=theta[8:],
        motor_torque=(tau + rng.normal(scale=0.2, size=tau.shape))[8:],
    )  # fmt: skip


def actuators(arm):
    motor = dyn.Motor(inertia=ROTOR, viscous=10.0, coulomb=5.0, coulomb_velocity=0.02)
    spring = dyn.LinearSpring(STIFFNESS)
    return dyn.Actuators(arm.joint_names, (dyn.SeriesElastic(motor, spring),) * 2)


def test_a_late_and_shifted_encoder_is_corrected_and_named(arm):
    runs = [recorded(arm, LATE, ZERO, seed) for seed in (1, 2)]
    found = identify_robot(
        arm, runs[:1], actuators(arm), held_out=runs[1:], settings=IdentificationSettings(8.0)
    )
    for joint in arm.joint_names:
        assert found.robot.delays[joint]["encoder"].value == pytest.approx(LATE, rel=0.1)
        motor = found.robot.motors[joint]
        assert motor["viscous"].value == pytest.approx(VISCOUS, rel=0.1)
        assert motor["coulomb"].value == pytest.approx(COULOMB, rel=0.1)
        assert found.robot.joints[joint]["viscous"].value == 0.0  # as known before
    text = "\n".join(found.notes)
    assert "+3 ms behind that of the motor" in text
    assert "theta - q is too large by" in text
    for each in found.residuals:
        assert each.held_after < 1.5 * each.after + 0.02 * each.held_size


def test_sound_encoders_are_not_corrected(arm):
    run = recorded(arm, 0.0, (0.0, 0.0))
    found = identify_robot(arm, [run], actuators(arm), settings=IdentificationSettings(8.0))
    assert not any("encoder" in each for each in found.robot.delays.values())
    assert not any("corrected" in note for note in found.notes)


def test_correction_undoes_delay_and_zero(arm):
    late, right = recorded(arm, LATE, ZERO), recorded(arm, 0.0, (0.0, 0.0))
    found = corrected(late, np.full(2, LATE), np.array(ZERO))
    edge = round((found.start - late.start) * RATE)
    inner = slice(edge + 10, -edge - 10)
    assert np.abs(found.q[10:-10] - right.q[inner]).max() < 1e-6
    assert np.array_equal(found.theta, right.theta[edge:-edge])
    assert SensorErrors(np.zeros(2)).corrected([late])[0] is late
