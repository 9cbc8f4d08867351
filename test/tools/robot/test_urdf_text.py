# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Only the numbers that change are replaced in the text of a URDF."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.inertia import spatial_inertia
from multibody_dynamics.tools.robot.urdf_text import UrdfText

URDF = b"""<?xml version='1.0'?>
<!-- kept: <inertial> in a comment -->
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
\t<link name='base'/>
\t<link   name = "upper" >
\t\t<inertial>
\t\t\t<inertia izz="0.3" ixx='0.1'   iyy="0.25" ixy="0.01" ixz="0.0" iyz="0" /> <!-- a > b -->
\t\t\t<mass value="2.50"/>
\t\t\t<origin rpy="0.3 -0.2 1.1"
\t\t\t        xyz="0.1 0 2e-1"/>
\t\t</inertial>
\t\t<visual><origin xyz="9 9 9"/><geometry><box size="1 1 1"/></geometry></visual>
\t</link>
\t<link name="bare"><inertial><mass value="1"/>\
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
\t<joint name="j" type="continuous"><parent link="base"/><child link="upper"/>\
<dynamics friction="0.5"/></joint>
\t<joint name="k" type="fixed"><parent link="base"/><child link="bare"/></joint>
\t<unknown attribute="a > b"><link name="not a link"/></unknown>
</robot>
"""
M = spatial_inertia(3.0, [0.2, -0.1, 0.4], [[0.5, 0.1, 0.0], [0.1, 0.6, 0.05], [0.0, 0.05, 0.7]])


def test_inertias_are_read_as_by_the_loader():
    text = UrdfText(URDF)
    model = dyn.parse_urdf(URDF.replace(b"<unknown", b"<!--").replace(b"</unknown>", b"-->"))
    assert np.allclose(text.inertia("upper"), model.inertias[0], rtol=0, atol=1e-15)
    assert text.inertia("base") is None
    assert set(text.links) == {"base", "upper", "bare"}


def test_without_a_change_the_bytes_are_the_same():
    text = UrdfText(URDF)
    for link in ("upper", "bare"):
        assert not text.set_inertia(link, text.inertia(link))
    assert not text.set_friction("j", None, 0.5)
    assert not text.set_friction("k", 1.0, 1.0)  # has no <dynamics>
    assert text.edited("a comment") == URDF


def test_rotated_inertial():
    text = UrdfText(URDF)
    assert text.set_inertia("upper", M)
    new = text.edited("where -- from")
    assert np.allclose(UrdfText(new).inertia("upper"), M, rtol=0, atol=1e-15)
    assert b'rpy="0.3 -0.2 1.1"\n\t\t\t        xyz="0.2 -0.1 0.4"' in new
    assert b'<mass value="3"/>' in new
    assert b"<!-- where - - from -->" in new
    old_lines, new_lines = URDF.splitlines(), new.splitlines()
    inserted = [line for line in new_lines if b"where" in line]
    new_lines.remove(*inserted)
    changed = [
        k for k, pair in enumerate(zip(old_lines, new_lines, strict=True)) if len({*pair}) > 1
    ]
    assert changed == [6, 7, 9]  # inertia, mass, xyz


def test_only_the_mass_changes():
    text = UrdfText(URDF)
    com, about = np.zeros(3), np.eye(3)
    assert text.set_inertia("bare", spatial_inertia(1.25, com, about))
    assert text.edited() == URDF.replace(b'<mass value="1"/>', b'<mass value="1.25"/>')


def test_inertials_that_are_incomplete_or_absent():
    text = UrdfText(URDF)
    assert text.set_inertia("bare", M)
    assert text.set_inertia("base", M)
    text.set_friction("j", 0.25, 0.75)
    new = UrdfText(text.edited())
    for link in ("bare", "base"):
        assert np.allclose(new.inertia(link), M, rtol=0, atol=1e-15)
    tag = new.joints["j"].inside["dynamics"]
    assert (tag.number("damping"), tag.number("friction")) == (0.25, 0.75)
    assert b'<dynamics friction="0.75" damping="0.25"/>' in new.data


def test_windows_lines_and_utf_16():
    data = URDF.replace(b"\n", b"\r\n")
    text = UrdfText(data)
    text.set_inertia("base", M)
    assert text.edited("one\ntwo").count(b"\n") == text.edited("one\ntwo").count(b"\r\n")
    with pytest.raises(dyn.InputError, match=r"arm\.urdf is encoded in UTF-16"):
        UrdfText(URDF.decode().encode("utf-16"), "arm.urdf")
