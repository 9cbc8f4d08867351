# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Identified springs and motors return from the actuator file, whatever their law."""

import numpy as np
import pytest
import yaml

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools import cli
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


@pytest.mark.parametrize(
    "damping",
    [Figure(-0.1, 0.1), Figure(0.2, 0.1), Figure(0.2, determined=False), Figure(0.029, 0.001)],
)
def test_damping_that_is_not_significant_is_not_written(tmp_path, damping):
    joint, found = written(tmp_path, Results(springs={"shoulder": {"damping": damping}}))
    assert joint.damping == 0.0  # the feedforward of a damped joint has another form
    (change,) = found.changes
    assert change.remark.startswith("not significant")


def test_negative_friction_and_damping_become_zero_with_a_note_if_they_are_significant(tmp_path):
    motor = {"coulomb": Figure(-0.01, 0.1), "viscous": Figure(-0.3, 0.1)}
    damping = {"damping": Figure(-1.0, 0.1)}
    results = Results(motors={"shoulder": motor}, springs={"shoulder": damping})
    joint, found = written(tmp_path, results)
    assert (joint.motor.coulomb, joint.motor.viscous, joint.damping) == (0.0, 0.0, 0.0)
    viscous, damped = found.notes
    assert viscous.startswith("motor 'shoulder': viscous friction -0.3 +- 0.1 is negative")
    assert damped.startswith("joint 'shoulder': damping -1 +- 0.1 is negative")


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


def test_hardening_and_drive_of_a_variable_stiffness(tmp_path):
    file = tmp_path / "springs.yaml"
    drive = (
        "{motor: {gear_ratio: 30, inertia: {value: 60.0, unit: g cm^2, side: motor}}, offset:"
        " {value: 100.0, unit: N m/rad, side: link}, gain: {value: 20.0, unit: N m/rad^2,"
        " side: motor}}"
    )
    file.write_text(
        f"joints:\n  shoulder:\n    motor: {MOTOR}\n    variable_stiffness:\n"
        "      range: {values: [100, 900], unit: N m/rad, side: link}\n"
        "      hardening: {value: 3.0, unit: 1/rad^2, side: link}  # data sheet\n"
        f"      drive: {drive}\n  elbow:\n    spring: rigid\n    motor: {MOTOR}\n"
    )
    names = {"stiffness_offset": 120.0, "stiffness_gain": 550.0, "hardening": 4.5}
    results = springs(**names, bias=0.1)
    results.motors["shoulder"] = {"inertia": Figure(0.5, 0.01)}
    results.motors["shoulder_stiffness"] = {"inertia": Figure(0.006, 1e-4)}
    found = WrittenBack()
    new = write_actuators(found, MODEL, results, file, "").decode()
    assert "# data sheet" in new
    joint = dyn.load_actuators(yaml.safe_load(new), MODEL.joint_names).actuators[0]
    assert joint.drive.offset == pytest.approx(120.0)
    assert joint.drive.gain == pytest.approx(550.0)
    assert joint.drive.motor.inertia == pytest.approx(0.006)
    assert joint.motor.inertia == pytest.approx(0.5)
    assert pytest.approx(4.5) == joint.shape.K3
    rows = {each.quantity: each for each in found.changes}
    assert rows["stiffness gain"].before == pytest.approx(600.0)  # x 30 on the link side
    assert rows["hardening"].before == pytest.approx(3.0)
    assert rows["bias of the torque"].remark == "of the sensor"


@pytest.mark.parametrize("motion", ["revolute", "prismatic"])
def test_the_unit_of_a_gain_follows_from_the_motions_of_link_and_drive(tmp_path, motion):
    """N m/rad^2 or, if the drive moves along a line, N m/rad/m."""
    per = {"revolute": "rad^2", "prismatic": "rad/m"}[motion]
    inertia = {"revolute": "kg m^2", "prismatic": "kg"}[motion]
    file = tmp_path / "springs.yaml"
    file.write_text(
        f"joints:\n  shoulder:\n    motor: {MOTOR}\n    variable_stiffness:\n"
        "      range: {values: [100, 900], unit: N m/rad, side: link}\n"
        f"      drive:\n        motion: {motion}\n        motor: {{gear_ratio: 1, inertia:"
        f" {{value: 1.0, unit: {inertia}, side: link}}}}\n"
        "        offset: {value: 100.0, unit: N m/rad, side: link}\n"
        f"        gain: {{value: 20.0, unit: N m/{per}, side: link}}\n"
        f"  elbow:\n    spring: rigid\n    motor: {MOTOR}\n"
    )
    new = write_actuators(WrittenBack(), MODEL, springs(stiffness_gain=25.0), file, "").decode()
    (joint, _) = dyn.load_actuators(yaml.safe_load(new), MODEL.joint_names).actuators
    assert joint.drive.gain == 25.0
    with pytest.raises(dyn.InputError, match=r"but the file has no variable_stiffness\.hardening"):
        write_actuators(WrittenBack(), MODEL, springs(hardening=3.0), file, "")


def test_both_springs_of_an_antagonistic_joint_from_recording_to_inspection(tmp_path, capsys):
    """Springs that differ from those of the file are identified from the torques of the motors."""
    config = share_directory() / "config"
    urdf, springs = (
        config / "robots/antagonistic_elbow.urdf",
        config / "elastic_joints/antagonistic.yaml",
    )
    names = dyn.load_urdf(urdf).joint_names
    given = dyn.load_actuators(springs, names).actuators[1]
    t = np.arange(0.0, 8.0, 2e-3)
    q = 0.1 * np.sin(2.0 * t)
    signals = {"t": t, "q elbow": q, "theta elbow_agonist": q, "theta elbow_antagonist": q}
    laws = [(14.0, 40.0, 25.0), (8.0, 50.0, 15.0)]
    for side, sign, law, motor in zip(
        ("agonist", "antagonist"), (1.0, -1.0), laws, given.motors, strict=True
    ):
        w = 5.0 if sign > 0.0 else 4.0
        phi = 0.45 + 0.4 * np.sin(w * t)
        theta = q + sign * phi
        rate = 0.2 * np.cos(2.0 * t) + sign * 0.4 * w * np.cos(w * t)
        second = -0.4 * np.sin(2.0 * t) - sign * 0.4 * w**2 * np.sin(w * t)
        load = sign * sum(c * phi**k for k, c in enumerate(law, start=1))
        signals[f"theta elbow_{side}"] = theta
        noise = 0.01 * np.random.default_rng(1).normal(size=len(t))
        signals[f"tau elbow_{side}"] = motor.inertia * second + motor.viscous * rate + load + noise
    table, motors = tmp_path / "elbow.csv", tmp_path / "motors.yaml"
    head = ",".join(signals)
    np.savetxt(
        table, np.column_stack(list(signals.values())), "%.17g", ",", header=head, comments=""
    )
    elbow = yaml.safe_load(springs.read_text())["joints"]["elbow"]
    motors.write_text(yaml.safe_dump({"joints": {"elbow": elbow}}))
    found, output = tmp_path / "springs", tmp_path / "identified"
    call = ["identify-springs", table, "--torque", "motors", "--elastic-joints", motors,
            "--law", "polynomial", "--no-bias", "-o", found]  # fmt: skip
    assert cli.main([str(each) for each in call]) == 0
    call = ["write-back", found, "--urdf", urdf, "--elastic-joints", springs, "-o", output]
    assert cli.main([str(each) for each in call]) == 0
    new = dyn.load_actuators(output / springs.name, names).actuators
    for spring, law in zip(new[1].springs, laws, strict=True):
        assert spring.coefficients[:3] == pytest.approx(law, rel=0.05)
    assert new[0] == dyn.load_actuators(springs, names).actuators[0]
    assert "elbow_antagonist" in capsys.readouterr().out
    # Motors of the two sides are written separately.
    figures = {"elbow_antagonist": {"inertia": Figure(0.03, 1e-4)}}
    again = write_actuators(
        WrittenBack(), dyn.load_urdf(urdf), Results(motors=figures), springs, "new"
    )
    changed = dyn.load_actuators(yaml.safe_load(again), names).actuators[1]
    assert changed.antagonist.inertia == pytest.approx(0.03)
    assert changed.agonist == given.agonist


def test_a_law_that_the_kind_of_the_joint_cannot_have_is_refused():
    config = share_directory() / "config"
    model = dyn.load_urdf(config / "robots/antagonistic_elbow.urdf")
    stiffness = {"value": 30.0, "unit": "N m/rad", "side": "link"}
    results = Results(laws={"elbow_agonist": {"law": "linear", "stiffness": stiffness}})
    with pytest.raises(dyn.InputError, match="must harden"):
        write_actuators(
            WrittenBack(), model, results, config / "elastic_joints/antagonistic.yaml", ""
        )


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (springs(cubic_stiffness=1.0), r"the spring in the file, linear, has no cubic_stiffness"),
        (springs(c1=1.0), r"a polynomial was identified, but the law in the file is linear"),
        (springs(stiffness=0.0), r"'shoulder': stiffness 0 is not possible"),
        (springs(scale=-0.2), r"'shoulder': spring scale -0.2 is not possible"),
        (Results(springs={"elbow": {"stiffness": Figure(1.0)}}), "'elbow': a spring was"),
        (Results(motors={"shoulder_agonist": {"inertia": Figure(1.0)}}), "'shoulder_agonist' has"),
    ],
)
def test_results_that_do_not_fit(tmp_path, results, message):
    with pytest.raises(dyn.InputError, match=message):
        written(tmp_path, results)
