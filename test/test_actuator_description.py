"""The YAML of actuators: that of springs and motors unchanged, further kinds, and its errors."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import yaml

from multibody_dynamics.dynamics.actuator_description import load_actuators
from multibody_dynamics.dynamics.actuator_kinds import (
    Antagonistic,
    Rigid,
    SeriesElastic,
    VariableStiffness,
)
from multibody_dynamics.dynamics.actuators import Actuators
from multibody_dynamics.dynamics.elastic_joints import load_elastic_joints
from multibody_dynamics.dynamics.errors import InputError
from multibody_dynamics.dynamics.springs import (
    CubicSpring,
    LinearSpring,
    PolynomialSpring,
    TableSpring,
)
from robots import CONFIG

PANDA = CONFIG / "elastic_joints" / "panda.yaml"
EVERY_KIND = CONFIG / "elastic_joints" / "every_kind.yaml"
PANDA_NAMES = tuple(f"panda_joint{i}" for i in range(1, 8))
NAMES = ("linear", "cubic", "polynomial", "table", "variable", "antagonistic", "slide", "stiff")


def description() -> dict:
    return yaml.safe_load(EVERY_KIND.read_text())


def test_the_shipped_file_loads_as_it_does_for_elastic_joints():
    joints = load_elastic_joints(PANDA, PANDA_NAMES)
    actuators = load_actuators(PANDA, PANDA_NAMES, ["revolute"] * 7)
    assert actuators.actuators == Actuators.from_series_elastic(joints).actuators
    assert actuators.joint_names == joints.joint_names


def test_every_kind_comes_in_si_units_on_the_link_side():
    types = ["revolute"] * 6 + ["prismatic", "revolute"]
    loaded = load_actuators(EVERY_KIND, NAMES, types)
    linear, cubic, polynomial, table, variable, antagonistic, slide, stiff = loaded.actuators
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
    assert isinstance(antagonistic, Antagonistic)
    assert antagonistic.second_output == "pretension"
    assert antagonistic.agonist_spring == polynomial.spring
    assert slide.spring == CubicSpring(20e3, 7e8)
    assert isinstance(stiff, Rigid)


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
        ("linear/spring", "soft", "linear'.*spring: found 'soft'.*rigid"),
        ("linear/spring/cubic_stiffness", {}, "linear'.*'cubic_stiffness'.*law, stiffness, travel"),
        ("linear/spring/damping/value", -1, "linear'.*damping.*-1"),
        ("linear/spring/travel/values", [1], "linear'.*travel: 1 values: must be two"),
        ("linear/spring/travel/values", 3, "linear'.*travel: values 3: must be a list"),
        ("linear/spring/travel/values", [3, 1], "linear'.*travel.*must increase"),
        ("cubic/spring/cubic_stiffness/unit", "N m/rad", "cubic'.*cubic_stiffness.*N m/rad\\^3"),
        ("polynomial/spring/coefficients/values", [1, -1], "polynomial'.*must increase"),
        ("polynomial/spring/coefficients/torque", "N", "polynomial'.*coefficients.*'N'.*N m"),
        ("table/spring/torque/values", [0, 9, 5, 20], "table'.*torques.*point 2"),
        ("table/spring/symmetric", "yes", "table'.*symmetric: 'yes'.*true or false"),
        ("variable/spring", "rigid", "variable'.*unknown key 'spring'"),
        ("variable/variable_stiffness/range/values", [9, 1], "variable'.*stiffness_range.*9 to 1"),
        ("antagonistic/regulates", "speed", "antagonistic'.*'speed'.*stiffness or pretension"),
        ("antagonistic/regulates", "stiffness", None),
        ("antagonistic/agonist/spring/damping", {}, "antagonistic'.*agonist.*'damping'"),
        ("antagonistic/agonist/motor/armature", 1, "antagonistic'.*agonist.*'armature'"),
        ("slide/motion", "helical", "slide'.*'helical'"),
        ("stiff", None, "stiff'.*found None"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_named_with_what_would_be_right(tmp_path, path, value, message):
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
    with pytest.raises(InputError, match="joint 'tail' of the robot is missing"):
        load_actuators(description(), (*NAMES, "tail"))
    data = description()
    del data["joints"]["antagonistic"]["antagonist"]
    with pytest.raises(InputError, match=r"antagonistic'.*key 'antagonist' is missing"):
        load_actuators(data, NAMES)
