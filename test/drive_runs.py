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


FINER = 4  # of the steps by which drives with effects are differentiated
LIMITS = np.array([1.0, 2.0, 3.0, 4.0]) / 4.0


def slipped(torque, stiffness, width, reach):
    """The deflection (k,) of a spring beside four Maxwell elements that carry `width` if all slide,
    the last one at the deflection `reach`, by Newton's method on its piecewise linear law."""
    k, limits = width / (reach * LIMITS.sum()), reach * LIMITS
    e, before, found = np.zeros(4), 0.0, np.zeros(len(torque))
    for i, wanted in enumerate(torque.tolist()):
        phi = before
        for _ in range(8):
            free = e + (phi - before)
            own = np.clip(free, -limits, limits)
            left = wanted - stiffness * phi - k * own.sum()
            if abs(left) < 1e-12:
                break
            phi += left / (stiffness + k * np.count_nonzero(own == free))
        e, before = np.clip(e + (phi - before), -limits, limits), phi
        found[i] = phi
    return found


def real_run(duration=24.0, seed=0, noise=0.03, width=0.0, reach=6e-3, gap=0.0, error=0.0,
             bristle=0.0, coulomb=0.0, load=0.0):  # fmt: skip
    """A run of the real planar arm without sensors. Its springs have hysteresis of this width and a
    gap, its gears an error at twice the turn of the shaft, and its links Coulomb friction, with a
    share of the load, whose bristles bend by this distance; all by step-by-step laws of their
    own."""
    model, actuators = real_planar()
    rows = motion(model, duration, seed, RATE * FINER)
    Q = dyn.inverse_dynamics(model, *rows[:3]).tau
    theta, torque = np.zeros((2, *Q.shape))
    for j, each in enumerate(actuators.actuators):
        q, own = rows[0, :, j], Q[:, j]
        if coulomb:
            z = np.zeros(len(q))
            for i, way in enumerate(np.diff(q)):
                z[i + 1] = np.sign(way) + (z[i] - np.sign(way)) * np.exp(-abs(way) / bristle)
            own = own + (coulomb + load * np.abs(own)) * z
        phi = own / each.spring.K if not width else slipped(own, each.spring.K, width, reach)
        phi = phi + 0.5 * gap * np.clip(own / (each.spring.K * 5e-4), -1.0, 1.0)
        n = 2.0 * each.motor.gear_ratio
        wanted = q + phi
        turned = wanted.copy()
        for _ in range(60):
            turned = wanted - error * np.sin(n * turned + 0.5)
        theta[:, j] = turned
        driven = own * (1.0 + error * n * np.cos(n * turned + 0.5))
        rate = np.gradient(turned, 1.0 / (RATE * FINER))
        torque[:, j] = each.motor.inertia * np.gradient(rate, 1.0 / (RATE * FINER)) + driven
        law = each.motor
        torque[:, j] += law.viscous * rate + law.coulomb * np.tanh(rate / law.coulomb_velocity)
    rng = np.random.default_rng(seed + 100)
    q, theta, torque = (np.ascontiguousarray(x[::FINER]) for x in (rows[0], theta, torque))
    torque += noise * rng.normal(size=torque.shape)
    q, theta = (ENCODER * np.round(x / ENCODER) for x in (q, theta))
    return idn.MeasuredRun(f"run{seed}", RATE, q=q, theta=theta, motor_torque=torque)
