# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The derivatives of the coefficients agree with finite differences."""

import numpy as np

from drive_runs import elastic_run, planar, without
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.drives.robot_identification import _Identification

idn = dyn.identification


def test_derivatives_of_all_coefficients_by_differences():
    model, actuators = planar()
    run = elastic_run(16.0)
    currents = without(run, "motor_torque", "sensor")
    load = idn.CarriedPayload("load", 0.7)
    settings = idn.IdentificationSettings(
        stribeck=True, load_friction=True, gains={"shoulder": 2.0, "elbow": 1.5}
    )
    given = idn.MeasuredRun(
        "a", run.rate, q=currents.q, theta=currents.theta, current=run.motor_torque, payload=load
    )
    work = _Identification(model, [given], actuators, None, (), settings)
    work.begin()
    work.result()
    theta = np.array(work.parameters.mean) + 0.01 * np.cos(np.arange(len(work.parameters.names)))
    # Splines end at the bounds of velocities, where differences are one-sided.
    lower, upper = np.array(work.parameters.lower), np.array(work.parameters.upper)
    theta = np.clip(theta, lower + 0.01 * (upper < np.inf), upper - 0.01 * (lower > -np.inf))
    assert np.array(work.parameters.free).sum() > 40
    for channel in work.equations.channels:
        _, D = work.coefficients.of(channel, theta)
        for i in range(len(theta)):
            h = 1e-6 * max(abs(theta[i]), 1.0)
            after, before = (
                work.coefficients.of(channel, theta + step * np.eye(len(theta))[i])[0]
                for step in (h, -h)
            )
            assert np.allclose((after - before) / (2 * h), D[:, i], rtol=1e-5, atol=1e-6)
