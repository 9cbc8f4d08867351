# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Columns of springs, and joints with two motors or a variable stiffness that are identified with
the rest of the robot."""

from dataclasses import replace

import numpy as np
import pytest

from drive_runs import ENCODER, RATE, motion
from multibody_dynamics import dynamics as dyn
from robots import CONFIG

elastic, idn = dyn.elastic, dyn.identification
MOTOR = elastic.Motor(0.03, viscous=0.07)
REAL_MOTOR = elastic.Motor(0.036, viscous=0.1, coulomb=0.15, coulomb_velocity=0.08)
TENDON = elastic.PolynomialSpring((10.0, 45.0, 20.0), travel=(0.0, 0.9))
HARDENING = elastic.CubicSpring(1.0, 3.0, travel=(-0.5, 0.5))
KINDS = {
    "series": elastic.SeriesElastic(MOTOR, elastic.CubicSpring(80.0, 300.0)),
    "antagonistic": elastic.Antagonistic(MOTOR, MOTOR, TENDON, TENDON),
    "variable": elastic.VariableStiffness(MOTOR, (50.0, 200.0), HARDENING),
    "driven": elastic.VariableStiffness(
        MOTOR, (50.0, 200.0), HARDENING, elastic.StiffnessDrive(MOTOR, 40.0, 60.0)
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_the_coefficients_by_complex_steps(kind):
    springs = KINDS[kind].identification("elbow")
    for columns in (springs.torque, *springs.loads):
        _, slope = columns.coefficients(springs.values)
        for r in range(len(springs.values)):
            h = 1e-30j * np.eye(len(springs.values))[r]
            values = springs.values + h
            own = [np.prod(values[list(factor)]).imag / 1e-30 for factor in columns.factors]
            assert np.allclose(own, slope[:, r], rtol=1e-14)


def arm(kind):
    """The arm of the configuration files with this kind of elbow, as drawn and as it is."""
    model = dyn.load_urdf(CONFIG / "robots" / "antagonistic_elbow.urdf")
    file = CONFIG / "elastic_joints" / "antagonistic.yaml"
    drawn = elastic.load_actuators(file, model.joint_names, model.joint_types)
    shoulder, elbow = drawn.actuators
    real_shoulder = replace(shoulder, spring=elastic.LinearSpring(1.2 * shoulder.spring.K))
    if kind == "antagonistic":
        stiffer, softer = (
            elastic.PolynomialSpring(tuple(x * c for c in TENDON.coefficients), travel=(0.0, 1.5))
            for x in (1.15, 0.85)
        )
        real = replace(
            elbow, agonist=REAL_MOTOR, antagonist=REAL_MOTOR, agonist_spring=stiffer,
            antagonist_spring=softer,
        )  # fmt: skip
    else:
        elbow = replace(KINDS[kind], stiffness_range=(20.0, 400.0))
        shape = elastic.CubicSpring(1.0, 4.0)
        drive = elastic.StiffnessDrive(REAL_MOTOR, 46.0, 52.0) if kind == "driven" else None
        real = replace(elbow, motor=REAL_MOTOR, shape=shape, drive=drive)
    names = drawn.joint_names
    return (
        model,
        elastic.Actuators(names, (shoulder, elbow)),
        elastic.Actuators(names, (real_shoulder, real)),
    )


def run_of(kind, seed=0, noise=0.01):
    """A recording of the real arm while the stiffness of its elbow changes."""
    model, drawn, real = arm(kind)
    rows = motion(model, 20.0, seed)
    t = np.arange(rows.shape[1])[:, None] / RATE
    w = 2.1 + 0.4 * seed
    second = np.stack(
        [100.0 + 20.0 * np.sin(w * t), 20.0 * w * np.cos(w * t), -20.0 * w**2 * np.sin(w * t)],
        axis=-2,
    )
    tau = np.stack(dyn.inverse_dynamics(model, *rows), axis=-2)
    moved = elastic.motor_motion(real, np.moveaxis(rows, 0, -2), tau, second)
    rng = np.random.default_rng(seed + 7)
    torque = moved.torque + noise * rng.normal(size=moved.torque.shape)
    q, theta = (ENCODER * np.round(x / ENCODER) for x in (rows[0], moved.position))
    stiffness = np.full_like(q, np.nan)
    if kind == "variable":
        stiffness[:, 1] = second[:, 0, 0]
    return model, drawn, real, idn.MeasuredRun(
        "run", RATE, q=q, theta=theta, motor_torque=torque,
        stiffness=stiffness if kind == "variable" else None,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["antagonistic", "driven", "variable"])
def test_an_elbow_with_two_motors_or_variable_stiffness_is_identified(kind):
    model, drawn, real, run = run_of(kind)
    found = idn.identify_robot(model, [run], drawn).robot
    assert set(found.motors) == set(real.motor_names)
    for name, motor in zip(real.motor_names, real.motors, strict=True):
        # From 1 rad/s, the fit of the third kind ends at a large Coulomb velocity, where viscous
        # and Coulomb friction are alike; they are then reported as not determined.
        for key in ("inertia",) if kind == "variable" else ("inertia", "viscous"):
            each = found.motors[name][key]
            assert each.determined
            assert abs(each.value - getattr(motor, key)) < 4.5 * each.error, (name, key)
    true = {"shoulder": {"stiffness": real.actuators[0].spring.K}}
    elbow = real.actuators[1]
    if kind == "antagonistic":
        for owner, spring in zip(("agonist", "antagonist"), elbow.springs, strict=True):
            names = ("c1", "c2", "c3")
            true[f"elbow_{owner}"] = dict(zip(names, spring.coefficients, strict=True))
    elif kind == "driven":
        true["elbow"] = {"stiffness_offset": 46.0, "stiffness_gain": 52.0, "hardening": 4.0}
    else:
        true["elbow"] = {"stiffness_scale": 1.0, "hardening": 4.0}
    for owner, values in true.items():
        for key, value in values.items():
            each = found.springs[owner][key]
            assert each.determined
            assert abs(each.value - value) < 4.5 * each.error, (owner, key)
            assert each.error < 0.1 * abs(value)
    new = found.actuators.actuators[1]
    assert type(new) is type(elbow)
    for own, spring in zip(new.springs, elbow.springs, strict=True):
        middle = 0.25
        assert own.torque(middle) == pytest.approx(float(spring.torque(middle)), rel=0.01)


def test_what_such_a_joint_needs_is_said():
    model, drawn, _, run = run_of("antagonistic")
    with pytest.raises(dyn.InputError, match=r"joint 'elbow': has two motors.*elbow_antagonist"):
        idn.identify_robot(model, [replace(run, theta=None)], drawn)
    wrong = replace(run, theta=run.theta[:, :2], motor_torque=run.motor_torque[:, :2])
    with pytest.raises(dyn.InputError, match="run 'run' has 2 motors, the robot 3"):
        idn.identify_robot(model, [wrong], drawn)
    model, drawn, _, run = run_of("variable")
    with pytest.raises(dyn.InputError, match=r"joint 'elbow': its stiffness is an input"):
        idn.identify_robot(model, [replace(run, stiffness=None)], drawn)
