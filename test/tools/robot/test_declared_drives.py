# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What a URDF file says about springs, gears and motors."""

import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.robot.declared_drives import (
    declared_drives,
    drive_lines,
    springs_file,
)

LINK = """<link name="{0}"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="40" velocity="2"/>{4}</joint>"""
GEAR = """<transmission name="t_{0}"><joint name="{0}"/><actuator name="m_{0}">
<mechanicalReduction>{1}</mechanicalReduction><motorInertia>{2}</motorInertia></actuator>
</transmission>"""
TEXT = "".join([
    "<robot name='arm'><link name='base'/>", *map(LINK.format, "abc"),
    JOINT.format("1", "revolute", "base", "a",
                 '<dynamics K="7000" D="2" damping="0.5" friction="0.2" mu_viscous="16"/>'),
    JOINT.format("2", "revolute", "a", "b", '<dynamics damping="0" friction="0"/>'),
    JOINT.format("slide", "prismatic", "b", "c", '<dynamics damping="0.3"/>'),
    GEAR.format("1", 160, 6.1e-05), GEAR.format("2", 1, "unknown"), "</robot>",
])  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(TEXT)
    return path


def test_what_is_declared_is_listed(file):
    with pytest.warns(dyn.ModelWarning, match="D, K, mu_viscous"):
        model = dyn.load_urdf(file)
    assert drive_lines(declared_drives(file, model)) == [
        "1: K 7000 N m/rad, D 2 N m s/rad, damping 0.5 N m s/rad, friction 0.2 N m, gear 160,"
        " rotor 6.1e-05 kg m^2",
        "slide: damping 0.3 N s/m",
    ]


@pytest.mark.filterwarnings("ignore::multibody_dynamics.dynamics.ModelWarning")
def test_the_file_is_read_once_it_is_complete(file, tmp_path, capsys):
    """The numbers arrive on the link side; what is missing is asked for, by joint."""
    springs = tmp_path / "springs.yaml"
    assert cli.main(["inspect", str(file), "--no-timing", "--springs", str(springs)]) == 0
    assert "K 7000 N m/rad" in capsys.readouterr().out
    model = dyn.load_urdf(file)
    text = springs.read_text()
    assert text == springs_file(file, model)
    with pytest.raises(dyn.InputError, match=r"'2'.*inertia"):
        dyn.load_actuators(springs, model.joint_names, model.joint_types)
    springs.write_text(text.replace("# inertia: {value: ???", "inertia: {value: 0.0"))
    assert cli.main(["inspect", str(file), "--no-timing", "--springs", str(springs)]) == 2
    assert f"{springs}: --springs writes a new file" in capsys.readouterr().err
    actuators = dyn.load_actuators(springs, model.joint_names, model.joint_types)
    assert actuators.actuators[0].spring.K == 7000.0
    assert actuators.motor_inertia[0] == pytest.approx(160**2 * 6.1e-05)
    assert [motor.viscous for motor in actuators.motors] == [0.5, 0.0, 0.3]
    assert [motor.coulomb for motor in actuators.motors] == [0.2, 0.0, 0.0]
    assert actuators.is_rigid.tolist() == [False, True, True]
    assert (actuators.torque_limit == 40.0).all()
    assert (actuators.speed_limit == 2.0).all()
