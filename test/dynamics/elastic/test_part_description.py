# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Linear springs and motors from YAML: every key, unit and mistake."""

import copy

import numpy as np
import pytest
import yaml

from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import Rigid, load_actuators
from rejections import assert_rejected


def quantity(value: object, unit: str, side: str = "link") -> dict[str, object]:
    return {"value": value, "unit": unit, "side": side}


def arm_and_slide() -> dict[str, object]:
    """An elastic joint with motor-side data, and a rigid slide on a ball screw."""
    return {
        "joints": {
            "arm": {
                "spring": {"law": "linear", "stiffness": quantity(0.2, "N m/rad", "motor")},
                "motor": {
                    "gear_ratio": 50,
                    "inertia": quantity(200.0, "g cm^2", "motor"),
                    "viscous_friction": quantity(0.04, "mN m s/rad", "motor"),
                    "coulomb_friction": quantity(2.0, "N cm", "motor"),
                    "coulomb_velocity": quantity(30.0, "rpm", "motor"),
                    "torque_limit": quantity(0.5, "N m", "motor"),
                    "speed_limit": quantity(180.0, "deg/s"),
                },
            },
            "slide": {
                "motion": "prismatic",
                "spring": "rigid",
                "motor": {
                    "gear_ratio": {"value": 0.1, "unit": "turn/mm"},
                    "inertia": quantity(1e-5, "kg m^2", "motor"),
                    "torque_limit": quantity(2.0, "kN"),
                },
            },
        }
    }


def test_units_and_sides_are_converted_to_si_on_the_link_side():
    actuators = load_actuators(arm_and_slide(), ("arm", "slide"), ("revolute", "prismatic"))
    arm, slide = actuators.actuators
    screw = 2 * np.pi * 100  # rad/m
    assert isinstance(slide, Rigid)
    np.testing.assert_allclose(arm.spring.K, 0.2 * 2500)
    np.testing.assert_allclose(actuators.gear_ratio, [50, screw])
    np.testing.assert_allclose(actuators.motor_inertia, [200e-7 * 2500, 1e-5 * screw**2])
    np.testing.assert_allclose(arm.motor.viscous, 4e-5 * 2500)
    np.testing.assert_allclose(arm.motor.coulomb, 0.02 * 50)
    np.testing.assert_allclose(arm.motor.coulomb_velocity, np.pi / 50)
    assert (slide.motor.viscous, slide.motor.coulomb, slide.motor.coulomb_velocity) == (0, 0, 1)
    np.testing.assert_allclose(actuators.torque_limit, [25.0, 2000.0])
    np.testing.assert_allclose(actuators.speed_limit, [np.pi, np.inf])


@pytest.mark.parametrize(
    ("unit", "value"), [("N m/rad", 100.0), ("Nm/rad", 100.0), ("N·m/rad", 100.0),
                        ("kN*m/rad", 1e5), ("N m/deg", 18000 / np.pi),
                        ("N m/arcmin", 60 * 18000 / np.pi)],
)  # fmt: skip
def test_units_may_be_written_as_in_data_sheets(unit, value):
    data = arm_and_slide()
    data["joints"]["arm"]["spring"]["stiffness"] = quantity(100, unit)
    arm, _ = load_actuators(data, ("arm", "slide")).actuators
    np.testing.assert_allclose(arm.spring.K, value, rtol=1e-15)


def at(data: dict, path: str) -> tuple[dict, str]:
    *parents, last = path.split("/")
    for key in parents:
        data = data[key]
    return data, last


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("joints/arm/spring/stiffness/value", -3.0, "arm.*stiffness.*greater than zero, got -7500"),
        ("joints/arm/spring/stiffness/value", float("nan"), "arm.*spring.stiffness.*NaN"),
        ("joints/arm/spring/stiffness/value", True, "arm.*spring.stiffness.*True"),
        ("joints/arm/spring/stiffness/unit", "N/m", "arm.*stiffness.*'N/m'.*N m/rad"),
        ("joints/arm/spring/stiffness/side", "gear", "arm.*stiffness.*motor or link, got 'gear'"),
        ("joints/arm/spring/stiffness", 300.0, "arm.*stiffness.*value, unit, side.*300"),
        ("joints/arm/spring/law", "cubic", "arm.*spring: key 'cubic_stiffness' is missing"),
        ("joints/arm/spring/damping", 1.0, "arm.*spring.damping.*value, unit, side.*1.0"),
        ("joints/arm/spring", "stiff", "arm.*spring: expected rigid .* got 'stiff'"),
        ("joints/arm/motor/gear_ratio", 0.0, "arm.*gear_ratio.*greater than zero"),
        ("joints/arm/motor/gear_ratio", {"value": 1, "unit": "rad/m"}, "arm.*ratio.*plain number"),
        ("joints/arm/motor/inertia/unit", "kg", "arm.*inertia.*'kg'.*g cm\\^2"),
        ("joints/arm/motor/armature", 1.0, "arm.*motor.*'armature'.*inertia"),
        ("joints/arm/colour", "red", "arm.*'colour'.*spring, motor, motion"),
        ("joints/arm/motion", "helical", "arm.*revolute.*prismatic, got 'helical'"),
        ("joints/arm/motion", "prismatic", "arm.*motion is prismatic.*robot's joint is revolute"),
        ("joints/arm", None, "arm.*spring, motor, got None"),
        ("joints/slide/motor/gear_ratio/unit", "mm", "slide.*gear_ratio.*'mm'.*rad/m"),
        ("joints/leg", {}, "'leg'.*no such joint.*arm, slide"),
        ("springs", {}, "'springs'.*joints"),
    ],
)
def test_a_wrong_entry_of_a_linear_spring_is_named_with_the_accepted_values(
    tmp_path, path, value, message
):
    data = arm_and_slide()
    entry, key = at(data, path)
    entry[key] = value
    file = tmp_path / "robot.yaml"
    file.write_text(yaml.safe_dump(data))
    with pytest.raises(InputError, match=r"robot.yaml.*" + message):
        load_actuators(file, ("arm", "slide"), ("revolute", "prismatic"))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("joints", "key 'joints' is missing"),
        ("joints/slide", "joint 'slide' of the robot is missing.*spring: rigid"),
        ("joints/arm/spring", "arm.*'spring' is missing"),
        ("joints/arm/motor", "arm.*'motor' is missing"),
        ("joints/arm/motor/gear_ratio", "arm.*motor.*'gear_ratio' is missing"),
        ("joints/arm/motor/inertia", "arm.*motor.*'inertia' is missing"),
        ("joints/arm/motor/inertia/side", "arm.*motor.inertia.*'side' is missing"),
        ("joints/arm/motor/inertia/unit", "arm.*motor.inertia.*'unit' is missing"),
        ("joints/arm/motor/coulomb_velocity", "arm.*coulomb_velocity.*together"),
        ("joints/arm/spring/law", "arm.*spring.*one of the laws linear"),
    ],
)
def test_a_missing_entry_is_named(path, message):
    data = arm_and_slide()
    entry, key = at(data, path)
    del entry[key]
    with pytest.raises(InputError, match=message):
        load_actuators(data, ("arm", "slide"))


def test_files_without_a_valid_description_are_rejected(tmp_path):
    def loaded(text):
        def load():
            file = tmp_path / "robot.yaml"
            file.write_text(text)
            load_actuators(file, ("arm",))

        return load

    assert_rejected(
        (lambda: load_actuators(tmp_path / "nowhere.yaml", ("arm",)), "nowhere.yaml cannot read"),
        (loaded(""), "robot.yaml joints, None"),
        (loaded("joints: ["), "robot.yaml not valid YAML"),
        (loaded("joints: {arm: {}, arm: {}}"), "robot.yaml 'arm' twice"),
        (loaded("joints: {}\njoints: {}"), "robot.yaml 'joints' twice line 2"),
        (loaded("joints: {[1]: 2}"), "robot.yaml not valid YAML"),
        (loaded("joints: {arm: {gear_ratio: 100:1}}"), "robot.yaml 100:1 not a number line 1"),
    )


def test_the_given_mapping_is_not_modified():
    data = arm_and_slide()
    before = copy.deepcopy(data)
    load_actuators(data, ("arm", "slide"))
    assert data == before
