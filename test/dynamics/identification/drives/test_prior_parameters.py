# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Initial values, priors and bounds of all parameters follow from settings, robot and signals."""

from dataclasses import replace

import numpy as np
import pytest

from drive_runs import RATE, elastic_run, planar, without
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.drives.drive_parameters import (
    Parameters,
    body_names,
)
from multibody_dynamics.dynamics.identification.drives.filtered_rows import (
    FilterPlan,
    filtered_blocks,
)
from multibody_dynamics.dynamics.identification.drives.prior_parameters import (
    HEAVIEST,
    PriorParameters,
)
from multibody_dynamics.dynamics.identification.drives.robot_identification import _Identification

idn = dyn.identification
CUTOFF = 10.0  # Hz


def of(*runs, **changes) -> Parameters:
    """The parameters of the planar arm with springs, before these runs are fitted."""
    model, actuators = planar()
    settings = idn.IdentificationSettings(cutoff=CUTOFF, **changes)
    whole = _Identification(model, runs, actuators, None, [], settings)
    plan = FilterPlan(runs, CUTOFF)
    sums = whole._sums(filtered_blocks(whole.equations, plan, plan.pieces, whole.middle))
    return PriorParameters(
        whole.equations, settings, whole.friction, whole.payloads, whole.gains, CUTOFF
    ).of(sums)


def one(parameters: Parameters, name: str) -> tuple[float, float, float, float, bool]:
    """Mean, spread, lower and upper bound of a parameter, and whether it is free."""
    i = parameters.index[name]
    rows = parameters.mean, parameters.spread, parameters.lower, parameters.upper
    return (*(row[i] for row in rows), parameters.free[i])


def test_first_values_are_those_of_the_robot_as_known_so_far():
    model, actuators = planar()
    found = of(elastic_run())
    for j, joint in enumerate(model.joint_names):
        motor = actuators.motors[j]
        assert one(found, f"{joint}.inertia")[0] == motor.inertia
        assert one(found, f"{joint}.stiffness")[0] == actuators.actuators[j].spring.K
        for name in ("viscous", "coulomb"):
            assert one(found, f"motor {joint}.{name}")[0] == getattr(motor, name)
        assert one(found, f"motor {joint}.stribeck")[4] is False  # not asked for


def test_settings_choose_what_is_free():
    run = elastic_run()
    kept = of(run, rotors=False, springs=False, friction=False, delays=False)
    asked = of(run, stribeck=True, load_friction=True)
    for joint in planar()[0].joint_names:
        for name in (f"{joint}.inertia", f"{joint}.stiffness", f"motor {joint}.viscous"):
            assert one(kept, name)[4] is False
            assert one(asked, name)[4] is True
        assert one(kept, f"{joint}.command delay")[4] is False
        for name in ("stribeck", "stribeck_velocity", "load"):
            assert one(asked, f"motor {joint}.{name}")[4] is True


def test_priors_grow_with_the_signals():
    """Ten times the torques: wide priors of torques are ten times as wide."""
    run = elastic_run()
    strong = replace(run, motor_torque=10.0 * run.motor_torque, sensor=10.0 * run.sensor)
    for name in ("motor shoulder.coulomb", "link elbow.offset", "elbow.bias"):
        assert one(of(strong), name)[1] == pytest.approx(10.0 * one(of(run), name)[1], rel=1e-9)


def test_a_payload_of_known_mass_keeps_it():
    run = elastic_run()
    known = of(replace(run, payload=idn.CarriedPayload("weight", 0.7)))
    unknown = of(replace(run, payload=idn.CarriedPayload("weight")))
    name = body_names("payload weight")[0]  # its mass
    assert one(known, name)[2:4] == (0.7, 0.7)
    assert one(unknown, name)[3] == HEAVIEST


def test_a_current_that_does_not_follow_the_links_is_refused():
    run = elastic_run()
    noise = np.random.default_rng(0).normal(size=run.q.shape)
    with pytest.raises(dyn.InputError, match="joint 'shoulder': its current does not follow"):
        of(idn.MeasuredRun("a", RATE, q=run.q, theta=run.theta, current=noise))
    currents = without(run, "motor_torque", "sensor")
    found = of(replace(currents, current=run.motor_torque / [2.0, 3.0]))
    for joint, gain in (("shoulder", 2.0), ("elbow", 3.0)):
        assert np.exp(one(found, f"{joint}.log gain")[0]) == pytest.approx(gain, rel=0.3)
