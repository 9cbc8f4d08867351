"""Identified springs and motors return from the actuator file, whatever their law."""

from __future__ import annotations

import pytest
import yaml

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.robot.actuator_changes import write_actuators
from multibody_dynamics.tools.robot.changes_table import WrittenBack
from multibody_dynamics.tools.robot.identified_results import Figure, Results

URDF = share_directory() / "config" / "robots" / "planar_two_link.urdf"
MODEL = dyn.load_urdf(URDF)
LINEAR = "{law: linear, stiffness: {value: 0.3, unit: kN m/rad, side: link}}"
POLYNOMIAL = (
    "{law: polynomial, coefficients: {values: [300, 0, 4e4], torque: N m, deflection: rad,"
    " side: link}, travel: {values: [-0.2, 0.2], unit: rad, side: link}}"
)
TABLE = (
    "{law: table, deflection: {values: [0, 0.1, 0.2], unit: rad, side: link}, torque: {values:"
    " [0, 30, 70], unit: N m, side: link}, symmetric: true}"
)
MOTOR = "{gear_ratio: 100, inertia: {value: 0.4, unit: kg cm^2, side: motor}}"


def written(tmp_path, results, shoulder=LINEAR):
    """The actuator of the shoulder after writing results back, and the table."""
    file = tmp_path / "springs.yaml"
    file.write_text(
        f"joints:\n  shoulder:\n    spring: {shoulder}\n    motor: {MOTOR}  # data sheet\n"
        f"  elbow:\n    spring: rigid\n    motor: {MOTOR}\n"
    )
    found = WrittenBack()
    new = write_actuators(found, MODEL, results, file, "").decode()
    assert "# data sheet" in new
    arm = dyn.load_actuators(yaml.safe_load(new), MODEL.joint_names)
    return arm.actuators[0], found


def springs(**figures):
    values = {key: Figure(value, 0.1) for key, value in figures.items()}
    return Results(springs={"shoulder": values})


def test_linear_spring_with_damping(tmp_path):
    joint, found = written(tmp_path, springs(stiffness=280.0, damping=1.5, bias=0.2))
    assert (joint.spring.K, joint.damping) == (280.0, 1.5)
    rows = {each.quantity: each for each in found.changes}
    assert rows["spring stiffness"].before == pytest.approx(300.0)
    assert rows["bias of the torque"].remark == "of the sensor"


def test_polynomial(tmp_path):
    joint, _ = written(tmp_path, springs(c1=310.0, c2=5.0, c3=3e4), POLYNOMIAL)
    assert tuple(joint.spring.coefficients) == (310.0, 5.0, 3e4)
    assert tuple(joint.spring.travel) == (-0.2, 0.2)


def test_scaled_table(tmp_path):
    joint, _ = written(tmp_path, springs(scale=1.1), TABLE)
    assert joint.spring.torque(0.1) == pytest.approx(33.0)
    assert joint.spring.torque(-0.2) == pytest.approx(-77.0)


def test_friction_that_the_file_did_not_have(tmp_path):
    motor = {"coulomb": Figure(0.8, 0.1), "viscous": Figure(0.0, 0.1)}
    joint, _ = written(tmp_path, Results(motors={"shoulder": motor}))
    assert (joint.motor.coulomb, joint.motor.viscous) == (pytest.approx(0.8), 0.0)
    assert joint.motor.coulomb_velocity == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (springs(cubic_stiffness=1.0), r"the spring in the file, linear, has no cubic_stiffness"),
        (springs(c1=1.0), r"a polynomial was identified, but the law in the file is linear"),
        (springs(stiffness=0.0), r"'shoulder': stiffness 0 is not possible"),
        (springs(damping=-1.0), r"'shoulder': damping -1 is not possible"),
        (springs(scale=-0.2), r"'shoulder': spring scale -0.2 is not possible"),
        (
            Results(springs={"elbow": {"stiffness": Figure(1.0)}}),
            r"'elbow': a spring was identified, but the joint is rigid",
        ),
        (
            Results(motors={"shoulder_agonist": {"inertia": Figure(1.0)}}),
            r"'shoulder_agonist': only joints with one motor are written back",
        ),
    ],
)
def test_results_that_do_not_fit(tmp_path, results, message):
    with pytest.raises(dyn.InputError, match=message):
        written(tmp_path, results)
