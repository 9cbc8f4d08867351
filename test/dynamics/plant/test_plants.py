# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The interface of a plant, tested on ElasticRobot; the MuJoCo plant has its own tests."""

import numpy as np

from multibody_dynamics.dynamics.elastic import (
    Actuators,
    LinearSpring,
    Motor,
    Rigid,
    SeriesElastic,
    StiffnessDrive,
    VariableStiffness,
)
from multibody_dynamics.dynamics.model import model_from_screws, spatial_inertia
from multibody_dynamics.dynamics.plant import ElasticRobot, EndStops, Plant
from rejections import assert_rejected


def plant() -> Plant:
    """Three wheels on one shaft: rigid, elastic, and of variable stiffness."""
    wheels = [spatial_inertia(1.0, np.zeros(3), 0.1 * np.eye(3))] * 3
    model = model_from_screws([-1, 0, 1], [[0, 0, 1, 0, 0, 0]] * 3, [np.eye(4)] * 3, wheels)
    motor = Motor(0.2)
    drive = StiffnessDrive(Motor(0.01), offset=100.0, gain=50.0)
    actuators = (
        Rigid(motor),
        SeriesElastic(motor, LinearSpring(300.0)),
        VariableStiffness(motor, (100.0, 500.0), drive=drive),
    )
    return ElasticRobot(model, Actuators(model.joint_names, actuators))


def test_arrays_have_the_documented_shapes_and_remain_the_same_objects():
    robot = plant()
    shapes = {
        "q": (3,), "qd": (3,), "theta": (4,), "thetad": (4,), "motor_torque": (4,),
        "joint_torque": (3,), "qdd": (3,), "applied_wrenches": (3, 6), "stiffness": (2, 1),
    }  # fmt: skip
    assert set(Plant.__annotations__) == {"model", "actuators", "drive", *shapes}
    rows = {name: getattr(robot, name) for name in shapes}
    robot.reset([0.1, 0.2, 0.3])
    robot.step([1.0, 2.0, 3.0, 0.1], 0.01)
    robot.set_model(robot.model)
    for name, shape in shapes.items():
        assert getattr(robot, name) is rows[name]
        assert rows[name].shape == shape
    np.testing.assert_array_equal(rows["motor_torque"], [1.0, 2.0, 3.0, 0.1])
    assert (rows["qdd"] != 0.0).all()


def test_reset_sets_the_state():
    robot = plant()
    robot.stiffness[0] = 200.0
    robot.reset([0.1, 0.2, 0.3], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(robot.theta, [0.1, 0.2, 0.3, 2.0])  # 100 + 50 theta_k = 200
    np.testing.assert_array_equal(robot.thetad, [1.0, 2.0, 3.0, 0.0])
    robot.reset([0.1, 0.2, 0.3], theta=[0.1, 0.3, 0.3, 1.0], thetad=[0.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(robot.joint_torque[1:], [30.0, 0.0], atol=1e-12)


def test_invalid_end_stops_are_rejected():
    stops = EndStops([1e4, 2e4], damping=0.5)
    assert stops.stiffness.tolist() == [1e4, 2e4]
    assert_rejected(
        (lambda: EndStops(0.0), "stiffness 0.0 positive"),
        (lambda: EndStops(np.nan), "stiffness nan positive"),
        (lambda: EndStops(1e4, -1.0), "damping -1.0 zero or greater"),
        (lambda: EndStops(1e4, [1.0, np.nan]), "damping joint 1 nan"),
    )
