# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Loads a robot from URDF, the robot description format of ROS.

It reads links with their inertials, and revolute, continuous, prismatic, fixed, planar and floating
joints with axis, origin and limits. Fixed joints are merged: the inertia of the child is added to
the moving body, and the child remains a frame of that body under its own name. Planar, spherical
and floating joints become chains (:func:`.planar`, :func:`.spherical`, :func:`.floating`) of joints
`<joint>_x`, `_y`, `_yaw`, or `_yaw`, `_pitch`, `_roll`, or all of `_x`, `_y`, `_z`, `_yaw`,
`_pitch`, `_roll`, of which the last three are the rpy of URDF. A planar or floating joint that
carries the whole robot is locked, unless the caller asks for it. A <mimic> couples two joints, see
:meth:`.MultibodyModel.with_couplings`.

urdf_parser_py parses the numbers. It accepts invalid robots, rejects valid ones for tags that do
not concern the dynamics, and expands entities; therefore it receives only elements that this module
has checked.
"""

import math
import os
import re
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np
from urdf_parser_py.urdf import URDF

from ..core import (
    Array,
    DynamicsError,
    ModelError,
    ModelWarning,
    as_path,
    computable,
    read_yaml,
    refused_as,
)
from ..lie import se3, so3
from . import inertia, joints
from .couplings import Coupling, checked_positions, load_couplings
from .multibody_model import (
    STANDARD_GRAVITY,
    Frame,
    JointLimits,
    MultibodyModel,
    model_from_screws,
    screw_type,
)

JOINT_TYPES = (
    "revolute", "continuous", "prismatic", "fixed", "planar", "floating", "spherical", "ball",
)  # fmt: skip
UNPARSED_TYPES = {"spherical": "floating", "ball": "floating"}  # unknown to urdf_parser_py
BASE_TYPES = {"planar": 3, "floating": 6}  # joints of a mobile base, with their coordinates
UNIT = 1e-6  # an axis whose length differs from 1 by more than this is noted

# Tags that are read: number of values of each attribute (0: a name), and their content.
ATTRIBUTES: dict[str, dict[str, int]] = {
    "robot": {"name": 0},
    "link": {"name": 0},
    "joint": {"name": 0, "type": 0},
    "inertial": {},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 1),
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "parent": {"link": 0},
    "child": {"link": 0},
    "limit": dict.fromkeys(("lower", "upper", "velocity", "effort"), 1),
    "mimic": {"joint": 0, "multiplier": 1, "offset": 1},
}
CONTENT = {
    "robot": ("link", "joint"),
    "link": ("inertial",),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("origin", "axis", "parent", "child", "limit", "mimic"),
}
OPTIONAL = {
    "origin": {"xyz", "rpy"},
    "limit": {"lower", "upper", "velocity", "effort"},
    "mimic": {"multiplier", "offset"},
}
REQUIRED = {"inertial": ("mass", "inertia"), "joint": ("parent", "child")}
LOSSES = ("damping", "friction")
# Tags without effect on the dynamics: SILENT ones are skipped, HARMLESS ones are noted.
SILENT = {"visual", "collision", "material"}
HARMLESS = {
    "transmission", "gazebo", "ros2_control", "sensor", "safety_controller", "calibration", "mimic",
}  # fmt: skip
GEARS = {"mechanicalReduction": "gear ratio", "motorInertia": "rotor inertia"}  # in transmissions
FEW = 3  # places that a warning lists; the notes of the model list all
UNLIMITED = -1.0  # a limit, as exporters write it
RATES = {"acceleration": 0, "deceleration": 0, "jerk": 1}  # of URDF 1.2; the smaller one of two
HARMLESS_ATTRIBUTES_OF = {"robot", "link", "limit"}


@dataclass(frozen=True)
class RobotPart:
    """Which part of a description is the robot; see :func:`load_urdf`."""

    lock: Any = None
    tip: str | None = None
    root: str | None = None
    couplings: Any = None
    floating_base: bool = False


def load_urdf(
    path: str | os.PathLike[str],
    gravity: Any = STANDARD_GRAVITY,
    *,
    strict: bool = False,
    lock: Any = None,
    tip: str | None = None,
    root: str | None = None,
    couplings: Any = None,
    floating_base: bool = False,
) -> MultibodyModel:
    """Load a robot, or a part of it, from a URDF file.

    The joints are in depth-first order from the root, siblings in document order. A joint with a
    <mimic> depends on another one: it moves, but has no coordinate of its own.

    Parameters
    ----------
    gravity : (3,) m/s^2, in the axes of the root link of the file.
    strict : a ModelError instead of a ModelWarning for an inertia that violates the triangle
        inequality.
    lock : {joint: position in rad or m}, or names of joints to hold at zero. Their bodies are
        merged into those that carry them.
    tip, root : links. Only the joints between them move: those from `root` (default: the root of
        the file) to `tip` (default: everything beyond `root`). The others are locked, by default at
        zero or at the nearest limit. `root` becomes the base, whose frame is the inertial one.
    couplings : of further joints, see :meth:`.MultibodyModel.with_couplings`, or the path of a YAML
        file with the key `couplings`, see :func:`.load_couplings`; a file with `loops` is refused.
    floating_base : keep the coordinates of a planar or floating joint that carries the whole robot.
        Otherwise it is locked, with a ModelWarning.

    Raises ModelError if the file cannot be read or is not a valid robot; the message names the
    file, the joint or link, and the remedy.
    """
    if str(path).lstrip().startswith("<"):
        raise ModelError("load_urdf takes the path of a file; for URDF text use parse_urdf")
    with refused_as(ModelError, "load_urdf"):
        file = as_path(path)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from None
    part = RobotPart(lock, tip, root, couplings, floating_base)
    return _load(data, gravity, strict, part, source=f"{path}: ")


def parse_urdf(
    xml_text: str | bytes,
    gravity: Any = STANDARD_GRAVITY,
    *,
    strict: bool = False,
    lock: Any = None,
    tip: str | None = None,
    root: str | None = None,
    couplings: Any = None,
    floating_base: bool = False,
) -> MultibodyModel:
    """Load a robot from URDF text, such as a `robot_description`; see :func:`load_urdf`."""
    part = RobotPart(lock, tip, root, couplings, floating_base)
    return _load(xml_text, gravity, strict, part, source="")


def _load(
    text: str | bytes, gravity: Any, strict: bool, part: RobotPart, source: str
) -> MultibodyModel:
    try:
        root = urdf_document(text)
        ignored = _Ignored()
        clean = _sift(root, "", ignored)
        robot = URDF.from_xml_string(ElementTree.tostring(clean))
        model = _build(robot, gravity, strict, part, ignored)
    except DynamicsError as error:
        raise ModelError(f"{source}{error}") from None
    except Exception as error:  # of the parsers and of linear algebra
        raise ModelError(f"{source}not a robot: {error or type(error).__name__}") from None
    for sentence in ignored.sentences:
        warnings.warn(f"{source}{sentence}", ModelWarning, stacklevel=3)
    if ignored.suspicious:
        listed = "; ".join(_listed(ignored.suspicious, FEW))
        warnings.warn(
            f"{source}ignored, but possibly relevant: {listed}", ModelWarning, stacklevel=3
        )
    return model


# The document


class _Builder(ElementTree.TreeBuilder):
    """Rejects a DOCTYPE before any of its entities is expanded."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ModelError("a DOCTYPE is not allowed in a URDF: it can define entities; remove it")


def urdf_document(text: str | bytes) -> ElementTree.Element:
    """The <robot> element of an XML document in any encoding that expat reads."""
    if not isinstance(text, (str, bytes)):
        raise ModelError(f"URDF text must be str or bytes, got {type(text).__name__}")
    if not text.strip():
        raise ModelError("the URDF is empty; expected a <robot> element")
    text = text.lstrip()
    try:
        try:
            root = ElementTree.fromstring(text, ElementTree.XMLParser(target=_Builder()))
        except ElementTree.ParseError as error:
            if "unbound prefix" not in str(error):
                raise
            root = _without_namespaces(text)
    except ModelError:
        raise
    except (ElementTree.ParseError, expat.ExpatError, ValueError, LookupError) as error:
        is_path = isinstance(text, str) and "<" not in text
        hint = "; load_urdf takes the path of a file, parse_urdf its text" if is_path else ""
        raise ModelError(f"not well-formed XML: {error}{hint}") from None
    namespace = root.tag[: root.tag.rfind("}") + 1]  # from xmlns="...", as in Drake's files
    for node in root.iter():
        node.tag = node.tag.removeprefix(namespace)
        name = re.split(r"[:}]", node.tag)[-1]
        if "xacro" in node.tag.removesuffix(name):
            raise _is_xacro(f"the tag <xacro:{name}>")
    if root.tag != "robot":
        raise ModelError(f"the root element of a URDF must be <robot>, got <{root.tag}>")
    return root


def _without_namespaces(text: str | bytes) -> ElementTree.Element:
    """A document with prefixes that it does not declare, which remain part of the tags."""
    builder, parser = _Builder(), expat.ParserCreate()
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = lambda name, *_: builder.doctype(name, None, None)
    parser.Parse(text, True)
    return builder.close()


def _is_xacro(found: str) -> ModelError:
    return ModelError(f"{found} shows that this is a xacro file; run xacro on it first")


@dataclass
class _Ignored:
    """Ignored tags and attributes, each with the places where it occurs.

    sentences : other warnings. types : {joint: its type}. grounded : links that no joint moves.
    gears : notes on transmissions. rates : {joint: its acceleration and jerk limits}.
    """

    suspicious: dict[str, list[str]] = field(default_factory=dict)
    harmless: dict[str, list[str]] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    grounded: set[str] = field(default_factory=set)
    gears: list[str] = field(default_factory=list)
    rates: dict[str, Array] = field(default_factory=dict)

    def add(self, what: str, where: str, *, harmless: bool = False) -> None:
        (self.harmless if harmless else self.suspicious).setdefault(what, []).append(where)


def _listed(ignored: dict[str, list[str]], most: int | None = None) -> list[str]:
    """What was ignored, with its places, or at most the first ones."""
    lines = []
    for what, places in ignored.items():
        left = 0 if most is None else len(places) - most
        shown = f"{', '.join(places[:most])} and {left} more" if left > 0 else ", ".join(places)
        lines.append(f"{what} in {shown}")
    return lines


def _sift(node: ElementTree.Element, where: str, ignored: _Ignored) -> ElementTree.Element:
    """A copy of `node` with only the tags and attributes that are read, its numbers checked."""
    tag = node.tag
    kept = ElementTree.Element(tag)
    if tag == "robot":
        ignored.grounded = _fixed_to_base(node)
    if "name" in ATTRIBUTES[tag]:
        where = f"{tag} '{node.get('name', '')}'"
        if not node.get("name"):
            raise ModelError(f"a <{tag}> has no name")
    elif tag != "inertial":
        where += f": <{tag}>"
    _sift_attributes(node, where, ignored, kept)
    for child in node:
        if (
            child.tag == "inertial"
            and node.get("name") in ignored.grounded
            and not all(child.find(part) is not None for part in REQUIRED["inertial"])
        ):
            ignored.add("an incomplete <inertial>", where, harmless=True)
        elif child.tag == "mimic" and node.get("type") == "fixed":
            ignored.add("<mimic>", where, harmless=True)
        elif child.tag in CONTENT.get(tag, ()):
            if tag != "robot" and kept.find(child.tag) is not None:  # as other readers do
                ignored.add(f"the second of two <{child.tag}>", where)
                continue
            kept.append(_sift(child, where, ignored))
        else:
            _ignore_child(node, child, where, ignored)
    if tag == "inertial" and kept.find("mass") is not None and kept.find("inertia") is None:
        ignored.sentences.append(f"{where} has no <inertia>: the link is taken for a point mass")
        kept.append(ElementTree.Element("inertia", dict.fromkeys(ATTRIBUTES["inertia"], "0")))
    for required in REQUIRED.get(tag, ()):
        if kept.find(required) is None:
            raise ModelError(f"{where} has no <{required}>")
    return kept


def _fixed_to_base(robot: ElementTree.Element) -> set[str]:
    """The links that are fixed to the base; their inertia has no effect."""
    ends: dict[str, tuple[str, bool]] = {}
    for joint in robot.iter("joint"):
        parent, child = joint.find("parent"), joint.find("child")
        if parent is not None and child is not None:
            is_fixed = joint.get("type") == "fixed"
            ends[str(child.get("link"))] = str(parent.get("link")), is_fixed

    def is_grounded(link: str, steps: int) -> bool:
        if link not in ends:
            return True
        parent, is_fixed = ends[link]
        return is_fixed and steps > 0 and is_grounded(parent, steps - 1)

    names = [str(link.get("name")) for link in robot.iter("link")]
    return {name for name in names if is_grounded(name, len(ends))}


def _sift_attributes(
    node: ElementTree.Element, where: str, ignored: _Ignored, kept: ElementTree.Element
) -> None:
    """Copy the attributes of `node` that are read into `kept`."""
    tag = node.tag
    for key, count in ATTRIBUTES[tag].items():
        value = node.get(key)
        if value is None:
            if key not in OPTIONAL.get(tag, ()):
                raise ModelError(f"{where} has no attribute '{key}'")
            continue
        if "${" in value or "$(" in value:
            raise _is_xacro(f"{where}: {key}='{value}'")
        if count:
            found = _numbers(value, count, f"{where}: {key}")
            if tag != "axis":  # of which only the direction counts
                for number in found:
                    computable(f"{where}: {key}: ", number)
        kept.set(key, value)
    if tag == "joint" and node.get("type") not in JOINT_TYPES:
        known = ", ".join(JOINT_TYPES)
        raise ModelError(f"{where}: type '{node.get('type')}' is not one of {known}")
    if tag == "joint":
        kind = str(node.get("type"))
        ignored.types[str(node.get("name"))] = kind
        kept.set("type", UNPARSED_TYPES.get(kind, kind))
        ignored.rates[str(node.get("name"))] = _rate_limits(node, where)
    if tag == "limit":  # the parser requires both
        for key in ("velocity", "effort"):
            kept.set(key, node.get(key, "inf"))
    for key in sorted(node.keys() - ATTRIBUTES[tag].keys()):
        if key.startswith("xmlns") or (tag == "limit" and key in RATES):
            continue
        if key == "quat_xyzw":
            raise ModelError(f"{where}: quat_xyzw is not supported; give the rotation as rpy")
        harmless = tag in HARMLESS_ATTRIBUTES_OF or _is_foreign(key)
        ignored.add(f"the attribute '{key}'", where, harmless=harmless)


def _rate_limits(joint: ElementTree.Element, where: str) -> Array:
    """(2,) the acceleration and jerk limits of URDF 1.2; infinite without one, or for -1."""
    limits, tag = np.full(2, np.inf), joint.find("limit")
    if tag is None:
        return limits
    for key, row in RATES.items():
        if (text := tag.get(key)) is not None:
            (value,) = _numbers(text, 1, f"{where}: <limit>: {key}")
            limits[row] = min(limits[row], np.inf if value == UNLIMITED else value)
    return limits


def _ignore_child(
    node: ElementTree.Element, child: ElementTree.Element, where: str, ignored: _Ignored
) -> None:
    """Note a tag that is not read."""
    if child.tag == "dynamics":
        loss = any(_numbers(child.get(key, "0"), 1, f"{where}: {key}")[0] for key in LOSSES)
        ignored.add("friction and damping (<dynamics>)", where, harmless=not loss)
        if others := sorted(set(child.keys()) - set(LOSSES)):
            ignored.add(f"<dynamics> with {', '.join(others)}", where)
    elif child.tag == "transmission":
        ignored.gears += _gears(child)
        ignored.add("<transmission>", where, harmless=True)
    elif child.tag not in SILENT:
        harmless = child.tag in HARMLESS or _is_foreign(child.tag)
        what = f"<{child.tag}>" if harmless else f"the unknown tag <{child.tag}>"
        ignored.add(what, where, harmless=harmless)


def _gears(transmission: ElementTree.Element) -> list[str]:
    """What a transmission says about gears and rotors, which belong into the springs' YAML."""
    joints = [str(joint.get("name")) for joint in transmission.iter("joint")]
    parts = [
        f"{what} {number.text.strip()}"
        for tag, what in GEARS.items()
        for number in transmission.iter(tag)
        if number.text and number.text.strip() not in ("", "1", "1.0")
    ]
    if not parts:
        return []
    named = ", ".join(dict.fromkeys(joints)) or transmission.get("name")
    return [f"<transmission> of {named}: {', '.join(parts)}; give them with the springs (YAML)"]


def _is_foreign(name: str) -> bool:
    """Whether a tag or attribute belongs to another tool, by its prefix."""
    return ":" in name or "}" in name


def _numbers(text: str, count: int, where: str) -> list[float]:
    """The `count` finite numbers of a text; ModelError names the first that is not finite."""
    words = text.split()
    if len(words) != count:
        raise ModelError(f"{where} must hold {count} numbers, got '{text}'")
    for word in words:
        try:
            finite = "_" not in word and math.isfinite(float(word))
        except ValueError:
            finite = False
        if not finite:
            raise ModelError(f"{where}: '{word}' is not a finite number")
    return [float(word) for word in words]


# The tree


def _check_tree(robot: URDF) -> tuple[str, dict[str, list[Any]]]:
    """The root link, and the joints on each link; ModelError unless the links form one tree."""
    for kind, things in (("link", robot.links), ("joint", robot.joints)):
        for name, times in Counter(thing.name for thing in things).items():
            if times > 1:
                raise ModelError(f"{times} {kind}s have the name '{name}'; names must be unique")
    if not robot.links:
        raise ModelError(f"robot '{robot.name}' has no link")
    carried: dict[str, list[Any]] = {link.name: [] for link in robot.links}
    carrier: dict[str, str] = {}
    for joint in robot.joints:
        for role in ("parent", "child"):
            link = getattr(joint, role)
            if link not in carried:
                raise ModelError(f"joint '{joint.name}': its {role} link '{link}' does not exist")
        if joint.child in carrier:
            raise ModelError(
                f"link '{joint.child}' is the child of two joints, '{carrier[joint.child]}' and "
                f"'{joint.name}'; a link has one parent, since URDF cannot describe loops"
            )
        carrier[joint.child] = joint.name
        carried[joint.parent].append(joint)
    roots = [name for name in carried if name not in carrier]
    if len(roots) > 1:
        raise ModelError(
            f"robot '{robot.name}' has {len(roots)} root links: {', '.join(roots)}; every link but "
            "one must be the child of a joint"
        )
    reached = set(roots)
    waiting = list(roots)
    while waiting:
        children = [joint.child for joint in carried[waiting.pop()]]
        reached.update(children)
        waiting.extend(children)
    lost = [name for name in carried if name not in reached]
    if lost:
        raise ModelError(f"the links {', '.join(lost)} form a cycle; the joints must form a tree")
    return roots[0], carried


def _build(
    robot: URDF, gravity: Any, strict: bool, part: RobotPart, ignored: _Ignored
) -> MultibodyModel:
    """The model, with joints in depth-first order from the root and fixed joints merged."""
    root, carried = _check_tree(robot)
    links = {link.name: link for link in robot.links}
    parents: list[int] = []
    screws: list[Array] = []
    poses: list[Array] = []
    inertias: list[Array] = []
    names: list[tuple[str, ...]] = []
    bodies: list[str] = []
    types: list[str] = []
    limits: list[Array] = []
    frames = {root: Frame(-1, np.eye(4))}
    notes: list[str] = []
    base_inertia = _inertia(links[root])
    bases: list[Any] = []  # joints between the base and a mobile base

    waiting = carried[root][::-1]
    while waiting:
        joint = waiting.pop()
        waiting.extend(carried[joint.child][::-1])
        body, pose = frames[joint.parent]
        mount = pose @ _pose(
            joint.origin
        )  # pose of the joint in the frame of the body that carries it
        if joint.type == "fixed":
            frames[joint.child] = Frame(body, mount)
            if body >= 0:
                M = _inertia(links[joint.child])
                inertias[body] = inertias[body] + inertia.transform(M, mount)
            else:
                base_inertia = base_inertia + inertia.transform(_inertia(links[joint.child]), mount)
            continue
        A = mount if body < 0 else poses[body] @ mount
        kind = ignored.types[joint.name]
        stack, suffixes = _screws(joint, kind, notes)
        parents.append(body)
        screws.append(stack @ se3.Ad(A).T)
        poses.append(A)
        inertias.append(_inertia(links[joint.child]))
        names.append(tuple(joint.name + suffix for suffix in suffixes))
        bodies.append(joint.child)
        types += [joint.type] if len(stack) == 1 else map(screw_type, stack)
        limits.append(_limits(joint, kind, len(stack), notes, ignored))
        if len(stack) == 1:
            limits[-1][4:, 0] = ignored.rates[joint.name]
        if body < 0 and kind in BASE_TYPES:
            bases.append(joint)
        frames[joint.child] = Frame(len(bodies) - 1, np.eye(4))

    fixed = [links[name] for name, frame in frames.items() if frame.body < 0]
    idle = [link.name for link in fixed if link.inertial and link.inertial.mass]
    if idle:
        notes.append(f"without effect: the inertia of {', '.join(idle)}, fixed to the base")
    notes += ignored.gears
    notes += [f"ignored: {item}" for item in _listed(ignored.suspicious | ignored.harmless)]
    model = model_from_screws(
        parents, screws, poses, inertias,
        joint_names=names,
        body_names=bodies,
        joint_types=types,
        limits=JointLimits(*np.hstack(limits)) if limits else None,
        gravity=gravity,
        name=robot.name,
        base_name=root,
        frames=frames,
        notes=notes,
        strict=strict,
        base_inertia=base_inertia,
    )  # fmt: skip
    model = model.with_couplings(_mimics(robot, model, ignored))
    model = _on_fixed_base(model, bases, names, part, ignored)
    model = _part(model, part, ignored)
    return _with_note_on_mass(model, ignored)


def _mimics(robot: URDF, model: MultibodyModel, ignored: _Ignored) -> dict[str, Coupling]:
    """The couplings of all joints with a <mimic>."""
    fixed = {joint.name for joint in robot.joints if joint.type == "fixed"}
    couplings = {}
    for joint in robot.joints:
        if joint.mimic is None or joint.type == "fixed":
            continue
        leader = joint.mimic.joint
        factor = 1.0 if joint.mimic.multiplier is None else joint.mimic.multiplier
        offset = 0.0 if joint.mimic.offset is None else joint.mimic.offset
        if joint.name not in model.joint_names:
            raise ModelError(
                f"joint '{joint.name}' has a <mimic>, but several coordinates; only joints with "
                "one coordinate can follow another"
            )
        if leader not in model.joint_names and leader not in fixed:
            ignored.sentences.append(
                f"joint '{joint.name}' has a <mimic> of '{leader}', which is no joint with one "
                f"coordinate: '{joint.name}' is read as independent; correct the name in the tag, "
                "or give the joint that it follows in `couplings`"
            )
            continue
        couplings[joint.name] = Coupling({} if leader in fixed else {leader: factor}, offset)
    return couplings


def _on_fixed_base(
    model: MultibodyModel,
    bases: list[Any],
    names: list[tuple[str, ...]],
    part: RobotPart,
    ignored: _Ignored,
) -> MultibodyModel:
    """The robot with planar and floating joints of its base locked, unless nothing else moves."""
    if part.floating_base or len(bases) != 1 or model.parents.tolist().count(-1) > 1:
        return model
    (joint,) = bases
    own = next(each for each in names if each[0] == f"{joint.name}_x")
    if len(own) == model.n:
        return model
    ignored.sentences.append(
        f"the {joint.type} joint '{joint.name}' carries the whole robot and has no motor; the base "
        f"'{joint.child}' is held fixed (keep its coordinates with floating_base=True)"
    )
    return model.with_locked(own)


def _refuse_loops(springs: str | os.PathLike[str]) -> None:
    """ModelError for a file with loops, without which the tree would be another robot."""
    data = read_yaml(springs)
    if isinstance(data, Mapping) and data.get("loops"):
        raise ModelError(
            f"{springs}: loops {', '.join(map(str, data['loops']))}: only feedforward_node,"
            " flatness_controller_node, elastic_robot_simulator_node, trajectory_node and the"
            " commands `loop`, `inspect`, `torque-report` and `view` support loops; in Python,"
            " dyn.mechanisms.close_loops, see docs/closed_loops.md"
        )


def _part(model: MultibodyModel, part: RobotPart, ignored: _Ignored) -> MultibodyModel:
    """The part of the robot between two links, with locked and further coupled joints."""
    couplings = part.couplings
    if isinstance(couplings, (str, os.PathLike)):
        _refuse_loops(couplings)
        couplings = load_couplings(couplings)
    model = model.with_couplings(couplings)
    held = checked_positions(model, part.lock)
    if part.root is not None or part.tip is not None:
        inner = set(model.path(part.tip)) if part.tip is not None else None
        root = model.base_name if part.root is None else part.root
        before = set(model.path(root))
        kept = set()
        for i in range(model.body_count):
            above = set(model.path(i))
            if i not in before and before <= above and (inner is None or i in inner):
                kept.add(int(model.coordinates[i]))
        if part.tip is not None and inner is not None and not before <= inner:
            raise ModelError(f"link '{part.tip}' is not beyond link '{root}' in the tree")
        home = np.clip(0.0, model.limits.lower, model.limits.upper)
        for c, name in enumerate(model.joint_names):
            if c not in kept and name not in held:
                held[name] = Coupling({}, float(home[c]))
        if not kept:
            raise ModelError(f"no joint moves link '{part.tip or root}' against link '{root}'")
    model = model.with_locked({joint: at.offset for joint, at in held.items()})
    if held:
        listed = ", ".join(f"{joint} at {at.offset:g}" for joint, at in held.items())
        model = replace(model, notes=(*model.notes, f"locked: {listed}"))
    return model if part.root is None else model.with_base(part.root)


def _with_note_on_mass(model: MultibodyModel, ignored: _Ignored) -> MultibodyModel:
    """The model with a note of the joints that move no mass; a warning if no joint does."""
    carried = (np.abs(model.link_inertias).max(axis=(1, 2)) > 0.0)[:, None] & model.moved_by
    idle = [name for name, moves in zip(model.joint_names, carried.any(axis=0), strict=True)
            if not moves]  # fmt: skip
    if len(idle) == model.n:
        ignored.sentences.append(
            "no link has a mass: all torques and the mass matrix are zero; add <inertial> tags"
        )
    elif idle:
        text = f"no mass moves with joint {', '.join(idle)}: torques are defined, motions are not"
        return replace(model, notes=(*model.notes, text))
    return model


def _pose(origin: Any) -> Array:
    """The pose (4, 4) of an <origin>: R = Rot_z(yaw) Rot_y(pitch) Rot_x(roll)."""
    if origin is None:
        return np.eye(4)
    roll, pitch, yaw = origin.rpy
    R = so3.exp((0, 0, yaw)) @ so3.exp((0, pitch, 0)) @ so3.exp((roll, 0, 0))
    return se3.from_rotation_translation(R, origin.xyz)


def _inertia(link: Any) -> Array:
    """M (6, 6) of a link about the origin of its frame; zero without an <inertial>."""
    if link.inertial is None:
        return np.zeros((6, 6))
    C = _pose(link.inertial.origin)
    R = C[:3, :3]
    about_com = R @ link.inertial.inertia.to_matrix() @ R.T
    return inertia.spatial_inertia(link.inertial.mass, C[:3, 3], about_com)


def _screws(joint: Any, kind: str, notes: list[str]) -> tuple[Array, tuple[str, ...]]:
    """Screws (k, 6) of a moving joint in its own frame, and the suffixes of its coordinates."""
    if kind in UNPARSED_TYPES:
        return joints.spherical(), tuple(f"_{name}" for name in joints.SPHERICAL)
    if kind == "floating":
        return joints.floating(), tuple(f"_{name}" for name in joints.FLOATING)
    axis = (1.0, 0.0, 0.0) if joint.axis is None else joint.axis
    length = math.hypot(*axis)
    if length == 0:
        raise ModelError(f"joint '{joint.name}': its axis is zero; it must have a direction")
    if abs(length - 1) > UNIT:
        notes.append(f"joint '{joint.name}': the axis, of length {length:.7g}, was normalised")
    if joint.type == "planar":
        return joints.planar(axis), tuple(f"_{name}" for name in joints.PLANAR)
    one = joints.prismatic(axis) if joint.type == "prismatic" else joints.revolute(axis)
    return one[None], ("",)


def _limits(joint: Any, kind: str, k: int, notes: list[str], ignored: _Ignored) -> Array:
    """(6, k) the rows of JointLimits without acceleration and jerk; infinite if the URDF gives
    none."""
    limits = np.array(JointLimits.unlimited(k))
    if joint.limit is None or k > 1:
        if kind in ("revolute", "prismatic"):
            notes.append(f"joint '{joint.name}' has no <limit> and is therefore unlimited")
        return limits
    limit = joint.limit
    if kind != "continuous":
        limits[:2, 0] = sorted((limit.lower, limit.upper))
        if limit.lower > limit.upper:
            ignored.sentences.append(
                f"joint '{joint.name}': its limits lower {limit.lower:g} and upper "
                f"{limit.upper:g} are exchanged (Bullet would take it for unlimited)"
            )
    limits[2:4, 0] = limit.velocity, limit.effort
    if not limits[:4, 0].any():  # as exporters write what they do not know
        limits[:4, 0] = -np.inf, np.inf, np.inf, np.inf
        notes.append(f"joint '{joint.name}': a <limit> of zeros means none")
    for row, name in ((2, "velocity"), (3, "effort")):
        if limits[row, 0] == UNLIMITED:
            limits[row, 0] = np.inf
            notes.append(f"joint '{joint.name}': a {name} limit of -1 means none")
    if limits[0, 0] == limits[1, 0]:
        notes.append(
            f"joint '{joint.name}' cannot move within its <limit>: both are {limits[0, 0]:g}"
        )
    return limits
