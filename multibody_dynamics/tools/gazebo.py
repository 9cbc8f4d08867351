"""A robot with springs for Gazebo: every elastic joint becomes two in series, a motor and a spring.

    multibody_dynamics gazebo ROBOT.urdf --elastic-joints SPRINGS.yaml -o FOLDER

Gazebo knows springs in joints, but not between a motor and a joint, and no inertia reflected by a
gear. So JOINT becomes JOINT_motor (angle theta, which the motor turns), a rotor, and JOINT_spring
(angle q - theta). A rotor that is a body has inertia about all axes, J / 2 about those across at
least: `links.urdf`, for the controller, has that (and the rotor's mass) in the link that carries it.
What remains is the coupling between a rotor's spin and the motion of that link, J instead of J / N
with a real gear; controllers of this package neglect it (Spong's simplification).
"""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from ..dynamics import inertia, se3, so3
from ..dynamics.actuator_kinds import Rigid, SeriesElastic
from ..dynamics.actuators import Actuators
from ..dynamics.errors import InputError
from ..dynamics.inputs import Array
from ..dynamics.inverse_dynamics import inverse_dynamics
from ..dynamics.model import MultibodyModel
from ..dynamics.urdf import load_urdf, parse_urdf

MOTOR, SPRING, ROTOR = "_motor", "_spring", "_rotor"
ROTOR_MASS = 0.01  # kg; Gazebo needs one, and it loads the arm
TRAVEL = 1.0  # rad or m, of a spring to each side
SMALLEST = 1e-6  # kg m^2, of a rotor without inertia
HARDWARE = "gz_ros2_control/GazeboSimSystem"
PLUGIN = {"filename": "gz_ros2_control-system", "name": "gz_ros2_control::GazeboSimROS2ControlPlugin"}


class GazeboRobot(NamedTuple):
    """Two URDF texts: the robot in Gazebo, and its links as the controller needs them."""

    plant: str
    links: str


def convert(
    robot: str | os.PathLike[str],
    actuators: Actuators,
    *,
    controllers: str,
    initial: Sequence[float] | None = None,
    namespace: str = "",
    prefix: str = "",
) -> GazeboRobot:
    """The robot of a URDF file with `actuators`, whose joints are those of the file.

    controllers: path of the YAML file of the controller manager. initial (n,): positions of the links,
    rad or m, at which the springs carry the weight; zero, or what is nearest in the range. prefix: put
    before the name of every link and joint.
    Raises ModelError as :func:`load_urdf`; InputError for springs that Gazebo has not: all but linear
    ones without damping, and joints that are not revolute, continuous or prismatic.
    """
    model = load_urdf(robot)
    if model.n != len(set(model.joint_names) & {j.get("name") for j in _root(robot).iter("joint")}):
        raise InputError(f"{robot}: Gazebo's motors take joints of one degree of freedom only")
    lower, upper, *_ = model.limits
    q = np.zeros(model.n) if initial is None else np.asarray(initial, dtype=float)
    if q.shape != (model.n,):
        raise InputError(f"initial: expected {model.n} positions, got {q.size}")
    q = np.clip(q, lower, upper)
    stiffness = [
        _stiffness(joint, actuator)
        for joint, actuator in zip(model.joint_names, actuators.actuators, strict=True)
    ]
    plant, links = _root(robot), _root(robot)
    for j, joint in enumerate(model.joint_names):
        if np.isfinite(stiffness[j]):
            _merge_rotor(links, _joint(links, joint), actuators.motors[j])
        else:
            _add_spin(links, _joint(links, joint), actuators.motors[j])
    rest = np.zeros_like(q)
    held = inverse_dynamics(parse_urdf(_text(links)), q, rest, rest).tau

    control = ElementTree.Element("ros2_control", name="GazeboSimSystem", type="system")
    _add(_add(control, "hardware"), "plugin").text = HARDWARE
    for j, name in enumerate(model.joint_names):
        motor = actuators.motors[j]
        joint = _joint(plant, name)
        deflection = held[j] / stiffness[j]
        if np.isfinite(stiffness[j]):
            _split(plant, joint, motor, stiffness[j])
            _interfaces(control, name + SPRING, -deflection)
        else:
            joint.set("name", name + MOTOR)
            _add_spin(plant, joint, motor)
            _lossy(joint, motor)
        _interfaces(control, name + MOTOR, q[j] + deflection, _effort(joint, motor))
    _fix_to_world(plant, model.base_name)
    _prefix(plant, prefix)
    _prefix(control, prefix)
    _prefix(links, prefix)
    plant.append(control)
    plant.append(_plugin(controllers, namespace))
    return GazeboRobot(_text(plant), _text(links))


def _root(robot: str | os.PathLike[str]) -> ElementTree.Element:
    return ElementTree.parse(robot).getroot()


def _add(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, attributes)


def _text(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _stiffness(joint: str, actuator: Actuator) -> float:
    """N m/rad or N/m; infinite where the joint is rigid."""
    if isinstance(actuator, Rigid):
        return np.inf
    if (
        isinstance(actuator, SeriesElastic)
        and isinstance(actuator.spring, LinearSpring)
        and actuator.damping == 0.0
    ):
        return actuator.spring.K
    raise InputError(f"joint '{joint}': Gazebo has linear springs without damping, no others")


def _joint(root: ElementTree.Element, name: str) -> ElementTree.Element:
    return next(joint for joint in root.iter("joint") if joint.get("name") == name)


def _link(root: ElementTree.Element, name: str) -> ElementTree.Element:
    return next(link for link in root.iter("link") if link.get("name") == name)


def _axis(joint: ElementTree.Element) -> Array:
    axis = joint.find("axis")
    numbers = "1 0 0" if axis is None else axis.get("xyz", "1 0 0")
    a = np.array(numbers.split(), dtype=float)
    return np.asarray(a / np.linalg.norm(a))


def _pose(origin: ElementTree.Element | None) -> Array:
    if origin is None:
        return np.eye(4)
    roll, pitch, yaw = map(float, origin.get("rpy", "0 0 0").split())
    R = so3.exp((0, 0, yaw)) @ so3.exp((0, pitch, 0)) @ so3.exp((roll, 0, 0))
    return se3.from_rotation_translation(R, [*map(float, origin.get("xyz", "0 0 0").split())])


def _rotor(joint: ElementTree.Element, motor: Motor) -> tuple[float, Array]:
    """Mass, and inertia (3, 3) about the axis and across, of the body between motor and spring."""
    if joint.get("type") == "prismatic":
        return max(motor.inertia, ROTOR_MASS), SMALLEST * np.eye(3)
    a = _axis(joint)
    return ROTOR_MASS, max(motor.inertia, SMALLEST) * 0.5 * (np.eye(3) + np.outer(a, a))


def _inertia(link: ElementTree.Element) -> Array:
    """M (6, 6) about the link's origin; zero without an <inertial>."""
    inertial = link.find("inertial")
    if inertial is None:
        return np.zeros((6, 6))
    C = _pose(inertial.find("origin"))
    R = C[:3, :3]
    given = inertial.find("inertia")
    mass = inertial.find("mass")
    assert given is not None and mass is not None  # load_urdf has read them
    entries = {key: float(given.get(key, "0")) for key in given.keys()}
    upper = np.array([[entries.get("i" + x + y, 0.0) for y in "xyz"] for x in "xyz"])
    full = np.triu(upper) + np.triu(upper, 1).T
    return inertia.spatial_inertia(float(mass.get("value", "0")), C[:3, 3], R @ full @ R.T)


def _set_inertia(link: ElementTree.Element, M: Array) -> None:
    old = link.find("inertial")
    if old is not None:
        link.remove(old)
    mass, com, about_com = inertia.decompose(M)
    inertial = ElementTree.Element("inertial")
    link.insert(0, inertial)
    _add(inertial, "origin", xyz=_numbers(com), rpy="0 0 0")
    _add(inertial, "mass", value=_number(mass))
    pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    _add(inertial, "inertia", **{f"i{'xyz'[r]}{'xyz'[c]}": _number(about_com[r, c]) for r, c in pairs})


def _number(value: float) -> str:
    return f"{0.0 if abs(value) < 1e-15 else value:.12g}"


def _numbers(values: Iterable[float]) -> str:
    return " ".join(map(_number, values))


def _carrier(root: ElementTree.Element, joint: ElementTree.Element, role: str) -> ElementTree.Element:
    end = joint.find(role)
    assert end is not None
    return _link(root, end.get("link", ""))


def _merge_rotor(root: ElementTree.Element, joint: ElementTree.Element, motor: Motor) -> None:
    """Mass and inertia of the rotor, but its spin, into the link that carries it.

    The rotor of a prismatic joint moves along with the spring: its mass stays the motor's own, and
    only across the axis would it be the link's; that is left out.
    """
    if joint.get("type") == "prismatic":
        return
    link = _carrier(root, joint, "parent")
    M = inertia.spatial_inertia(*_split_rotor(joint, motor))
    _set_inertia(link, _inertia(link) + inertia.transform(M, _pose(joint.find("origin"))))


def _split_rotor(joint: ElementTree.Element, motor: Motor) -> tuple[float, Array, Array]:
    mass, about = _rotor(joint, motor)
    return mass, np.zeros(3), about


def _add_spin(root: ElementTree.Element, joint: ElementTree.Element, motor: Motor) -> None:
    """The inertia of the rotor of a rigid joint: about its axis, on the link that it moves."""


