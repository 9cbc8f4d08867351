# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""With the true parameters, all equations hold for trees with prismatic and off-axis joints."""

import numpy as np
import pytest

from drive_runs import LINK_FRICTION, RATE, elastic_run, motion, planar, real_planar, without
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.drives.drive_equations import (
    DriveEquations,
    Options,
    filters_of,
    measured_signals,
)
from multibody_dynamics.dynamics.identification.drives.drive_parameters import (
    Coefficients,
    Parameters,
    add_body,
)
from multibody_dynamics.dynamics.identification.drives.spring_effects import SpringEffects
from robots import random_tree

idn = dyn.identification


def equations_of(model, actuators, run):
    has = measured_signals([run], model.n, model.n)
    return DriveEquations(model, actuators, has, np.ones((2, model.n)), {}, Options())


def residuals(model, equations, values, run):
    """rms of all equations of a run, and of their left sides, with these parameters."""
    parameters = Parameters()
    for body, ten in zip(
        model.body_names, idn.inertial_parameters(model).reshape(-1, 10), strict=True
    ):
        add_body(parameters, body, ten, 1.0, (1e-3, 1e3))
    for name, value in values.items():
        parameters.add(name, value, 1.0)
    coefficients = Coefficients(equations, parameters, np.zeros(model.n, dtype=bool))
    filters = filters_of(run.rate, 10.0)
    state = equations.states(run, run.stretches[0], filters)
    table = equations.table(run, state, (0.0, 1.0))
    (rows,) = filters.equations.blocks(table, len(state.times))
    found = []
    for channel, place in zip(equations.channels, equations.places, strict=True):
        z, _ = coefficients.of(channel, np.array(parameters.mean))
        error = rows[:, place] @ z
        size = np.abs(rows[:, place] * z).max()
        found.append(np.sqrt(np.mean(error**2)) / size)
    return np.array(found)


def friction_values(site, viscous, coulomb, offset, velocity):
    return {
        f"{site}.viscous": viscous,
        f"{site}.coulomb": coulomb,
        f"{site}.coulomb_velocity": np.log(velocity),
        f"{site}.offset": offset,
        f"{site}.viscous drift": 0.0,
        f"{site}.coulomb drift": 0.0,
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_equations_of_rigid_trees_hold(seed):
    rng = np.random.default_rng(seed)
    model = random_tree(4, seed)
    rows = motion(model, 4.0, seed)
    rotors = rng.uniform(0.1, 0.5, model.n)
    torque = dyn.inverse_dynamics(model, *rows[:3]).tau + rotors * rows[2]
    torque += 0.4 * rows[1] + 0.3 * np.tanh(rows[1] / 0.2) - 0.1
    run = idn.MeasuredRun("a", RATE, q=rows[0], motor_torque=torque)
    values = {}
    for joint, rotor in zip(model.joint_names, rotors, strict=True):
        values |= {
            f"{joint}.inertia": rotor,
            f"{joint}.command delay": 0.0,
            f"{joint}.log gain": 0.0,
        }
        values |= friction_values(f"link {joint}", 0.4, 0.3, -0.1, 0.2)
    assert residuals(model, equations_of(model, None, run), values, run).max() < 1e-3


def test_the_equations_of_an_arm_with_springs_hold():
    model, actuators = real_planar(cubic=40.0)
    run = elastic_run(4.0, noise=0.0, cubic=40.0)
    values = {}
    for j, joint in enumerate(model.joint_names):
        motor, spring = actuators.motors[j], actuators.actuators[j].spring
        values |= {
            f"{joint}.inertia": motor.inertia,
            f"{joint}.command delay": 0.0,
            f"{joint}.sensor delay": 0.0,
            f"{joint}.log gain": 0.0,
            f"{joint}.stiffness": spring.K,
            f"{joint}.cubic_stiffness": spring.K3,
            f"{joint}.damping": 0.0,
            f"{joint}.bias": 0.0,
            f"{joint}.sine of position": 0.0,
            f"{joint}.cosine of position": 0.0,
        }
        values |= friction_values(
            f"motor {joint}", motor.viscous, motor.coulomb, 0.0, motor.coulomb_velocity
        )
        values |= friction_values(
            f"link {joint}", LINK_FRICTION.viscous[j], 0.0, LINK_FRICTION.offset[j], 0.1
        )
    equations = equations_of(model, actuators, run)
    assert [each.kind for each in equations.channels] == 2 * ["motor", "spring", "link"]
    assert residuals(model, equations, values, run).max() < 1e-3
    bare = without(run, "sensor")
    equations = equations_of(model, actuators, bare)
    assert [each.kind for each in equations.channels] == 2 * ["motor", "link"]
    assert residuals(model, equations, values, bare).max() < 1e-3


def test_bristles_and_slip_elements_follow_reversals_that_the_states_smooth():
    """A ripple above the cut-off of the states makes both turn round; what it leaves below that
    cut-off is that of the whole way, to within a few percent."""
    model, actuators = planar()
    t = np.arange(0.0, 3.0, 1.0 / RATE)
    slow, ripple = np.sin(3.0 * t), np.sin(2.0 * np.pi * 25.0 * t)
    q = (0.3 * slow + 4e-4 * ripple)[:, None] * np.ones(model.n)
    theta = q + (6e-3 * slow + 2e-3 * ripple)[:, None]
    run = idn.MeasuredRun("a", RATE, q=q, theta=theta, motor_torque=0.0 * q)
    has, speeds = measured_signals([run], model.n, model.n), np.ones((2, model.n))
    options = Options(presliding=frozenset({f"link {model.joint_names[0]}"}))
    effects = {0: SpringEffects(model.joint_names[0], 8e-3, 100.0)}
    equations = DriveEquations(model, actuators, has, speeds, {}, options, effects=effects)
    filters = filters_of(RATE, 10.0)
    assert filters.states.gain(25.0) < 0.2
    state = equations.states(run, run.stretches[0], filters)
    settled = state.times >= state.settled[0]
    for found, whole, size in (
        (state.bristles["link", 0], equations.nodes["link"][0].bristles(q[:, 0]), 1.0),
        (state.slip[0], effects[0].slip((theta - q)[:, 0]), effects[0].limits),
    ):
        wanted = filters.states(whole, step=filters.step)[0]
        error = ((found - wanted) / size)[settled]
        assert np.sqrt(np.mean(error**2, axis=0)).max() < 0.03


def test_stretches_too_short_for_the_filters_have_no_states():
    model, actuators = planar()
    name, filters = model.joint_names[0], filters_of(RATE, 10.0)
    q, own = np.zeros((2 * filters.states.reach, model.n)), SpringEffects(name, 8e-3, 1.0)
    for length in (filters.ways.reach, len(q)):
        run = idn.MeasuredRun("a", RATE, q=q[:length], theta=q[:length], motor_torque=q[:length])
        has, speeds = measured_signals([run], model.n, model.n), np.ones((2, model.n))
        options, effects = Options(presliding=frozenset({f"link {name}"})), {0: own}
        equations = DriveEquations(model, actuators, has, speeds, {}, options, effects=effects)
        state = equations.states(run, slice(0, length), filters)
        assert not any(map(len, (state.times, state.slip[0], state.bristles["link", 0])))


def test_only_slip_elements_and_bristles_need_positions_of_a_higher_bandwidth():
    model, actuators = planar()
    run = elastic_run(1.0)
    equations = equations_of(model, actuators, run)
    filters = filters_of(RATE, 10.0)._replace(ways=None)
    state = equations.states(run, run.stretches[0], filters)
    assert len(state.times)
    assert (state.slip, state.bristles) == ({}, {})


def test_which_equations_there_are_follows_from_what_was_measured():
    model, actuators = planar()
    run = elastic_run(1.0)
    for signals, kinds in (
        (("motor_torque",), ["spring", "link"]),
        (("theta", "sensor"), ["rigid"]),
        (("q", "sensor"), ["rigid"]),
        (("q",), ["motor", "link"]),
    ):
        equations = equations_of(model, actuators, without(run, *signals))
        assert [each.kind for each in equations.channels] == 2 * kinds
    with pytest.raises(dyn.InputError, match="no torque was measured"):
        equations_of(model, actuators, without(run, "motor_torque", "sensor"))


def test_runs_with_other_signals_are_refused_by_name():
    run = elastic_run(1.0)
    with pytest.raises(dyn.InputError, match="run 'run0': has other signals"):
        measured_signals([run, without(run, "sensor")], 2, 2)
