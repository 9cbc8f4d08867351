# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The inertia of a body is distributed over its links such that the robot has it exactly."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.inertia import decompose, spatial_inertia
from multibody_dynamics.tools.robot.lumped_inertia import is_possible, write_body
from multibody_dynamics.tools.robot.urdf_text import UrdfText
from robots import random_inertia

NUMBERS = re.compile(rb'(value|xyz|i[xyz]{2})="[^"]*"')


def random_urdf(rng, count):
    """A branching robot with rotated inertials and links fixed to the moving ones."""

    def row(values):
        return " ".join(map(repr, np.asarray(values).tolist()))

    def inertial(share=1.0):
        mass, com, about = decompose(share * random_inertia(rng))
        upper = [about[i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        moments = " ".join(f'{k}="{v!r}"' for k, v in zip(names, map(float, upper), strict=True))
        return (
            f'<inertial>\n<origin xyz="{row(com)}" rpy="{row(rng.uniform(-3, 3, 3))}"/>'
            f'<mass value="{mass!r}"/><inertia {moments}/></inertial>'
        )

    def joint(name, kind, parent, child):
        axis = rng.normal(size=3)
        return (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{row(rng.normal(size=3))}" rpy="{row(rng.normal(size=3))}"/>'
            f'<axis xyz="{row(axis / np.linalg.norm(axis))}"/></joint>'
        )

    parts, links = ['<link name="base"/>'], ["base"]
    for k in range(count):
        kind = "prismatic" if rng.random() < 0.3 else "continuous"
        parts += [f'<link name="link_{k}">{inertial()}</link>',
                  joint(f"joint_{k}", kind, rng.choice(links), f"link_{k}")]  # fmt: skip
        links.append(f"link_{k}")
        for f in range(rng.integers(0, 3)):
            name = f"fixed_{k}_{f}"
            own = inertial(0.05) if rng.random() < 0.7 else "<visual/>"
            parts += [f'<link name="{name}">{own}</link>',
                      joint(f"to_{name}", "fixed", f"link_{k}", name)]  # fmt: skip
    return f'<robot name="random">\n{"".join(f"  {part}" for part in parts)}</robot>'.encode()


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_round_trip_of_random_robots(seed):
    rng = np.random.default_rng(seed)
    data = random_urdf(rng, 4)
    model = dyn.parse_urdf(data)
    text = UrdfText(data)
    bodies = rng.choice(model.body_names, 2, replace=False)
    wanted = np.array(model.inertias)
    for body in bodies:
        i = model.body_index(body)
        wanted[i] = 1.5 * wanted[i] + 0.3 * random_inertia(rng)  # heavier than what is fixed to it
        assert write_body(text, model, body, wanted[i]) == body
    new = text.edited()
    found = dyn.parse_urdf(new)
    for i in range(model.n):
        assert np.abs(found.inertias[i] - wanted[i]).max() <= 1e-12 * np.abs(wanted[i]).max()
    assert NUMBERS.sub(rb"\1", new) == NUMBERS.sub(
        rb"\1", data
    )  # everything but the numbers is unchanged
    for link in text.links:
        owner = model.frames[link].body
        if owner < 0 or model.body_names[owner] not in bodies or link.startswith("fixed"):
            before, after = text.inertia(link), UrdfText(new).inertia(link)
            assert (before is None and after is None) or np.array_equal(before, after)
    again = UrdfText(new)  # writing the same numbers again changes nothing
    for body in bodies:
        M = found.inertias[model.body_index(body)]
        assert write_body(again, found, body, M) is None
    assert again.edited() == new


TOOL = b"""<robot name="a"><link name="base"/>
<link name="flange"/>
<joint name="j" type="continuous"><parent link="base"/><child link="flange"/></joint>
<link name="tool"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="f" type="fixed"><parent link="flange"/><child link="tool"/>
<origin xyz="0.1 0 0" rpy="0 1 0"/></joint></robot>"""


def test_moving_link_without_an_inertial():
    model, text = dyn.parse_urdf(TOOL), UrdfText(TOOL)
    M = 1.1 * model.inertias[0]
    assert write_body(text, model, "flange", M) == "tool"
    assert np.allclose(dyn.parse_urdf(text.edited()).inertias[0], M, rtol=0, atol=1e-14)


def test_moving_link_that_cannot_take_the_change():
    """The identified body is lighter than the tool: the tool changes, not the small flange."""
    light = TOOL.replace(b'<link name="flange"/>',
        b'<link name="flange"><inertial><mass value="0.1"/><inertia ixx="1e-4" ixy="0" ixz="0"'
        b' iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>')  # fmt: skip
    model, text = dyn.parse_urdf(light), UrdfText(light)
    M = 0.7 * model.inertias[0]
    assert write_body(text, model, "flange", M) == "tool"
    assert np.allclose(dyn.parse_urdf(text.edited()).inertias[0], M, rtol=0, atol=1e-14)
    far = spatial_inertia(0.05, [1.0, 0.0, 0.0], 1e-5 * np.eye(3))
    refused = r"link 'flange': no single link of this body \(tool, flange\) can take the change"
    with pytest.raises(dyn.InputError, match=refused):
        write_body(text, model, "flange", far)


@pytest.mark.parametrize(
    ("mass", "moments"),
    [
        (-1.0, [1, 1, 1]),
        (1.0, [1, 1, -0.1]),
        (1.0, [1, 1, 2.1]),
        (np.nan, [1, 1, 1]),
        (0, [0, 0, 0]),
    ],
)
def test_impossible_bodies_are_refused(mass, moments):
    M = np.zeros((6, 6))
    M[:3, :3], M[3:, 3:] = np.diag(moments), mass * np.eye(3)
    assert np.isnan(mass) or mass == 0 or not is_possible(M)
    with pytest.raises(dyn.InputError, match="link 'flange'"):
        write_body(UrdfText(TOOL), dyn.parse_urdf(TOOL), "flange", M)
