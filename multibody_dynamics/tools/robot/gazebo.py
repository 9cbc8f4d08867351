# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A robot with springs for Gazebo: every joint becomes a motor and a spring in series.

    multibody_dynamics gazebo ROBOT.urdf --elastic-joints SPRINGS.yaml -o FOLDER

Gazebo supports springs in joints, but neither springs between a motor and a joint nor the inertia
reflected by a gear. Therefore JOINT becomes JOINT_motor (angle theta, driven by the motor), a
rotor, and JOINT_spring (angle q - theta). A rotor that is a body has inertia about all axes, at
least J / 2 about the transverse ones; in `links.urdf`, for the controller, the link that carries
the rotor includes it. The only difference left is the coupling between a rotor's spin and the
motion of that link, with J instead of the J / N of a real gear of ratio N; the controllers of this
package neglect it (Spong's simplification).
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from ...dynamics.core import Array, InputError, read_yaml
from ...dynamics.elastic import Actuators, Motor, load_actuators
from ...dynamics.lie import se3
from ...dynamics.model import MultibodyModel, inertia, load_urdf, parse_urdf
from ...dynamics.rigid import inverse_dynamics
from ...resources import share_directory
from .urdf_text import UrdfText, inertial_block, numbers_of, origin_pose

Element = ElementTree.Element

MOTOR, SPRING, ROTOR = "_motor", "_spring", "_rotor"
ROTOR_MASS = 0.01  # kg: Gazebo requires a mass
BASE_MASS = 1.0  # kg, of a base without mass, which Gazebo would leave out; it never moves
TRAVEL = 1.0  # rad, travel of a spring in each direction
READY = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)  # rad, ready pose of the Panda
WORLD = "world"  # a link of this name fixes a model to Gazebo's world
HARDWARE = "gz_ros2_control/GazeboSimSystem"
PLUGIN = {
    "filename": "gz_ros2_control-system",
    "name": "gz_ros2_control::GazeboSimROS2ControlPlugin",
}


class GazeboRobot(NamedTuple):
    """Two URDF texts: the robot for Gazebo, and its links for the controller."""

    plant: str
    links: str


class Files(NamedTuple):
    """The files written by :func:`prepare`, and the names in them."""

    name: str
    joints: list[str]
    plant: Path
    links: Path
    springs: Path
    controllers: Path


def prepare(
    folder: Path,
    *,
    robot: str | Path = "",
    elastic_joints: str | Path = "",
    initial: str = "",
    lock: str = "",
    namespace: str = "",
    prefix: str = "",
) -> Files:
    """Write the files for Gazebo, the controller manager and our controller into `folder`.

    robot, elastic_joints : files; by default those of the Panda
    initial : comma-separated link positions, rad
    lock : comma-separated JOINT=POSITION of joints to fix, rad or m

    Raises as :func:`convert` and :func:`load_actuators` do.
    """
    config = share_directory() / "config"
    if robot and not elastic_joints:
        raise InputError(f"{robot}: the robot's springs are missing; set elastic_joints")
    file = Path(robot) if robot else config / "robots" / "panda.urdf"
    springs = Path(elastic_joints) if elastic_joints else config / "elastic_joints" / "panda.yaml"
    try:
        q = [float(x) for x in initial.split(",")] if initial else None if robot else list(READY)
    except ValueError:
        raise InputError(f"initial: '{initial}' is not a comma-separated list of numbers") from None
    try:
        pairs = (each.partition("=") for each in lock.split(",") if each.strip())
        locked = {joint.strip(): float(at) for joint, _, at in pairs}
    except ValueError:
        raise InputError(f"lock: '{lock}' is not a list such as finger=0.02,hand=0") from None
    model = load_urdf(file, couplings=springs, lock=locked)
    _reject_couplings(model)
    files = Files(
        prefix + model.name,
        [prefix + joint for joint in model.joint_names],
        folder.absolute() / "plant.urdf",
        folder.absolute() / "links.urdf",
        folder.absolute() / "springs.yaml",
        folder.absolute() / "controllers.yaml",
    )
    actuators = load_actuators(springs, model.joint_names, model.joint_types)
    made = convert(
        file, actuators, controllers=str(files.controllers), initial=q, locked=model.locked,
        namespace=namespace, prefix=prefix,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    files.plant.write_text(made.plant, encoding="utf-8")
    files.links.write_text(made.links, encoding="utf-8")
    described = read_yaml(springs)
    described["joints"] = {prefix + name: data for name, data in described["joints"].items()}
    files.springs.write_text(yaml.safe_dump(described, sort_keys=False), encoding="utf-8")
    manager = read_yaml(config / "gazebo" / "controllers.yaml")
    own = manager["/**/effort_controller"]["ros__parameters"]
    own["joints"] = [joint + MOTOR for joint in files.joints]
    files.controllers.write_text(yaml.safe_dump(manager, sort_keys=False), encoding="utf-8")
    return files


def convert(
    robot: str | os.PathLike[str],
    actuators: Actuators,
    *,
    controllers: str,
    initial: Sequence[float] | None = None,
    locked: Mapping[str, float] | None = None,
    namespace: str = "",
    prefix: str = "",
) -> GazeboRobot:
    """Convert the robot of a URDF file, with linear springs in all its joints.

    controllers : path of the controller manager's YAML file
    initial : (n,) rad, initial link positions, with the springs deflected by the weight of the
        links; None: zero, or the nearest position within the limits
    locked : {joint: position} of joints to fix, rad or m, with those that follow them, as in
        :attr:`.MultibodyModel.locked`
    namespace : namespace of the controller manager
    prefix : prefix for the name of every joint and link

    Raises ModelError as :func:`load_urdf` does, and InputError naming a joint that is neither
    revolute nor continuous, or has an actuator other than a linear spring without damping, or a
    moving link without mass.
    """
    plant, links = (ElementTree.parse(robot).getroot() for _ in range(2))
    for root in (plant, links):
        _lock(root, locked or {})
    model = parse_urdf(ElementTree.tostring(links))
    _reject_couplings(model)
    for body, M in zip(model.body_names, model.inertias, strict=True):
        if inertia.decompose(M)[0] <= 0.0:  # sdformat leaves it out, as well as all behind it
            raise InputError(f"link '{body}' has no mass; Gazebo requires one for moving links")
    lower, upper, *_ = model.limits
    q = np.zeros(model.n) if initial is None else np.asarray(initial, dtype=float)
    if q.shape != (model.n,):
        raise InputError(f"initial: expected {model.n} positions, got {q.size}")
    q = np.clip(q, lower, upper)
    stiffness = _stiffness(actuators)
    for name, motor in zip(model.joint_names, actuators.motors, strict=True):
        joint = _named(links, "joint", name)
        if joint.get("type") not in ("revolute", "continuous"):
            raise InputError(
                f"joint '{name}' is {joint.get('type')}; only revolute joints are supported"
            )
        _merge_rotor(links, joint, motor)
    rest = np.zeros_like(q)
    deflection = inverse_dynamics(parse_urdf(_text(links)), q, rest, rest).tau / stiffness

    control = Element("ros2_control", name=prefix + "GazeboSimSystem", type="system")
    add(add(control, "hardware"), "plugin").text = HARDWARE
    for j, (name, motor) in enumerate(zip(model.joint_names, actuators.motors, strict=True)):
        joint = _named(plant, "joint", name)
        _split(plant, joint, motor, stiffness[j])
        effort = min(model.limits.effort[j], motor.torque_limit)
        _interfaces(control, prefix + name + MOTOR, q[j] + deflection[j], effort)
        _interfaces(control, prefix + name + SPRING, -deflection[j])
    _fix(plant, model.base_name)
    for root in (plant, links):
        _prefix(root, prefix)
    plant.append(control)
    plant.append(_plugin(controllers, namespace))
    return GazeboRobot(_text(plant), _text(links))


def _reject_couplings(model: MultibodyModel) -> None:
    """InputError for joints that depend on others: no engine of Gazebo has `<mimic>` and implicit
    springs."""
    if model.couplings:
        names = "', '".join(model.couplings)
        raise InputError(
            f"joint '{names}': Gazebo cannot simulate joints that depend on "
            "others together with springs; hold each, or the joint that it follows, with --lock "
            "JOINT=POSITION, or use the internal or the MuJoCo plant, which keep couplings"
        )


def _stiffness(actuators: Actuators) -> Array:
    """(n,) N m/rad."""
    found: list[float] = []
    for name, actuator in zip(actuators.joint_names, actuators.actuators, strict=True):
        spring = actuator.series_spring
        K = None if spring is None or actuator.damping > 0.0 else spring.constant_stiffness
        if K is None:
            raise InputError(
                f"joint '{name}': for Gazebo, every joint needs a single linear spring without "
                f"damping, got {type(actuator).__name__}"
            )
        found.append(K)
    return np.array(found)


# Changes to the document


def _lock(root: Element, locked: Mapping[str, float]) -> None:
    """Replace joints by fixed ones at these positions."""
    for joint in root.findall("joint"):
        if joint.get("type") == "fixed" or joint.get("name") not in locked:
            continue
        moved = locked[joint.get("name", "")] * _axis(joint)
        parts = (np.zeros(3), moved) if joint.get("type") == "prismatic" else (moved, np.zeros(3))
        pose = origin_pose(joint.find("origin")) @ se3.exp(np.concatenate(parts))
        for part in list(joint):
            if part.tag not in ("parent", "child"):
                joint.remove(part)
        joint.set("type", "fixed")
        rpy = Rotation.from_matrix(pose[:3, :3]).as_euler("xyz")
        add(joint, "origin", xyz=_numbers(pose[:3, 3]), rpy=_numbers(rpy))


def _split(root: Element, joint: Element, motor: Motor, stiffness: float) -> None:
    """Replace a joint by the motor's joint, the rotor and the spring's joint."""
    name, child = joint.get("name", ""), _link_of(joint, "child")
    rotor = add(root, "link", name=name + ROTOR)
    _set_inertia(rotor, _rotor(joint, motor))
    spring = add(root, "joint", name=name + SPRING, type="revolute")
    add(spring, "parent", link=name + ROTOR)
    add(spring, "child", link=child)
    add(spring, "axis", xyz=_numbers(_axis(joint)))
    add(spring, "limit", lower=f"{-TRAVEL}", upper=f"{TRAVEL}", velocity="100", effort="1e5")
    gazebo = add(root, "gazebo", reference=name + SPRING)
    add(gazebo, "springStiffness").text = _number(stiffness)
    add(gazebo, "springReference").text = "0"
    joint.set("name", name + MOTOR)
    _found(joint, "child").set("link", name + ROTOR)
    limit = joint.find("limit")
    if limit is not None and np.isfinite(motor.torque_limit):
        most = min(float(limit.get("effort", "inf")), motor.torque_limit)
        limit.set("effort", _number(most))
    for old in joint.findall("dynamics"):
        joint.remove(old)
    add(joint, "dynamics", damping=_number(motor.viscous), friction=_number(motor.coulomb))


def _merge_rotor(root: Element, joint: Element, motor: Motor) -> None:
    """Add mass and inertia of the rotor to the link that carries it."""
    link = _named(root, "link", _link_of(joint, "parent"))
    C = origin_pose(joint.find("origin"))
    _set_inertia(link, _inertia(link) + inertia.transform(_rotor(joint, motor), C))


def _rotor(joint: Element, motor: Motor) -> Array:
    """M (6, 6) of a thin disc, the rotor with the least inertia about its transverse axes."""
    a = _axis(joint)
    about_com = max(motor.inertia, 1e-6) * 0.5 * (np.eye(3) + np.outer(a, a))
    return inertia.spatial_inertia(ROTOR_MASS, np.zeros(3), about_com)


def _interfaces(control: Element, joint: str, initial: float, effort: float | None = None) -> None:
    """Add the ros2_control interfaces of a motor with the limit `effort` (N m), or of a spring."""
    part = add(control, "joint", name=joint)
    if effort is not None:
        command = add(part, "command_interface", name="effort")
        if np.isfinite(effort):
            add(command, "param", name="min").text = _number(-effort)
            add(command, "param", name="max").text = _number(effort)
    # gz_ros2_control sets initial values only of joints with commands: springs start undeflected.
    position = add(part, "state_interface", name="position")
    add(position, "param", name="initial_value").text = _number(initial)
    add(part, "state_interface", name="velocity")


def _plugin(controllers: str, namespace: str) -> Element:
    gazebo = Element("gazebo")
    plugin = add(gazebo, "plugin", **PLUGIN)
    add(plugin, "parameters").text = controllers
    if namespace:
        add(add(plugin, "ros"), "namespace").text = namespace
    return gazebo


def _fix(root: Element, base: str) -> None:
    """Fix the base to the world, and give a mass to links that are fixed there and have none."""
    if base != WORLD:
        add(root, "link", name=WORLD)
        joint = add(root, "joint", name="fixed_to_world", type="fixed")
        add(joint, "parent", link=WORLD)
        add(joint, "child", link=base)
    for joint in root.findall("joint"):
        if joint.get("type") == "fixed" and _link_of(joint, "parent") == WORLD:
            link = _named(root, "link", _link_of(joint, "child"))
            if inertia.decompose(_inertia(link))[0] <= 0.0:
                about_com = 0.01 * BASE_MASS * np.eye(3)
                _set_inertia(link, inertia.spatial_inertia(BASE_MASS, np.zeros(3), about_com))


def _prefix(root: Element, prefix: str) -> None:
    """Prefix every occurrence of a link's or joint's name, except the world's."""
    if not prefix:
        return
    for element in root:
        if element.tag in ("link", "joint") and element.get("name") != WORLD:
            element.set("name", prefix + element.get("name", ""))
        if element.tag == "gazebo" and element.get("reference"):
            element.set("reference", prefix + element.get("reference", ""))
        for end in (*element.findall("parent"), *element.findall("child")):
            if end.get("link") != WORLD:
                end.set("link", prefix + end.get("link", ""))


# Access to the document


def _text(root: Element) -> str:
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def add(parent: Element, tag: str, **attributes: str) -> Element:
    """A new child of an element."""
    return ElementTree.SubElement(parent, tag, attributes)


def _named(root: Element, tag: str, name: str) -> Element:
    return next(element for element in root.findall(tag) if element.get("name") == name)


def _found(parent: Element, tag: str) -> Element:
    return next(iter(parent.findall(tag)))


def _link_of(joint: Element, role: str) -> str:
    return _found(joint, role).get("link", "")


def _axis(joint: Element) -> Array:
    a = numbers_of(joint.find("axis"), "xyz", "1 0 0")
    return np.asarray(a / np.linalg.norm(a))


def _inertia(link: Element) -> Array:
    """M (6, 6) about the link's origin; zero without an <inertial>."""
    text = UrdfText(b"<robot>" + ElementTree.tostring(link) + b"</robot>")
    M = text.inertia(link.get("name", ""))
    return np.zeros((6, 6)) if M is None else M


def _set_inertia(link: Element, M: Array) -> None:
    for old in link.findall("inertial"):
        link.remove(old)
    link.insert(0, ElementTree.fromstring(inertial_block(*inertia.decompose(M))))


def _number(value: float) -> str:
    return f"{0.0 if abs(value) < 1e-15 else value:.12g}"


def _numbers(values: Array) -> str:
    return " ".join(map(_number, values))
