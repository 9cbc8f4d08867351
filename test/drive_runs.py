# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recordings of arms with known parameters, from closed forms of the motion and the flat map."""

from dataclasses import replace

import numpy as np

from multibody_dynamics import dynamics as dyn
from robots import CONFIG

elastic, idn = dyn.elastic, dyn.identification

RATE = 500.0  # Hz
ENCODER = 2.0 * np.pi / 2**18
LINK_FRICTION = idn.JointFriction.smooth_coulomb([0.3, 0.2], [0.0, 0.0], [0.1, -0.2], 0.1)


def planar():
    """Two links in a vertical plane with linear springs, as drawn."""
    model = dyn.load_urdf(CONFIG / "robots" / "planar_two_link.urdf")
    springs = CONFIG / "elastic_joints" / "planar_two_link.yaml"
    return model, elastic.load_actuators(springs, model.joint_names, model.joint_types)


def real_planar(stiffer=1.2, cubic=0.0):
    """The same with other links, motors and springs."""
    model, actuators = planar()
    bodies = idn.nearest_consistent(idn.inertial_parameters(model).reshape(-1, 10))
    theta = idn.log_cholesky(bodies) + 0.06 * np.sin(np.arange(20.0)).reshape(2, 10)
    real = idn.with_inertial_parameters(model, idn.consistent_parameters(theta).ravel())
    found = []
    for actuator in actuators.actuators:
        motor = replace(
            actuator.motor, inertia=1.25 * actuator.motor.inertia, viscous=0.8, coulomb=0.6,
            coulomb_velocity=0.08,
        )  # fmt: skip
        K = stiffer * actuator.spring.K
        spring = elastic.CubicSpring(K, cubic * K) if cubic else elastic.LinearSpring(K)
        found.append(elastic.SeriesElastic(motor, spring))
    return real, elastic.Actuators(model.joint_names, tuple(found))


def motion(model, duration, seed=0, rate=RATE):
    """(5, k, n): q ... q'''' of sums of six sines of up to 1.5 Hz."""
    rng = np.random.default_rng(seed)
    t = np.arange(round(duration * rate)) / rate
    rows = np.zeros((5, len(t), model.n))
    for k in range(1, 7):
        w = 0.5 * np.pi * k
        for j, (size, phase) in enumerate(rng.uniform([0.1, 0.0], [0.5, 6.0], (model.n, 2))):
            for order in range(5):
                angle = w * t + phase + order * np.pi / 2.0
                rows[order, :, j] += size / k * w**order * np.sin(angle)
    return rows


def elastic_run(duration=16.0, seed=0, noise=0.05, **real):
    """A run of the real planar arm, with link and motor positions, sensor and motor torques."""
    model, actuators = real_planar(**real)
    rows = motion(model, duration, seed)
    tau, *rates = dyn.inverse_dynamics(model, *rows)
    first, second = LINK_FRICTION.rates(*rows[1:4])
    Q = np.stack(
        [tau + LINK_FRICTION.torque(rows[1]), rates[0] + first, rates[1] + second], axis=-2
    )
    moved = elastic.motor_motion(actuators, np.moveaxis(rows, 0, -2), Q)
    rng = np.random.default_rng(seed + 100)
    torque = moved.torque + noise * rng.normal(size=rows[0].shape)
    sensor = Q[..., 0, :] + noise * rng.normal(size=rows[0].shape)
    q, theta = (ENCODER * np.round(x / ENCODER) if noise else x for x in (rows[0], moved.position))
    return idn.MeasuredRun(f"run{seed}", RATE, q=q, theta=theta, sensor=sensor, motor_torque=torque)


def without(run, *signals):
    """The same run without some signals."""
    return replace(run, **dict.fromkeys(signals))
