# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The YAML of actuators: every kind, linear springs and motors key by key, and its errors."""

import copy
from dataclasses import astuple

import numpy as np
import pytest
import yaml

from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import (
    Antagonistic,
    CubicSpring,
    LinearSpring,
    Motor,
    PolynomialSpring,
    Rigid,
    SeriesElastic,
    StiffnessDrive,
    TableSpring,
    VariableStiffness,
    limit_margins,
    load_actuators,
    motor_motion,
)
from multibody_dynamics.dynamics.model import load_urdf
from multibody_dynamics.dynamics.motion import interpolate
from multibody_dynamics.dynamics.rigid import inverse_dynamics
from rejections import assert_rejected
from robots import CONFIG

PANDA = CONFIG / "elastic_joints" / "panda.yaml"
EVERY_KIND = CONFIG / "elastic_joints" / "every_kind.yaml"
PANDA_NAMES = tuple(f"panda_joint{i}" for i in range(1, 8))
NAMES = (
    "linear", "cubic", "polynomial", "table", "variable", "driven", "antagonistic", "slide", "stiff"
)  # fmt: skip


def description() -> dict:
    return yaml.safe_load(EVERY_KIND.read_text())


def test_the_shipped_panda_agrees_with_its_comments():
    actuators = load_actuators(PANDA, PANDA_NAMES, ["revolute"] * 7)
    assert actuators.joint_names == PANDA_NAMES
    large = Motor(0.45, 100.0, 1.0, 0.8, 0.05, 150.0, 3500 * np.pi / 3000)
    small = Motor(0.1, 100.0, 0.3, 0.3, 0.05, 40.0, 4500 * np.pi / 3000)
    for motor, wanted in zip(actuators.motors, [large] * 4 + [small] * 3, strict=True):
        np.testing.assert_allclose(astuple(motor), astuple(wanted), rtol=1e-14)
    K = [3e3, 3e3, 2e3, 2e3, 500.0, 500.0, 300.0]
    assert actuators.actuators == tuple(
        SeriesElastic(motor, LinearSpring(k)) for motor, k in zip(actuators.motors, K, strict=True)
    )


def test_the_joint_order_is_that_of_the_robot():
    last, *_ = load_actuators(PANDA, PANDA_NAMES[::-1]).actuators
    assert last.spring == LinearSpring(300.0)


def test_every_kind_is_converted_to_si_units_on_the_link_side():
    types = ["revolute"] * 7 + ["prismatic", "revolute"]
    loaded = load_actuators(EVERY_KIND, NAMES, types)
    linear, cubic, polynomial, table, variable, driven, antagonistic, slide, stiff = (
        loaded.actuators
    )
    degree = np.pi / 180.0

    assert isinstance(linear, SeriesElastic)
    assert linear.motor.inertia == pytest.approx(200e-7 * 2500)
    assert linear.motor.torque_limit == 25.0
    assert linear.damping == 2.0
    assert linear.spring == LinearSpring(300.0, travel=(-9 * degree, 12 * degree))
    # N = 50: 0.1 phi_m + 1e-4 phi_m^3 with phi_m = 50 phi, times 50
    np.testing.assert_allclose((cubic.spring.K, cubic.spring.K3), (0.1 * 50**2, 1e-4 * 50**4))
    assert isinstance(polynomial.spring, PolynomialSpring)
    np.testing.assert_allclose(polynomial.spring.torque(10 * degree), 0.4 * 10 + 0.02 * 100)
    assert isinstance(table.spring, TableSpring)
    np.testing.assert_allclose(table.spring.torque([5 * degree, -15 * degree]), [4.0, -16.0])
    assert isinstance(variable, VariableStiffness)
    assert variable.stiffness_range == (100.0, 900.0)
    assert variable.shape == CubicSpring(1.0, 3.0, travel=(-0.5, 0.5))
    assert variable.drive is None
    assert isinstance(driven, VariableStiffness)
    # k = offset + gain theta_k with theta_k behind a gear of 30: 20 N m/rad per rad of the shaft
    assert driven.drive == StiffnessDrive(driven.drive.motor, offset=100.0, gain=600.0)
    np.testing.assert_allclose(driven.drive.motor.inertia, 60e-7 * 900)
    assert loaded.motor_names[6] == "driven_stiffness"
    assert isinstance(antagonistic, Antagonistic)
    assert antagonistic.second_output == "pretension"
    assert antagonistic.agonist_spring == polynomial.spring
    assert slide.spring == CubicSpring(20e3, 7e8)
    assert isinstance(stiff, Rigid)
    usual = ["spring_deflection"] * 8
    assert list(loaded.torque_sources) == [usual[0], "torque_sensor", *usual[2:], "motor_torque"]


def test_units_of_a_stiffness_drive_follow_the_motions_of_joint_and_drive():
    data = description()["joints"]["driven"]
    drive = data["variable_stiffness"]["drive"]
    link = {"side": "link"}

    def gain(motion: str, drive_motion: str, value: float, unit: str, side: str) -> float:
        data["motion"], drive["motion"] = motion, drive_motion
        force = "N m/rad" if motion == "revolute" else "N/m"
        data["variable_stiffness"]["range"] = {"values": [1, 9], "unit": force, **link}
        drive["offset"] = {"value": 2, "unit": force, **link}
        drive["gain"] = {"value": value, "unit": unit, "side": side}
        rotary = drive_motion == "revolute"
        drive["motor"] = {
            "gear_ratio": 30.0 if rotary else {"value": 2.0, "unit": "rad/mm"},
            "inertia": {"value": 1e-5, "unit": "kg m^2", "side": "motor"},
        }
        data["motor"] = {
            "gear_ratio": 1.0,
            "inertia": {"value": 1, "unit": "kg m^2" if motion == "revolute" else "kg", **link},
        }
        return load_actuators({"joints": {"driven": data}}, ["driven"]).actuators[0].drive.gain

    assert gain("revolute", "revolute", 3.0, "N m/rad^2", "link") == 3.0
    assert gain("revolute", "revolute", 3.0, "N m/rad^2", "motor") == 90.0
    assert gain("revolute", "prismatic", 3.0, "N m/rad/mm", "link") == 3e3
    assert gain("revolute", "prismatic", 3.0, "N m/rad^2", "motor") == 6e3  # 2000 rad/m
    assert gain("prismatic", "revolute", 3.0, "N/m/rad", "motor") == 90.0
    assert gain("prismatic", "prismatic", 3.0, "N/m/mm", "link") == 3e3
    with pytest.raises(InputError, match=r"drive.gain: unit 'N m/rad\^2' is not one of N/m/rad"):
        gain("prismatic", "revolute", 3.0, "N m/rad^2", "link")


@pytest.mark.parametrize("name", ["planar_two_link", "antagonistic"])
def test_the_shipped_arms_keep_all_limits_on_a_gentle_motion(name):
    """Meanwhile, the elbow of the antagonistic arm doubles its stiffness."""
    robot = {"antagonistic": "antagonistic_elbow"}.get(name, name)
    model = load_urdf(CONFIG / "robots" / f"{robot}.urdf")
    file = CONFIG / "elastic_joints" / f"{name}.yaml"
    actuators = load_actuators(file, model.joint_names, model.joint_types)
    t = np.linspace(0.0, 1.5, 151)
    states = interpolate(model.joint_names, [0.0, 1.5], [[-0.5, 0.2], [0.5, 1.1]]).sample(t)
    k = None
    if actuators.variable_joints:
        stiffer = interpolate(actuators.variable_joints, [0.0, 1.5], [[60.0], [120.0]])
        k = stiffer.sample(t)[:, :3]
    torque = inverse_dynamics(model, *np.moveaxis(states, 1, 0))
    motors = motor_motion(actuators, states, torque, k, beyond="continue")
    effort = model.limits.effort
    margins = limit_margins(actuators, t, torque, motors, k, joint_torque_limit=effort)
    assert len(margins) >= 8
    assert margins[0].used < 0.8, margins[0]


def test_coefficients_on_the_motor_side():
    data = description()
    data["joints"]["polynomial"]["spring"] = {
        "law": "polynomial",
        "coefficients": {
            "values": [0.2, 0.01],
            "torque": "N m",
            "deflection": "rad",
            "side": "motor",
        },
        "travel": {"values": [0.0, 0.3], "unit": "rad", "side": "link"},
    }
    spring = load_actuators(data, NAMES).actuators[2].spring
    np.testing.assert_allclose(spring.torque(0.2), 50 * (0.2 * 10.0 + 0.01 * 10.0**2))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("linear/spring/law", "exponential", "linear'.*spring.*linear, cubic, polynomial, table"),
        ("linear/spring/cubic_stiffness", {}, "linear'.*'cubic_stiffness'.*law, stiffness, travel"),
        ("linear/spring/damping/value", -1, "linear'.*damping.*-1"),
        ("linear/spring/travel/values", [1], "linear'.*travel: expected two values.*got 1"),
        ("linear/spring/travel/values", 3, "linear'.*travel: values must be a list.*got 3"),
        ("linear/spring/travel/values", [3, 1], "linear'.*travel.*must be less than"),
        ("cubic/spring/cubic_stiffness/unit", "N m/rad", "cubic'.*cubic_stiffness.*N m/rad\\^3"),
        ("polynomial/spring/coefficients/values", [1, -1], "polynomial'.*must increase"),
        ("polynomial/spring/coefficients/torque", "N", "polynomial'.*coefficients.*'N'.*N m"),
        ("table/spring/torque/values", [0, 9, 5, 20], "table'.*torques.*point 2"),
        ("table/spring/symmetric", "yes", "table'.*symmetric: .*true or false, got 'yes'"),
        ("variable/spring", "rigid", "variable'.*unknown key 'spring'"),
        ("variable/variable_stiffness/range/values", [9, 1], "variable'.*stiffness_range.*9 to 1"),
        ("antagonistic/regulates", "speed", "antagonistic'.*stiffness or pretension, got 'speed'"),
        ("antagonistic/regulates", "stiffness", None),
        ("antagonistic/agonist/spring/damping", {}, "antagonistic'.*agonist.*'damping'"),
        ("antagonistic/agonist/motor/armature", 1, "antagonistic'.*agonist.*'armature'"),
        ("variable/variable_stiffness/damping", {}, "variable'.*'damping'.*range, hardening"),
        ("driven/variable_stiffness/drive/gain/value", 0, "driven'.*gain nonzero"),
        ("driven/variable_stiffness/drive/gain/unit", "N m/rad", "driven'.*gain.*N m/rad\\^2"),
        ("driven/variable_stiffness/drive/offset/side", "shaft", "driven'.*offset.*link.*'shaft'"),
        ("linear/torque_source", "motor_torque", "linear'.*spring_deflection or.*'motor_torque'"),
        ("stiff/torque_source", "spring_deflection", "stiff'.*must be motor_torque or torque_sens"),
        ("stiff/torque_source", 3, "stiff'.*torque_source must be .*, got 3"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_named_with_the_accepted_values(tmp_path, path, value, message):
    data = copy.deepcopy(description())
    *parents, last = path.split("/")
    entry = data["joints"]
    for key in parents:
        entry[key] = copy.deepcopy(entry[key])
        entry = entry[key]
    entry[last] = value
    file = tmp_path / "robot.yaml"
    file.write_text(yaml.safe_dump(data))
    if message is None:
        load_actuators(file, NAMES)
        return
    with pytest.raises(InputError, match=r"robot.yaml: joint '" + message):
        load_actuators(file, NAMES)


def test_missing_joints_and_sides_are_named():
    data = description()
    one_side = copy.deepcopy(data)
    del one_side["joints"]["antagonistic"]["antagonist"]
    assert_rejected(
        (lambda: load_actuators(data, (*NAMES, "tail")), "joint 'tail' missing"),
        (lambda: load_actuators(one_side, NAMES), "antagonistic' 'antagonist' missing"),
        (lambda: load_actuators(data, NAMES, ("revolute",)), "joint_types one for each got 1"),
    )
