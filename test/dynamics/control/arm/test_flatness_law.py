# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The controller of version 1.0: the same torques as version 1.0 computed."""

import numpy as np
import pytest

from elastic_arms import HeldPlant, antagonistic_arm, at_start, linear_arm, variable_arm
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control import ControllerSettings, FlatnessSettings
from multibody_dynamics.dynamics.motion import hold, splice

PERIOD = 2e-3

RECORDED = {  # every arm, and every law
    ("linear", "motor_pd"): ([-16.253448416, 0.448727228732], [0.623956564479, -1.07162774472]),
    ("linear", "compensated by the robot"): (
        [-6.80154821718, 2.57329233154],
        [0.623956564479, -1.07162774472],
    ),
    ("antagonistic", "delayed"): (
        [-16.1009351181, 209.542506041, -208.882843064],
        [0.62252784863, -1.04621251052],
    ),
    ("variable", "state_feedback"): (
        [-13.1283441813, 0.00682891851311, 2.26236685054],
        [0.620327838562, -1.06538302441],
    ),
}
"""Torques (m,) at the end of `run`, and positions (n,) of the links there, by version 1.0.0."""

LAWS = {
    "motor_pd": {},
    "state_feedback": {"law": "state_feedback"},
    "delayed": {"command_delay": 3e-3, "sensor_delay": 2e-3},
    "compensated by the robot": {"gravity_compensated_by_robot": True},
}
ARMS = {"linear": linear_arm, "antagonistic": antagonistic_arm, "variable": variable_arm}


def run(make, arm, *, then="hold", **options):
    """A motion of 0.3 s on a rigid base, from whose middle on another law acts."""
    law_name = options.pop("law", "motor_pd")
    laws = {name: ControllerSettings(law=name, base_frequency=0.0) for name in (law_name, "hold")}
    settings = FlatnessSettings(law=law_name, controllers=laws, **options)
    law = make(arm.model, arm.actuators, settings)
    law.design(arm.rest)
    (q, qd, theta, thetad), second, load = at_start(arm)
    law.stiffness[:] = second
    law.transfer.torque[:] = load
    law.start(law.settings.law, 0.1)
    plant = HeldPlant(arm)
    plant.reset(np.concatenate((q, qd, theta, thetad)))
    motion = splice(hold(arm.model.joint_names, q), 0.02, [0.3], [q + np.array([0.3, -0.2])])
    for k in range(150):
        t = k * PERIOD
        q, _, theta, _ = plant.state
        if k == 60:
            law.external_torque[:] = 0.1
        if k == 100:
            law.switch(then, 0.05)
        law.measure(t, {"link_position": q, "motor_position": theta})
        motion.evaluate(t + law.reference_lead, law.desired)
        motion.evaluate(t + law.reference_lead + 1e-3, law.ahead)
        law.update(PERIOD, 1e-3)
        plant.step(law.transfer.torque, PERIOD)
    assert law.name == then
    assert law.is_finite()
    return law.commanded(), law.rest(law.state.q), plant.state[0]


def flatness_law():
    with pytest.warns(DeprecationWarning, match="FlatnessLaw: use Arm"):
        return control.FlatnessLaw


@pytest.mark.parametrize(("arm", "law"), RECORDED)
def test_the_torques_are_those_of_version_1(arm, law):
    torque, rest, q = run(flatness_law(), ARMS[arm](), **LAWS[law])
    expected, links = RECORDED[arm, law]
    np.testing.assert_allclose(q, links, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(torque, expected, rtol=0.0, atol=1e-7)
    assert np.isfinite(rest).all()


def test_everything_that_it_had_is_there():
    """Attributes and methods of version 1.0.0."""
    arm = linear_arm()
    law = flatness_law()(arm.model, arm.actuators)
    law.design(arm.rest)
    law.start("hold", 0.0)
    for name in (
        "model", "actuators", "desired", "ahead", "reference", "stiffness", "arm", "laws",
        "external_torque", "transfer", "sent", "predictor", "state", "is_predicted", "name",
        "settings", "restart", "renew", "design", "limit", "start", "switch", "adaptation",
        "impedance", "joint_torque", "measure", "coast", "reference_lead", "without_motors",
        "motors_at_rest", "rest", "update", "is_finite", "commanded",
    ):  # fmt: skip
        assert hasattr(law, name), name
    signals = {"link_position": arm.rest, "motor_position": law.motors_at_rest(arm.rest)}
    found = law.without_motors(signals)["motor_position"]
    np.testing.assert_array_equal(found, signals["motor_position"])
    law.measure(0.0, signals)
    law.coast(PERIOD, signals, "links", PERIOD)
    law.renew()
    assert not law.arm.estimator.is_settled
    with pytest.raises(AttributeError, match="no_such"):
        law.no_such_thing  # noqa: B018
