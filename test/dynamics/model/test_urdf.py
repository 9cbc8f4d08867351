# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Models from URDF, and helpful errors for every document that does not describe a robot."""

import io
import re
import warnings
from contextlib import redirect_stderr, suppress

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model import inertia
from rejections import assert_rejected
from robots import PANDA

INERTIAL = (
    '<inertial><origin xyz="0.1 0.02 -0.3" rpy="0.3 -0.5 0.7"/><mass value="2"/>'
    '<inertia ixx="0.1" ixy="0.01" ixz="0.02" iyy="0.12" iyz="-0.03" izz="0.15"/></inertial>'
)


def link(name, inertial=INERTIAL):
    return f'<link name="{name}">{inertial}</link>'


def joint(name, parent, child, kind="revolute", inside="", axis='<axis xyz="0 0 1"/>'):
    limit = '<limit lower="-1" upper="2" velocity="3" effort="4"/>' if "limit" not in inside else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 -0.6"/>{axis}{limit}{inside}</joint>'
    )


def robot(*parts):
    return f'<robot name="arm">{"".join(parts)}</robot>'


# A tree with fixed links at the base, in the middle and at the end.
TREE = robot(
    *map(link, ("hand", "world", "upper", "tool", "lower", "base", "slider", "camera")),
    joint("wrist", "lower", "hand", "continuous", axis='<axis xyz="0.2 -0.5 1"/>'),
    joint("mount", "world", "base", "fixed"),
    joint("shoulder", "base", "upper"),
    joint("rail", "base", "slider", "prismatic", axis='<axis xyz="0 0.6 -0.8"/>'),
    joint("elbow", "upper", "lower", axis=""),
    joint("camera_joint", "upper", "camera", "fixed"),
    joint("tool_joint", "hand", "tool", "fixed"),
)
ARM = robot(link("base"), link("upper"), joint("shoulder", "base", "upper"))


def rejected(text, words):
    """A text raises an error whose message names all of `words`, which are separated by blanks."""
    assert_rejected((lambda: dyn.parse_urdf(text), words), error=dyn.ModelError)


def pinocchio(text):
    model = pin.buildModelFromXML(text)
    model.gravity = pin.Motion(np.array([0, 0, -9.81]), np.zeros(3))
    return model, model.createData()


# Valid documents


def test_joints_come_depth_first_and_siblings_in_document_order():
    model = dyn.parse_urdf(TREE)
    assert model.joint_names == ("shoulder", "elbow", "wrist", "rail")
    assert model.body_names == ("upper", "lower", "hand", "slider")
    assert model.parents.tolist() == [-1, 0, 1, -1]
    assert model.joint_types == ("revolute", "revolute", "continuous", "prismatic")
    assert (model.name, model.base_name) == ("arm", "world")
    legs = robot(
        *map(link, "abcd"), joint("z", "a", "d"), joint("y", "a", "b"), joint("x", "d", "c")
    )
    assert dyn.parse_urdf(legs).joint_names == ("z", "x", "y")


def test_every_link_has_the_pose_of_pinocchio():
    model = dyn.parse_urdf(TREE)
    other, data = pinocchio(TREE)
    q = np.array([0.3, -0.8, 1.1, 0.25])
    placed = dict(zip(model.joint_names, q, strict=True))
    values = [
        [np.cos(placed[name]), np.sin(placed[name])] if name == "wrist" else [placed[name]]
        for name in other.names[1:]
    ]
    pin.framesForwardKinematics(other, data, np.concatenate(values))
    for name in model.frames:
        expected = data.oMf[other.getFrameId(name)].homogeneous
        np.testing.assert_allclose(dyn.frame_pose(model, q, name), expected, atol=1e-14)


def test_torques_with_merged_and_turned_inertias_are_those_of_pinocchio():
    model = dyn.parse_urdf(TREE)
    other, data = pinocchio(TREE)
    rng = np.random.default_rng(5)
    for _ in range(5):
        q, qd, qdd = rng.normal(size=(3, 4))
        order = [other.joints[other.getJointId(name)].idx_v for name in model.joint_names]
        q_pin = np.empty(other.nq)
        for name, value in zip(model.joint_names, q, strict=True):
            entry = other.joints[other.getJointId(name)]
            value = [np.cos(value), np.sin(value)] if entry.nq == 2 else value
            q_pin[entry.idx_q : entry.idx_q + entry.nq] = value
        back = np.argsort(order)
        expected = pin.rnea(other, data, q_pin, qd[back], qdd[back])[order]
        actual = dyn.inverse_dynamics(model, q, qd, qdd).tau
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def test_limits():
    limits = dyn.parse_urdf(TREE).limits
    assert limits.lower.tolist() == [-1, -1, -np.inf, -1]
    assert limits.upper.tolist() == [2, 2, np.inf, 2]
    assert limits.velocity.tolist() == [3] * 4
    assert limits.effort.tolist() == [4] * 4


def one_joint(inside="", **options):
    return robot(
        link("base"), link("upper"), joint("shoulder", "base", "upper", inside=inside, **options)
    )


def test_a_joint_without_limit_is_unlimited_and_noted():
    model = dyn.parse_urdf(one_joint().replace('<limit lower="-1"', '<visual lower="-1"'))
    assert np.isinf([*model.limits]).all()
    assert any("shoulder" in note and "unlimited" in note for note in model.notes)


@pytest.mark.parametrize(
    ("limit", "expected", "noted"),
    [
        ('lower="-1" upper="1"', (-1, 1, np.inf, np.inf), []),
        ('velocity="1" effort="1"', (0, 0, 1, 1), ["cannot move"]),  # as URDF specifies
        (
            'lower="-1" upper="1" velocity="-1" effort="-1"',
            (-1, 1, np.inf, np.inf),
            ["-1 means none"] * 2,
        ),
        (  # as exporters write what they do not know
            'lower="0" upper="0" velocity="0" effort="0"',
            (-np.inf, np.inf, np.inf, np.inf),
            ["'shoulder': a <limit> of zeros means none"],
        ),
    ],
)
def test_parts_of_a_limit_may_be_missing_or_mean_none(limit, expected, noted):
    model = dyn.parse_urdf(one_joint(f"<limit {limit}/>"))
    assert tuple(each[0] for each in model.limits[:4]) == expected
    for text in noted:
        assert sum("shoulder" in note and text in note for note in model.notes) == len(noted)


def test_reversed_limits_are_exchanged_with_a_warning():
    with pytest.warns(dyn.ModelWarning, match=r"'shoulder'.*lower 1 and upper -2 are exchanged"):
        model = dyn.parse_urdf(one_joint('<limit lower="1" upper="-2" velocity="3"/>'))
    assert [each[0] for each in model.limits[:3]] == [-2.0, 1.0, 3.0]


@settings(max_examples=20)
@given(
    axis=st.tuples(*[st.integers(-9, 9)] * 3).filter(any),
    scale=st.sampled_from([1e-200, 1e-3, 1.0, 1e5, 1e200]),
    kind=st.sampled_from(["revolute", "prismatic", "continuous"]),
)
def test_an_axis_of_any_length_is_normalised(axis, scale, kind):
    text = " ".join(repr(scale * x) for x in axis)
    model = dyn.parse_urdf(one_joint(kind=kind, axis=f'<axis xyz="{text}"/>'))
    e = model.screws[0, 3:] if kind == "prismatic" else model.screws[0, :3]
    length = np.linalg.norm(axis)
    np.testing.assert_allclose(model.poses[0, :3, :3].T @ e, axis / length, atol=1e-15)
    noted = any("normalised" in note and "shoulder" in note for note in model.notes)
    assert noted == (abs(scale * length - 1) > 1e-6)


def test_limits_of_urdf_1_2_are_read_and_minus_one_means_none():
    limit = '<limit lower="-1" upper="1" velocity="-1" effort="5"{}/>'
    for text, acceleration, jerk in (
        ("", np.inf, np.inf),
        (' acceleration="4" jerk="50"', 4.0, 50.0),
        (' acceleration="4" deceleration="3"', 3.0, np.inf),
        (' acceleration="-1" jerk="-1"', np.inf, np.inf),
    ):
        model = dyn.parse_urdf(one_joint(limit.format(text)))
        assert [*model.limits.acceleration, *model.limits.jerk] == [acceleration, jerk]
        assert model.limits.velocity == [np.inf]
        assert model.limits.effort == [5.0]
        assert not any("attribute" in note for note in model.notes)
    for key in ("acceleration", "jerk"):
        with pytest.raises(dyn.ModelError, match=f"'shoulder': {key} limit -3; it must be pos"):
            dyn.parse_urdf(one_joint(limit.format(f' {key}="-3"')))
        with pytest.raises(dyn.ModelError, match=f"'shoulder': <limit>: {key}: 'fast' is not"):
            dyn.parse_urdf(one_joint(limit.format(f' {key}="fast"')))


def test_planar_joint_is_two_translations_and_a_turn():
    text = one_joint(kind="planar", axis='<axis xyz="0 0.6 0.8"/>')
    model = dyn.parse_urdf(text)
    assert model.joint_names == ("shoulder_x", "shoulder_y", "shoulder_yaw")
    assert model.body_names[-1] == "upper"
    assert model.joint_types == ("prismatic", "prismatic", "revolute")
    A, q = model.poses[-1], np.array([0.3, -0.4, 1.2])
    n = A[:3, :3] @ (0, 0.6, 0.8)
    C = dyn.forward_kinematics(model, q).pose[-1]
    moved = C[:3, 3] - A[:3, 3]
    assert abs(moved @ n) < 1e-15
    assert np.linalg.norm(moved) == pytest.approx(0.5, abs=1e-15)
    np.testing.assert_allclose(C[:3, :3] @ A[:3, :3].T, dyn.so3.exp(1.2 * n), atol=1e-15)


def test_floating_joint_has_the_coordinates_of_a_urdf_origin():
    model = dyn.parse_urdf(one_joint(kind="floating"))
    assert model.joint_names == tuple(
        f"shoulder_{name}" for name in ("x", "y", "z", "yaw", "pitch", "roll")
    )
    assert np.isinf([*model.limits]).all()
    pose = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.5, 0.9), np.array([1.0, 2.0, -3.0])).homogeneous
    q = (1, 2, -3, 0.9, -0.5, 0.3)
    C = dyn.forward_kinematics(model, q).pose[-1]
    np.testing.assert_allclose(C, model.poses[-1] @ pose, atol=1e-14)


def test_gravity_is_an_argument():
    assert dyn.parse_urdf(ARM, (1, 2, 3)).gravity.tolist() == [1, 2, 3]
    assert dyn.load_urdf(PANDA).gravity.tolist() == [0, 0, -9.81]


# Massless and impossible bodies


def test_massless_links_may_carry_others_or_be_fixed():
    text = TREE
    for name in ("world", "upper", "camera", "tool", "base"):
        text = text.replace(link(name), f'<link name="{name}"/>')
    model = dyn.parse_urdf(text)
    assert not model.inertias[0].any()
    assert model.inertias[2].any()


def test_fixed_links_are_merged_before_a_body_is_checked():
    text = TREE.replace(link("hand"), '<link name="hand"/>')
    assert dyn.parse_urdf(text).inertias[2].any()  # the tool's


def test_a_massless_moving_leaf_has_torques_but_no_acceleration():
    model = dyn.parse_urdf(TREE.replace(link("slider"), '<link name="slider"/>'))
    assert any("no mass moves" in note and "rail" in note for note in model.notes)
    rail, rows = model.joint_index("rail"), np.full((3, model.n), 0.3)
    others = [i for i in range(model.n) if i != rail]
    tau = dyn.inverse_dynamics(model, *rows).tau
    expected = dyn.inverse_dynamics(dyn.parse_urdf(TREE), *rows).tau
    assert tau[rail] == 0.0
    np.testing.assert_allclose(tau[others], expected[others], rtol=1e-14)
    with pytest.raises(dyn.DynamicsError, match=r"'rail'.*'slider'"):
        dyn.forward_dynamics(model, *rows)


def test_a_robot_without_mass_is_one_warning():
    text = re.sub("<inertial>.*?</inertial>", "", TREE)
    with pytest.warns(dyn.ModelWarning, match="no link has a mass") as caught:
        model = dyn.parse_urdf(text)
    assert len(caught) == 1
    assert not dyn.mass_matrix(model, np.zeros(model.n)).any()


@pytest.mark.parametrize(("name", "body"), [("lower", "lower"), ("tool", "hand")])
def test_negative_mass(name, body):
    """The mass is checked per moving body, including all links fixed to it."""

    def with_mass(mass):
        return TREE.replace(link(name), link(name).replace('value="2"', f'value="{mass}"'))

    rejected(with_mass(-20), f"body '{body}' kg negative")
    if name != body:  # single links may correct the mass of the body
        model = dyn.parse_urdf(with_mass(-0.05))
        assert model.inertias[model.body_index(body), 5, 5] == pytest.approx(1.95)


def test_the_inertia_of_the_base_is_noted_and_has_no_effect():
    model = dyn.parse_urdf(TREE)
    assert any("world, base" in note and "without effect" in note for note in model.notes)
    negative = link("world").replace('<mass value="2"/>', '<mass value="-2"/>')
    other = dyn.parse_urdf(TREE.replace(link("world"), negative))
    np.testing.assert_array_equal(model.inertias, other.inertias)


def test_a_violated_triangle_inequality_is_a_named_warning_and_an_error_if_strict():
    bad = INERTIAL.replace('izz="0.15"', 'izz="0.9"')
    text = ARM.replace(link("upper"), link("upper", bad))
    with pytest.warns(dyn.ModelWarning, match=r"'upper'.*triangle"):
        dyn.parse_urdf(text)
    with pytest.raises(dyn.ModelError, match=r"'upper'.*triangle"):
        dyn.parse_urdf(text, strict=True)


# Ignored content


def test_friction_is_one_warning_and_a_note():
    text = TREE.replace("</joint>", '<dynamics damping="0.5" friction="0"/></joint>')
    with pytest.warns(dyn.ModelWarning) as caught:
        model = dyn.parse_urdf(text)
    assert len(caught) == 1
    for message in (str(caught[0].message), *[n for n in model.notes if "ignored" in n]):
        assert "friction and damping" in message
        assert "shoulder" in message
        assert "wrist" in message
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(model.joint_rows, dyn.parse_urdf(TREE).joint_rows)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (
            "</joint>",
            '<dynamics armature="0.3"/></joint>',
            "<dynamics> with armature in joint 'shoulder'",
        ),
        ("</link>", "<inertail/></link>", "<inertail>"),
        ("</joint>", "<orign/></joint>", "<orign>"),
        ("</robot>", "<bogus/></robot>", "<bogus>"),
        ("<origin ", '<origin xzy="0 0 0" ', "'xzy'"),
        ("<mass ", '<mass unit="g" ', "'unit'"),
    ],
)
def test_unknown_tags_and_attributes_are_named_in_a_warning(old, new, what):
    with pytest.warns(dyn.ModelWarning, match=re.escape(what)) as caught:
        model = dyn.parse_urdf(ARM.replace(old, new))
    assert len(caught) == 1
    assert any(what in note for note in model.notes)


HARMLESS = """
    <transmission name="t"><actuator/></transmission>
    <gazebo reference="upper"><mu1>0.2</mu1></gazebo>
    <ros2_control name="x" type="system"><joint name="shoulder"/></ros2_control>
    <material name="odd"/>
"""


def test_tags_of_other_tools_are_noted_without_a_warning(capfd):
    decorated = (
        TREE.replace("</robot>", HARMLESS + "</robot>")
        .replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" version="1.2" ')
        .replace("</link>", "<visual><geometry><capsule/></geometry></visual><collision/></link>")
        .replace("</joint>", '<safety_controller/><calibration/><dynamics damping="0"/></joint>')
        .replace("<limit ", '<limit acceleration="3" ')
    )
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()) as stderr:
        warnings.simplefilter("error")
        model = dyn.parse_urdf(decorated)
    assert stderr.getvalue() == ""
    assert capfd.readouterr() == ("", "")
    notes = "\n".join(model.notes)
    for tag in ("<transmission>", "<gazebo>", "<ros2_control>", "<safety_controller>"):
        assert tag in notes
    assert "visual" not in notes
    np.testing.assert_array_equal(model.joint_rows, dyn.parse_urdf(TREE).joint_rows)


def test_a_default_namespace_as_drake_writes_it():
    text = ARM.replace("<robot ", '<robot xmlns="http://drake.mit.edu" ')
    assert dyn.parse_urdf(text).joint_names == ("shoulder",)


@pytest.mark.parametrize("kind", [str, str.encode])
def test_white_space_before_the_declaration_is_accepted(kind):
    assert dyn.parse_urdf(kind(f'\n  <?xml version="1.0"?>\n{ARM}')).joint_names == ("shoulder",)


# Invalid documents


def encoded(encoding):
    return f'<?xml version="1.0" encoding="{encoding}"?>{ARM}'.encode()


AB, ABC = [*map(link, "ab")], [*map(link, "abc")]
XACRO = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" '
INCLUDE = '<xacro:include filename="a.xacro"/></robot>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((text, "empty <robot>") for text in ("", "   \n", b"", b"\n")),
        ("<robot", "not well-formed"),
        (ARM[:-3], "not well-formed"),
        ("<robot/><robot/>", "not well-formed"),
        (ARM + "x", "not well-formed"),
        ("<a>&e;</a>", "not well-formed"),
        *((encoded(name), "not well-formed") for name in ("utf-32", "utf-7", "no-such-encoding")),
        ("<sdf/>", "<robot> root element"),
        ("<html><robot/></html>", "<robot> root element"),
        ("<Robot/>", "<robot> root element"),
        (ARM.replace('xyz="0 0 1"', 'xyz="${axis}"'), "xacro first"),
        (ARM.replace('"upper"', '"$(arg prefix)upper"'), "xacro first"),
        (ARM.replace("</robot>", "<xacro:arm/></robot>"), "xacro first"),
        (ARM.replace("<robot ", XACRO).replace("</robot>", INCLUDE), "xacro first"),
        (one_joint('<limit velocity="-3"/>'), "joint 'shoulder' limits"),
        (one_joint('<limit lower="-1" upper="1" effort="-2"/>'), "joint 'shoulder' limits"),
        (
            ARM.replace(link("upper"), link("upper", INERTIAL.replace("0.01", "0.5"))),
            "'upper' principal moments COM",
        ),
        (robot(), "no link"),
        (robot(link("a")), "no moving joint"),
        (robot(link("a"), link("b"), joint("j", "a", "b", "fixed")), "no moving joint"),
        (robot(link("base"), link("base")), "2 links 'base' unique"),
        (robot(*ABC, joint("j", "a", "b"), joint("j", "b", "c")), "2 joints 'j' unique"),
        (robot(*ABC, joint("j", "a", "b")), "2 root links a, c"),
        (robot(*ABC, joint("j", "a", "c"), joint("k", "b", "c")), "link 'c' two joints 'j' 'k'"),
        (robot(link("a"), joint("j", "a", "a")), "links a cycle"),
        (robot(*ABC, joint("j", "b", "c"), joint("k", "c", "b")), "links b, c cycle"),
        (robot(*AB, joint("j", "a", "b"), joint("k", "b", "a")), "links a, b cycle"),
    ],
)
def test_what_is_no_robot(text, words):
    rejected(text, words)


def test_swapping_path_and_text_is_explained():
    rejected("robots/arm.urdf", "load_urdf")
    assert_rejected((lambda: dyn.load_urdf(ARM), "parse_urdf"), error=dyn.ModelError)
    rejected(None, "str or bytes NoneType")


ENTITY = '<!DOCTYPE robot [<!ENTITY m "2">]>'


@pytest.mark.parametrize(
    ("doctype", "encoding"),
    [
        (ENTITY, "utf-8"),
        (ENTITY, "utf-16-le"),
        ("<!DOCTYPE robot>", "utf-8-sig"),
        ("<!DOCTYPE robot>", "latin-1"),
        ('<!DOCTYPE r SYSTEM "r.dtd">', "utf-16"),
    ],
)
def test_any_doctype_in_any_encoding(doctype, encoding):
    declared = {"utf-16-le": "utf-16", "utf-8-sig": "utf-8"}.get(encoding, encoding)
    text = f'<?xml version="1.0" encoding="{declared}"?>{doctype}{ARM}'
    if encoding == "utf-16-le":
        text = "\ufeff" + text
    rejected(text.encode(encoding), "DOCTYPE")
    rejected(text.removeprefix("\ufeff"), "DOCTYPE")


def test_entities_are_never_expanded():
    bomb = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    text = f'<!DOCTYPE robot [<!ENTITY e0 "ha">{bomb}]><robot name="&e11;"/>'
    rejected(text, "DOCTYPE")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings_are_read(encoding):
    text = ARM.replace("upper", "bras_supérieur")
    declared = encoding.removesuffix("-sig")
    data = f'<?xml version="1.0" encoding="{declared}"?>{text}'.encode(encoding)
    assert dyn.parse_urdf(data).body_names == ("bras_supérieur",)


def test_errors_name_the_file(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.replace('"shoulder"', '""'))
    assert_rejected((lambda: dyn.load_urdf(file), "arm.urdf <joint> no name"), error=dyn.ModelError)
    file.write_text(ARM)
    assert dyn.load_urdf(str(file)).n == 1
    for bad in (None, 3, b"/x", ""):
        with pytest.raises(dyn.ModelError, match="load_urdf: expected the path of a file, got"):
            dyn.load_urdf(bad)
    with pytest.raises(dyn.ModelError, match=r"absent\.urdf: cannot be read"):
        dyn.load_urdf(tmp_path / "absent.urdf")


# Invalid tags, names and numbers


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('<robot name="arm">', "<robot>", "<robot> has no name"),
        ('<link name="upper">', "<link>", "<link> has no name"),
        ('name="shoulder" ', "", "<joint> has no name"),
        ('type="revolute"', "", "joint 'shoulder' 'type'"),
        ('type="revolute"', 'type="hinge"', "joint 'shoulder' 'hinge' continuous"),
        ('type="revolute"', 'type="unknown"', "joint 'shoulder' 'unknown'"),
        ('<parent link="base"/>', "", "joint 'shoulder' <parent>"),
        ('<child link="upper"/>', "", "joint 'shoulder' <child>"),
        ('<parent link="base"/>', "<parent/>", "joint 'shoulder' <parent> 'link'"),
        ('<parent link="base"/>', '<parent link="bse"/>', "'shoulder' parent link 'bse'"),
        ('<child link="upper"/>', '<child link="uper"/>', "'shoulder' child link 'uper'"),
        ('xyz="0 0 1"', 'xyz="0 0 0"', "joint 'shoulder' axis is zero"),
        ('xyz="0 0 1"', 'xyz="0 nan 1"', "joint 'shoulder' <axis> 'nan'"),
        ('xyz="0 0 1"', 'xyz="0 1"', "joint 'shoulder' <axis> 3 numbers"),
        ('xyz="0 0 1"', "", "joint 'shoulder' <axis> 'xyz'"),
        ('rpy="0.4 0.5 -0.6"', 'rpy="0.4 inf -0.6"', "'shoulder' <origin> rpy 'inf'"),
        ('rpy="0.4 0.5 -0.6"', 'rpy="0,4 0,5 0,6"', "'shoulder' rpy '0,4'"),
        ('rpy="0.4 0.5 -0.6"', 'rpy="1_0 0 0"', "'shoulder' rpy '1_0'"),
        ('rpy="0.4 0.5 -0.6"', 'rpy=""', "'shoulder' rpy 3 numbers"),
        ('rpy="0.4 0.5 -0.6"', 'quat_xyzw="0 0 0 1"', "'shoulder' quat_xyzw rpy"),
        ('effort="4"', 'effort="strong"', "'shoulder' <limit> effort 'strong'"),
        ("</joint>", '<dynamics damping="x"/></joint>', "'shoulder' damping 'x'"),
        ('<mass value="2"/>', "", "link 'upper' <mass>"),
        ('<mass value="2"/>', '<mass value="NaN"/>', "link 'base' <mass> 'NaN'"),
        ('<mass value="2"/>', "<mass/>", "link 'base' <mass> 'value'"),
        ('iyz="-0.03"', "", "link 'base' <inertia> 'iyz'"),
    ],
)
def test_an_impossible_joint_or_link(old, new, words):
    rejected(ARM.replace(old, new), words)


def test_mimic_and_zero_axes_are_ignored_on_fixed_joints():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = TREE.replace(
            joint("mount", "world", "base", "fixed"),
            joint("mount", "world", "base", "fixed", '<mimic joint="x"/>', '<axis xyz="0 0 0"/>'),
        )
        assert dyn.parse_urdf(text).n == 4


def test_a_long_chain_needs_no_recursion():
    n = 1101
    text = robot(
        *(link(f"l{i}") for i in range(n)),
        *(
            joint(f"j{i}", f"l{i}", f"l{i + 1}", "fixed" if i % 100 else "revolute")
            for i in range(n - 1)
        ),
    )
    assert dyn.parse_urdf(text).n == 11


@settings(max_examples=60)
@given(data=st.data())
def test_a_damaged_document_gives_a_model_or_a_model_error(data):
    """Cutting, doubling or changing a piece of the text never raises anything else."""
    start = data.draw(st.integers(0, len(TREE)))
    stop = data.draw(st.integers(start, min(len(TREE), start + 40)))
    doubled = TREE[start:stop] * 2
    piece = data.draw(st.sampled_from(["", "<", '"', "nan", "&", "0", "\x00", doubled]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn.ModelWarning)
        with suppress(dyn.ModelError):
            model = dyn.parse_urdf(TREE[:start] + piece + TREE[stop:])
            assert np.isfinite(model.joint_rows).all()


# A part of a robot


def as_part(**part):
    """TREE with a part of its joints; the wrist is on the elbow on the shoulder, the rail aside."""
    return dyn.parse_urdf(TREE, **part)


@pytest.mark.parametrize(
    ("part", "joints", "held"),
    [
        ({"lock": {"rail": 0.2}}, ("shoulder", "elbow", "wrist"), {"rail": 0.2}),
        ({"lock": ["elbow", "rail"]}, ("shoulder", "wrist"), {"elbow": 0.0, "rail": 0.0}),
        ({"tip": "lower"}, ("shoulder", "elbow"), {"wrist": 0.0, "rail": 0.0}),
        ({"tip": "tool", "lock": {"rail": 1.0}}, ("shoulder", "elbow", "wrist"), {"rail": 1.0}),
        ({"root": "base", "tip": "slider"}, ("rail",), dict.fromkeys(
            ("shoulder", "elbow", "wrist"), 0.0)),
        ({"root": "upper"}, ("elbow", "wrist"), {"shoulder": 0.0, "rail": 0.0}),
        ({"root": "camera", "tip": "hand", "lock": {"shoulder": 0.4}}, ("elbow", "wrist"),
         {"shoulder": 0.4, "rail": 0.0}),
    ],
)  # fmt: skip
def test_a_part_of_a_robot_has_the_torques_of_the_whole(part, joints, held):
    """The others stand still where they are locked; poses are those seen from the new base."""
    whole, model = dyn.parse_urdf(TREE), as_part(**part)
    assert set(model.joint_names) == set(joints)
    assert dict(model.locked) == held
    assert any("locked" in note for note in model.notes)
    rows = np.random.default_rng(0).uniform(-1, 1, (5, whole.n))
    for j, name in enumerate(whole.joint_names):
        if name in held:
            rows[:, j], rows[0, j] = 0.0, held[name]
    own = [whole.joint_index(name) for name in model.joint_names]
    found = dyn.inverse_dynamics(model, *rows[:, own])
    for Q, expected in zip(found, dyn.inverse_dynamics(whole, *rows), strict=True):
        np.testing.assert_allclose(Q, expected[own], atol=1e-10)
    base = dyn.rigid.frame_pose(whole, rows[0], model.base_name)
    for link in ("tool", "camera", "slider", "world"):
        expected = dyn.se3.inverse(base) @ dyn.rigid.frame_pose(whole, rows[0], link)
        np.testing.assert_allclose(dyn.rigid.frame_pose(model, rows[0, own], link), expected,
                                   atol=1e-12)  # fmt: skip
    assert model.base_name == part.get("root", "world")


def test_joints_outside_a_part_are_locked_at_the_nearest_limit():
    text = TREE.replace('lower="-1"', 'lower="0.5"')
    assert dyn.parse_urdf(text, tip="lower").locked["rail"] == 0.5


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"tip": "nowhere"}, "no body or frame 'nowhere'"),
        ({"root": "slider", "tip": "tool"}, "'tool' is not beyond link 'slider'"),
        ({"root": "hand"}, "no joint moves link 'hand'"),
        ({"lock": {"rale": 0}}, "no joint 'rale'"),
        ({"lock": {"rail": "open"}}, "rail"),
    ],
)
def test_impossible_parts(part, words):
    with pytest.raises(dyn.ModelError, match=words):
        as_part(**part)


# A mobile base


@pytest.mark.parametrize(("kind", "count"), [("floating", 6), ("planar", 3)])
def test_a_mobile_base_is_held_fixed_in_one_sentence(kind, count):
    """Only its children move: the joint that carries the whole robot has no motor."""
    text = TREE.replace('<joint name="mount" type="fixed">', f'<joint name="mount" type="{kind}">')
    with pytest.warns(dyn.ModelWarning, match=r"mount.*held fixed.*floating_base") as caught:
        model = dyn.parse_urdf(text)
    assert len(caught) == 1
    fixed = dyn.parse_urdf(TREE)
    assert model.joint_names == fixed.joint_names
    rows = np.random.default_rng(0).uniform(-1, 1, (3, 4))
    np.testing.assert_allclose(
        dyn.inverse_dynamics(model, *rows).tau, dyn.inverse_dynamics(fixed, *rows).tau, atol=1e-12
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        floating = dyn.parse_urdf(text, floating_base=True)
    assert floating.n == 4 + count
    assert floating.joint_names[0] == "mount_x"


def test_a_spherical_joint_has_three_angles():
    for kind in ("spherical", "ball"):
        model = dyn.parse_urdf(one_joint(kind=kind))
        assert model.joint_names == ("shoulder_yaw", "shoulder_pitch", "shoulder_roll")
        R = pin.rpy.rpyToMatrix(0.3, -0.5, 0.9)
        C = dyn.forward_kinematics(model, (0.9, -0.5, 0.3)).pose[-1]
        np.testing.assert_allclose(C[:3, :3], model.poses[-1, :3, :3] @ R, atol=1e-14)


# What other tools leave behind


def test_undeclared_prefixes_are_those_of_other_tools():
    text = ARM.replace("</joint>", "<drake:motor/></joint>").replace(
        "<limit ", '<limit drake:acceleration="9" '
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = dyn.parse_urdf(text)
    assert any("drake:motor" in note for note in model.notes)
    np.testing.assert_array_equal(model.joint_rows, dyn.parse_urdf(ARM).joint_rows)
    rejected(ARM.replace("</joint>", '<xacro:include filename="x"/></joint>'), "run xacro")
    rejected('<!DOCTYPE robot [<!ENTITY e "x">]>' + text, "DOCTYPE")


def test_a_macro_that_xacro_left_behind_is_warned_of():
    """Elsewhere it shows that xacro has not been run; what is only seen may contain any."""
    text = ARM.replace("</robot>", "<xacro:sensor/></robot>")
    rejected(text, "run xacro")
    for kind in (str, str.encode):
        generated = kind(f"<!-- This document was autogenerated by xacro from a.xacro -->{text}")
        with pytest.warns(dyn.ModelWarning, match="<xacro:sensor> is a macro .* missing"):
            model = dyn.parse_urdf(generated)
        np.testing.assert_array_equal(model.joint_rows, dyn.parse_urdf(ARM).joint_rows)
    seen = ARM.replace("</link>", "<visual><xacro:grey/></visual></link>")
    np.testing.assert_array_equal(dyn.parse_urdf(seen).joint_rows, model.joint_rows)


def test_products_of_inertia_that_are_not_given_are_zero():
    text = ARM.replace(link("upper"), link("upper", re.sub(r' i(xy|xz|yz)="[^"]*"', "", INERTIAL)))
    with pytest.warns(dyn.ModelWarning, match="'upper': .*inertia> has no products"):
        model = dyn.parse_urdf(text)
    zero = re.sub(r' i(xy|xz|yz)="[^"]*"', r' i\1="0"', INERTIAL)
    expected = dyn.parse_urdf(ARM.replace(link("upper"), link("upper", zero)))
    np.testing.assert_array_equal(model.inertias, expected.inertias)


def test_the_axis_of_a_fixed_joint_is_not_read():
    fixed = joint("k", "upper", "tool", "fixed", '<axis xzy="0 0 1"/>')
    text = ARM.replace("</robot>", f"{link('tool')}{fixed}</robot>")
    assert dyn.parse_urdf(text).joint_names == ("shoulder",)


def test_gears_and_rotors_of_transmissions_are_noted():
    gear = (
        '<transmission name="t"><joint name="shoulder"/><actuator name="m">'
        "<mechanicalReduction> 101 </mechanicalReduction><motorInertia>2e-5</motorInertia>"
        "</actuator></transmission></robot>"
    )
    model = dyn.parse_urdf(ARM.replace("</robot>", gear))
    (note,) = [note for note in model.notes if note.startswith("<transmission> of shoulder")]
    assert "gear ratio 101" in note
    assert "rotor inertia 2e-5" in note
    plain = dyn.parse_urdf(ARM.replace("</robot>", gear.replace(" 101 ", "1").replace("2e-5", "")))
    assert not any("gear ratio" in note for note in plain.notes)


def test_the_first_of_two_axes_counts_with_a_warning():
    with pytest.warns(dyn.ModelWarning, match=r"second of two <axis>.*shoulder"):
        model = dyn.parse_urdf(ARM.replace("<axis ", '<axis xyz="0 1 0"/><axis '))
    expected = dyn.parse_urdf(ARM.replace('xyz="0 0 1"', 'xyz="0 1 0"'))
    np.testing.assert_array_equal(model.screws, expected.screws)


@pytest.mark.parametrize(
    ("first", "second", "tag"),
    [
        ('<mass value="2"/>', '<mass value="5"/>', "mass"),
        ('<origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 -0.6"/>', '<origin xyz="9 9 9"/>', "origin"),
        ('<limit lower="-1" upper="2" velocity="3" effort="4"/>', '<limit lower="0"/>', "limit"),
    ],
)
def test_of_two_tags_the_first_counts_as_in_other_readers(first, second, tag):
    wanted = dyn.parse_urdf(ARM)
    twice = ARM.replace(first, first + second, 1) if first in ARM else ""
    assert twice, first
    with pytest.warns(dyn.ModelWarning, match=f"the second of two <{tag}> in "):
        model = dyn.parse_urdf(twice)
    np.testing.assert_array_equal(model.joint_rows, wanted.joint_rows)
    np.testing.assert_array_equal(model.limits, wanted.limits)


def test_a_link_without_inertia_is_a_point_mass_and_said_to_be_one():
    point = (
        '<link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/></inertial></link>'
    )
    text = robot(link("base"), point, joint("shoulder", "base", "upper"))
    with pytest.warns(dyn.ModelWarning, match=r"'upper' has no <inertia>.*point mass"):
        model = dyn.parse_urdf(text)
    mass, com, about_com = inertia.decompose(model.link_inertias[0])
    assert mass == 2.0
    np.testing.assert_allclose(com, (0.2, 0.0, 0.0))
    np.testing.assert_allclose(about_com, 0.0, atol=1e-16)


def test_an_incomplete_inertia_of_the_base_has_no_effect():
    bare = '<link name="base"><inertial><mass value="2"/></inertial></link>'
    model = dyn.parse_urdf(ARM.replace(link("base"), bare))
    np.testing.assert_array_equal(model.joint_rows, dyn.parse_urdf(ARM).joint_rows)
    assert any("incomplete <inertial>" in note and "base" in note for note in model.notes)
