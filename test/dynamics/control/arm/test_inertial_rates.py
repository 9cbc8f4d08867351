# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Torques on a base that an IMU measures, against those on the base whose motion is known."""

import numpy as np

from moving_bases import PLACE, SECOND, imu, points
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control.arm.base_reference import BaseReference
from multibody_dynamics.dynamics.control.arm.inertial_rates import inertial_rates
from reference import error
from robots import panda

H = 2_000_000  # ns


def test_torques_with_rates_are_those_on_the_moving_base():
    """Derivatives of what the IMU measures are differences to eighth order in time."""
    model, known = panda(), BaseReference()
    known.plan(0, *points(np.linspace(0.0, 2.0, 9)))
    now = int(1.1 * SECOND)  # between two points, where its derivatives are smooth
    steps = np.arange(-4, 5)
    taylor = np.linalg.inv(np.vander(1e-9 * H * steps, increasing=True))
    samples = np.array([np.hstack(imu(*known.at(now + k * H), model.gravity)) for k in steps])
    measured = (taylor @ samples)[:4] * np.array([[1.0], [1.0], [2.0], [6.0]])
    rates = np.zeros((4, 6))
    inertial_rates(measured, model.gravity[None], PLACE[None], rates)
    state = np.random.default_rng(1).normal(size=(5, model.n))
    found = dyn.inverse_dynamics(model, *state, base=dyn.BaseMotion(None, *rates))
    pose, true = known.at(now)
    expected = dyn.inverse_dynamics(model, *state, base=dyn.BaseMotion(pose, *true))
    still = dyn.inverse_dynamics(model, *state)
    for row, wanted, without in zip(found, expected, still, strict=True):
        assert error(row, wanted) < 1e-6
        assert error(without, wanted) > 1e-2
