# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Identified parameters return from the written files, with a table of what changed."""

import json
import re
import warnings
from datetime import date
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.inertia import decompose
from multibody_dynamics.dynamics.rigid.model_check import inspect_model
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.robot.identified_results import read_results
from multibody_dynamics.tools.robot.write_back import write_back
from multibody_dynamics.validation.settings import load_robot

CONFIG = share_directory() / "config"
PANDA, SPRINGS = CONFIG / "robots" / "panda.urdf", CONFIG / "elastic_joints" / "panda.yaml"
UPPER = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
TODAY = date(2026, 5, 4)


def leaf(value, error=0.01, determined=True):
    return {"value": value, "standard error": error, "determined": determined}


def link(M):
    mass, com, about = decompose(M)
    return {
        "mass": leaf(mass, 0.02),
        "com": {k: leaf(c) for k, c in zip("xyz", com.tolist(), strict=True)},
        "inertia": {k: leaf(float(about[ij]), None, False) for k, ij in UPPER.items()},
    }


@pytest.fixture
def results(tmp_path):
    """A folder as the joint identification writes it, with every kind of number."""
    model = dyn.load_urdf(PANDA)
    content = {
        "links": {
            name: link((1.0 + 0.02 * k) * M)
            for k, (name, M) in enumerate(zip(model.body_names, model.inertias, strict=True))
        },
        "joints": {
            name: {"viscous": leaf(0.3 + 0.1 * k), "coulomb": leaf(0.2), "offset": leaf(-0.1),
                   "coulomb_velocity": leaf(0.04)}
            for k, name in enumerate(model.joint_names)
        },
        "motors": {
            name: {"inertia": leaf(0.4 + 0.01 * k), "viscous": leaf(1.2), "load": leaf(0.01)}
            for k, name in enumerate(model.joint_names)
        },
        "springs": {
            "panda_joint1": {"stiffness": leaf(2900.0, 3.0), "bias": leaf(0.1)},
            "panda_joint2": {"stiffness": leaf(3100.0, 3.0), "damping": leaf(2.0)},
        },
        "gains": {}, "delays": {},
    }  # fmt: skip
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "identified.json").write_text(json.dumps(content))
    return folder, content


def test_every_number_returns(results, tmp_path, capsys):
    folder, _ = results
    output = tmp_path / "new"
    arguments = ["--urdf", str(PANDA), "--elastic-joints", str(SPRINGS), "-o", str(output)]
    assert cli.main(["write-back", str(folder), *arguments]) == 0
    old, new = dyn.load_urdf(PANDA), dyn.load_urdf(output / "panda.urdf")
    for k in range(old.n):
        wanted = (1.0 + 0.02 * k) * old.inertias[k]
        assert np.abs(new.inertias[k] - wanted).max() <= 1e-12 * np.abs(wanted).max()
    rigid = load_robot(output / "panda.urdf", output / "data.yaml")
    assert np.allclose(rigid.friction.viscous, 0.3 + 0.1 * np.arange(7), rtol=1e-12)
    assert np.allclose(rigid.friction.steepness, 2 / 0.04, rtol=1e-12)
    robot = load_robot(output / "panda.urdf", output / "data.yaml", output / "panda.yaml")
    assert not robot.friction.viscous.any()  # which the actuator file has, for the controller
    for k, each in enumerate(robot.actuators.actuators):
        own = each.link_friction
        assert own.viscous == pytest.approx(0.3 + 0.1 * k, rel=1e-9)
        assert (own.coulomb, own.coulomb_velocity, own.offset) == pytest.approx((0.2, 0.04, -0.1))
    arms = dyn.load_actuators(SPRINGS, old.joint_names).actuators
    for k, each in enumerate(robot.actuators.actuators):
        assert each.motor.inertia == pytest.approx(0.4 + 0.01 * k, rel=1e-12)
        assert each.motor.viscous == pytest.approx(1.2, rel=1e-12)
        assert each.motor.coulomb == arms[k].motor.coulomb
    stiffness = [each.spring.K for each in robot.actuators.actuators]
    assert stiffness == pytest.approx([2900.0, 3100.0, *(each.spring.K for each in arms[2:])])
    assert robot.actuators.actuators[1].damping == pytest.approx(2.0)
    assert not any(finding.severe for finding in inspect_model(new))
    for name in ("data.yaml", "panda.yaml"):  # without digits of rounding errors
        assert not re.search(r"\.\d{11}", (output / name).read_text())
    printed = capsys.readouterr().out
    assert (output / "changes.md").read_text().strip() in printed


def test_table_and_provenance(results):
    folder, _ = results
    found = write_back(read_results(folder), PANDA, SPRINGS, today=TODAY)
    rows = {
        tuple(cell.strip() for cell in line.split("|")[1:3]): line.split("|")
        for line in found.table().splitlines()
    }
    mass = [cell.strip() for cell in rows["panda_link2", "mass"]]
    model = dyn.load_urdf(PANDA)
    before = decompose(model.inertias[1])[0]
    assert mass[3:7] == [f"{before:.6g}", f"{1.02 * before:.6g}", "0.02", "+2.0 %"]
    assert "not determined" in rows["panda_link2", "inertia.ixx"][7]
    assert "unchanged" in rows["panda_link1", "mass"][7]  # the factor 1.00
    assert rows["panda_joint1", "spring stiffness"][6].strip() == "-3.3 %"
    text = found.files["panda.urdf"].decode()
    (comment,) = [part.split("-->")[0] for part in text.split("<!--") if "2026-05-04" in part]
    assert "multibody_dynamics" in comment
    assert "identified.json (sha256 " in comment
    assert found.files["panda.yaml"].decode().startswith("# Identified parameters, written by")
    assert ElementTree.fromstring(text).get("name") == "panda"


def test_numbers_of_before_change_nothing(tmp_path):
    model = dyn.load_urdf(PANDA)
    content = {
        "links": {n: link(M) for n, M in zip(model.body_names, model.inertias, strict=True)},
        "joints": {},
        "springs": {"panda_joint1": {"stiffness": leaf(3000.0)}},
    }
    file = tmp_path / "identified.json"
    file.write_text(json.dumps(content))
    found = write_back(read_results(file), PANDA, SPRINGS)
    assert found.files == {"panda.urdf": PANDA.read_bytes(), "panda.yaml": SPRINGS.read_bytes()}


def test_results_of_validate_and_of_identify_springs(tmp_path):
    """identified.json, with the residuals of report.json, and springs.yaml, in one folder."""
    model = dyn.load_urdf(PANDA)
    body = link(1.1 * model.inertias[6])
    content = {
        "links": {"panda_link7": body},
        "joints": {"panda_joint1": {"viscous": leaf(0.5, 0.07)}},
    }
    (tmp_path / "identified.json").write_text(json.dumps(content))
    after = {"panda_joint1": {"rms": 0.1}}
    report = {"identification": {"parameters": {}, "before": {}, "after": after}}
    (tmp_path / "report.json").write_text(json.dumps(report))
    (tmp_path / "springs.yaml").write_text(
        "joints:\n  panda_joint3:\n    spring:\n      law: cubic\n"
        "      stiffness: {value: 1900, unit: N m/rad, side: link}  # +- 2\n"
        "      cubic_stiffness: {value: 5000, unit: N m/rad^3, side: link}\n"
    )
    found = write_back(read_results(tmp_path), PANDA, SPRINGS)
    changes = {(each.name, each.quantity): each for each in found.changes}
    assert changes["panda_joint1", "viscous"].after.error == 0.07
    assert changes["panda_link7", "mass"].percent == pytest.approx(10.0)
    assert changes["panda_joint3", "spring stiffness"].after.value == 1900.0
    arm = dyn.load_actuators(yaml.safe_load(found.files["panda.yaml"]), model.joint_names)
    assert (arm.actuators[2].spring.K, arm.actuators[2].spring.K3) == (1900.0, 5000.0)
    new = dyn.parse_urdf(found.files["panda.urdf"])
    assert np.allclose(new.inertias[6], 1.1 * model.inertias[6], rtol=0, atol=1e-13)
    assert b"panda_joint1: rms of the torque residual unknown, now 0.1" in found.files["panda.urdf"]


def test_friction_in_the_urdf_and_xacro_blocks(tmp_path):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        """<!-- autogenerated by xacro from arm.xacro --><robot name="arm"><link name="base"/>
<link name="a"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/>
<dynamics damping="0.1" friction="0"/></joint></robot>"""
    )
    model = dyn.parse_urdf(urdf.read_text().replace("dynamics", "visual"))
    content = {"links": {"a": link(2.0 * model.inertias[0])},
               "joints": {"j": {"viscous": leaf(0.2), "coulomb": leaf(0.7)}}}  # fmt: skip

    def written():
        (tmp_path / "identified.json").write_text(json.dumps(content))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return write_back(read_results(tmp_path), urdf)

    found = written()
    assert b'<dynamics damping="0.2" friction="0.7"/>' in found.files["arm.urdf"]
    xacro = ElementTree.fromstring(found.files["inertials.xacro"])
    (macro,) = xacro
    assert macro.get("name") == "inertial_a"
    assert macro.find("inertial/mass").get("value") == "2"

    content["joints"]["j"] = {"viscous": leaf(0.0, None, False), "coulomb": leaf(0.7)}
    assert b'<dynamics damping="0.1" friction="0.7"/>' in written().files["arm.urdf"]


def test_springs_without_a_file_to_write_them_into(tmp_path):
    file = tmp_path / "springs.yaml"
    file.write_text(SPRINGS.read_text())
    with pytest.raises(dyn.InputError, match=r"springs\.yaml: has only springs.*--elastic-joints"):
        write_back(read_results(file), PANDA)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("links", "panda_link3", "mass"), -1.0, "link 'panda_link3': mass -1 kg"),
        (
            ("links", "panda_link3", "inertia", "ixx"),
            50.0,
            "link 'panda_link3': .* no physical body",
        ),
        (("links", "panda_link3", "com", "y"), float("nan"), "panda_link3: com.y is nan"),
        (("motors", "panda_joint2", "inertia"), 0.0, "motor 'panda_joint2': inertia 0"),
        (("springs", "panda_joint1", "stiffness"), -5.0, "'panda_joint1': stiffness -5"),
    ],
)
def test_impossible_results_are_refused_by_name(results, path, value, message):
    folder, content = results
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = leaf(value)
    (folder / "identified.json").write_text(json.dumps(content))
    with pytest.raises(dyn.InputError, match=message):
        write_back(read_results(folder), PANDA, SPRINGS)


def _saved(folder, content):
    file = folder / "written.yaml"
    file.write_bytes(content)
    return file


def test_friction_that_is_negative_within_its_error(results):
    folder, content = results
    content["joints"]["panda_joint2"] |= {"viscous": leaf(-0.01, 0.008), "stribeck": leaf(0.2)}
    (folder / "identified.json").write_text(json.dumps(content))
    found = write_back(read_results(folder), PANDA)
    data = yaml.safe_load(found.files["data.yaml"])
    assert load_robot(PANDA, _saved(folder, found.files["data.yaml"])).friction.viscous[1] == 0.0
    remarks = {each.quantity: each.remark for each in found.changes if each.name == "panda_joint2"}
    assert remarks["stribeck"] == "not part of the files"
    assert remarks["viscous"] == "in data.yaml"
    assert data["friction"]["panda_joint2"]["viscous"] == 0.0
    assert data["rotor_inertia"]["panda_joint2"] == pytest.approx(0.41)


def test_remarks_and_percentages(results):
    """A value that is not determined may still change, together with others."""
    folder, content = results
    content["links"]["panda_link1"]["com"]["x"] = leaf(0.002, None, False)
    residuals = [{"joint": "panda_joint1", "kind": "motor", "held_before": 2.0, "held_after": 0.25}]
    (folder / "report.json").write_text(json.dumps({"identification": {"residuals": residuals}}))
    (folder / "identified.json").write_text(json.dumps(content))
    found = write_back(read_results(folder), PANDA, SPRINGS)
    (row,) = [x for x in found.table().splitlines() if "panda_link1 " in x and "com.x" in x]
    assert "only together with others" in row
    assert (
        b"panda_joint1, motor: rms of the torque residual 2, now 0.25" in found.files["panda.urdf"]
    )


def test_results_of_another_robot(results, tmp_path):
    folder, content = results
    content["links"]["elbow"] = content["links"].pop("panda_link1")
    (folder / "identified.json").write_text(json.dumps(content))
    with pytest.raises(dyn.InputError, match="link 'elbow': the URDF has no such moving link"):
        write_back(read_results(folder), PANDA)
    with pytest.raises(dyn.InputError, match=r"has none of the files identified\.json"):
        read_results(tmp_path)


def test_effects_of_real_drives_become_terms(tmp_path):
    """Hysteresis, backlash, kinematic error and presliding, in a file that has none of them and in
    one that has them already."""
    spring = {
        "stiffness": leaf(2900.0), "hysteresis_torque": leaf(0.9), "backlash": leaf(4e-4),
        "hysteresis": {"1": {"stiffness": leaf(300.0), "torque": leaf(0.6)},
                       "4": {"stiffness": leaf(100.0), "torque": leaf(0.3)}},
        "kinematic_error": {"2": {"amplitude": leaf(1e-4), "phase": leaf(-0.4)}},
    }  # fmt: skip
    friction = {"viscous": leaf(0.1), "coulomb": leaf(2.0), "presliding": leaf(3e-4)}
    content = {"links": {}, "joints": {"panda_joint2": friction},
               "springs": {"panda_joint2": spring}}  # fmt: skip
    file, springs = tmp_path / "identified.json", SPRINGS
    for factor in (1.0, 1.5):
        spring["backlash"] = leaf(factor * 4e-4)
        file.write_text(json.dumps(content))
        found = write_back(read_results(file), PANDA, springs)
        springs = tmp_path / "panda.yaml"
        springs.write_bytes(found.files["panda.yaml"])
        names = dyn.load_urdf(PANDA).joint_names
        first, second, *others = dyn.load_actuators(springs, names).actuators
        assert [each.torque for each in second.hysteresis] == [0.6, 0.3]
        assert [each.stiffness for each in second.hysteresis] == [300.0, 100.0]
        assert second.spring.gap == pytest.approx(factor * 4e-4)
        assert second.spring.base.stiffness(0.0) == pytest.approx(2900.0)
        (harmonic,) = second.kinematic_error
        assert (harmonic.order, harmonic.of) == (2.0, "motor")
        assert (harmonic.amplitude, harmonic.phase) == pytest.approx((1e-4, -0.4))
        assert second.link_friction.presliding == pytest.approx(3e-4)
        assert second.link_friction.coulomb == 2.0
        assert not any(each.hysteresis or each.kinematic_error for each in (first, *others))
        assert "hysteresis, torque" in found.table()
