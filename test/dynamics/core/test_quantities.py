# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Quantities with unit and side of the gear, motor data, and error messages."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.dynamics.core.quantities import (
    Gear,
    entries,
    joint_entries,
    joint_motion,
    motor_values,
    number,
    quantities,
    quantity,
)
from rejections import assert_rejected

GEAR = Gear(50.0, {"link": "revolute", "motor": "revolute"})
SCREW = Gear(200.0, {"link": "prismatic", "motor": "revolute"})


@pytest.mark.parametrize(
    ("dimension", "unit", "power"),
    [
        ("stiffness", "N m/rad", 2),
        ("cubic stiffness", "N m/rad^3", 4),
        ("hardening", "1/rad^2", 2),
        ("inertia", "kg m^2", 2),
        ("damping", "N m s/rad", 2),
        ("force", "N m", 1),
        ("velocity", "rad/s", -1),
        ("angle", "rad", -1),
    ],
)
def test_the_gear_converts_every_dimension_to_the_link_side(dimension, unit, power):
    data = {"value": 3.0, "unit": unit, "side": "motor"}
    assert quantity(data, "here", dimension, GEAR) == pytest.approx(3.0 * 50.0**power)
    assert quantity(data | {"side": "link"}, "here", dimension, GEAR) == 3.0
    assert quantity(data, "here", dimension, SCREW) == pytest.approx(3.0 * 200.0**power)


def test_the_powers_of_the_gear_ratio_are_consistent():
    """With phi_m = N phi and Q = N Q_m, K phi and K3 phi^3 are torques on either side."""
    N, phi = GEAR.ratio, 0.01

    def on_link_side(value: float, dimension: str, unit: str) -> float:
        return quantity({"value": value, "unit": unit, "side": "motor"}, "", dimension, GEAR)

    torque = on_link_side(0.2 * (N * phi) + 0.3 * (N * phi) ** 3, "force", "N m")
    K = on_link_side(0.2, "stiffness", "N m/rad")
    K3 = on_link_side(0.3, "cubic stiffness", "N m/rad^3")
    h = on_link_side(0.3 / 0.2, "hardening", "1/rad^2")
    np.testing.assert_allclose(K * phi + K3 * phi**3, torque)
    np.testing.assert_allclose(K * (phi + h * phi**3), torque)


def test_lists_share_one_unit_and_side():
    data = {"values": [0, "1e1", 90], "unit": "deg", "side": "motor"}
    found = quantities(data, "here", "angle", GEAR)
    np.testing.assert_allclose(found, np.array([0.0, 10.0, 90.0]) * np.pi / 180.0 / 50.0)
    assert_rejected(
        (lambda: quantities(data | {"values": 3}, "here", "angle", GEAR), "here: list numbers"),
        (lambda: quantities(data | {"values": [1, "far"]}, "here", "angle", GEAR), "here: 'far'"),
    )


def test_wrong_units_sides_and_numbers_are_named():
    def changed(**change):
        good = {"value": 3.0, "unit": "N m", "side": "link"}
        return lambda: quantity(good | change, "here", "force", GEAR)

    assert_rejected(
        (changed(unit="N"), "here: unit 'N' is not one of N m, N cm, mN m"),
        (changed(side="gear"), "here: side (of the gear) must be motor or link, got 'gear'"),
        (changed(value="nan"), "here: NaN"),
        (changed(value=None), "here: None is not a number"),
        (changed(sign=1), "here: unknown key 'sign'"),
        (lambda: number(True, "here"), "True is not a number"),
    )


def test_an_empty_section_without_required_keys_is_an_empty_mapping():
    assert entries(None, "here", (), None) == {}
    assert_rejected(
        (lambda: entries(None, "here", ("a", "b"), None), "here: expected mapping contains a, b,"),
        (lambda: entries(3, "here", (), None), "here: expected a mapping, got 3"),
    )


def test_motor_values_are_named_as_in_the_package():
    data = {
        "gear_ratio": 50,
        "inertia": {"value": 100.0, "unit": "g cm^2", "side": "motor"},
        "speed_limit": {"value": 3000.0, "unit": "rpm", "side": "motor"},
    }
    values, gear = motor_values(data, "here", "revolute")
    assert gear == GEAR
    assert values.pop("motor_inertia") == pytest.approx(1e-5 * 2500)
    assert values.pop("speed_limit") == pytest.approx(100 * np.pi / 50)
    assert values == {
        "gear_ratio": 50.0, "coulomb": 0.0, "viscous": 0.0, "coulomb_velocity": 1.0,
        "torque_limit": np.inf,
    }  # fmt: skip


def test_joints_must_match_those_of_the_robot():
    def read(source, *joints):
        return lambda: joint_entries(source, joints, "springs")

    where, joints = read({"joints": {"a": 1, "b": 2}}, "b", "a")()
    assert (where, dict(joints)) == ("springs", {"a": 1, "b": 2})
    assert_rejected(
        (read({"joints": {"a": 1, "b": 2}}, "a"), "springs: joint 'b'"),
        (read({"joints": {"a": 1}}, "a", "c"), "springs: joint 'c'"),
        (read(None, "a"), "expected the path of a file, got"),
        (read(3, "a"), "expected the path of a file, got"),
        (read("", "a"), "expected the path of a file, got"),
    )


def test_the_motion_must_match_the_joint_type():
    assert joint_motion({}, "here", "continuous") == "revolute"
    assert joint_motion({"motion": "prismatic"}, "here", None) == "prismatic"
    with pytest.raises(InputError, match="here: motion is revolute, but the robot's joint"):
        joint_motion({}, "here", "prismatic")
