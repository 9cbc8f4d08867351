# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What a URDF file says about springs, gears and motors, which the dynamics of the links do not
use: <dynamics> of joints (K, D, damping, friction) and <transmission> (mechanicalReduction,
motorInertia). :func:`springs_file` writes it as the YAML file that the controllers read.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from ...dynamics.model import MultibodyModel, urdf_document
from ...reporting.templates import rendered

TEMPLATE = Path(__file__).parent / "templates" / "springs.yaml"
SPRING = {
    "K": "stiffness",
    "stiffness": "stiffness",
    "D": "damping",
}  # in <dynamics>, by some tools
LOSSES = {"damping": "viscous_friction", "friction": "coulomb_friction"}
GEARS = {"mechanicalReduction": "gear_ratio", "motorInertia": "inertia", "rotorInertia": "inertia"}
COULOMB_VELOCITY = 0.05  # rad/s or m/s, at which Coulomb friction has 76 % of its magnitude
UNITS = {
    "stiffness": ("N m/rad", "N/m"), "damping": ("N m s/rad", "N s/m"),
    "viscous_friction": ("N m s/rad", "N s/m"), "coulomb_friction": ("N m", "N"),
    "coulomb_velocity": ("rad/s", "m/s"), "torque_limit": ("N m", "N"),
    "speed_limit": ("rad/s", "m/s"), "inertia": ("kg m^2", "kg"), "gear_ratio": ("", ""),
}  # fmt: skip

SHORT = {
    "stiffness": "K", "damping": "D", "viscous_friction": "damping", "inertia": "rotor",
    "coulomb_friction": "friction", "gear_ratio": "gear",
}  # fmt: skip


@dataclass(frozen=True)
class DeclaredDrive:
    """The numbers given for one joint, by their keys in UNITS; only nonzero ones."""

    joint: str
    is_prismatic: bool
    numbers: dict[str, float]

    def __str__(self) -> str:
        return ", ".join(
            f"{SHORT.get(key, key)} {x:.6g} {UNITS[key][self.is_prismatic]}".rstrip()
            for key, x in self.numbers.items()
        )


def declared_drives(path: str | PathLike[str], model: MultibodyModel) -> list[DeclaredDrive]:
    """What the file says of each joint of the robot; joints of which it says nothing are left
    out."""
    root = urdf_document(Path(path).read_bytes())
    declared: dict[str, dict[str, float]] = {joint: {} for joint in model.joint_names}
    for joint in root.iter("joint"):
        numbers = declared.get(str(joint.get("name")))
        tag = joint.find("dynamics")
        if numbers is not None and tag is not None:
            named = SPRING | LOSSES
            numbers |= {named[k]: x for k, x in _numbers(tag.items()) if k in named}
    for transmission in root.iter("transmission"):
        texts = [(node.tag, node.text or "") for node in transmission.iter()]
        for joint in transmission.iter("joint"):
            if (numbers := declared.get(str(joint.get("name")))) is not None:
                numbers |= {GEARS[k]: x for k, x in _numbers(texts) if k in GEARS}
    for numbers in declared.values():
        if abs(numbers.get("gear_ratio", 0.0)) == 1.0:  # what is written for want of a number
            del numbers["gear_ratio"]
    prismatic = [kind == "prismatic" for kind in model.joint_types]
    drives = map(DeclaredDrive, declared, prismatic, declared.values())
    return [drive for drive in drives if drive.numbers]


def _numbers(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, float]]:
    for key, text in pairs:
        try:
            value = float(text)
        except ValueError:
            continue
        if value:
            yield key, value


def drive_lines(drives: Sequence[DeclaredDrive]) -> list[str]:
    """One line per set of numbers, with the joints that have them."""
    groups: dict[str, list[str]] = {}
    for drive in drives:
        groups.setdefault(str(drive), []).append(drive.joint)
    return [f"{_several(joints)}: {text}" for text, joints in groups.items()]


def _several(names: Sequence[str]) -> str:
    return f"{names[0]} ... {names[-1]} ({len(names)})" if len(names) > 2 else ", ".join(names)


def springs_file(path: str | PathLike[str], model: MultibodyModel) -> str:
    """A YAML file of springs and motors with the declared numbers.

    A joint without a stiffness becomes rigid. The inertia of a rotor is required and seldom given:
    its line is then a comment, to be completed, and :func:`.load_actuators` names the joint.
    """
    known = {drive.joint: drive.numbers for drive in declared_drives(path, model)}
    joints = []
    for j, joint in enumerate(model.joint_names):
        limits = {"torque_limit": model.limits.effort[j], "speed_limit": model.limits.velocity[j]}
        numbers = known.get(joint, {}) | {k: x for k, x in limits.items() if 0.0 < x < float("inf")}
        if "coulomb_friction" in numbers:
            numbers["coulomb_velocity"] = COULOMB_VELOCITY
        numbers = {key: float(x) for key, x in numbers.items()}
        joints.append((joint, model.joint_types[j] == "prismatic", numbers))
    return rendered(TEMPLATE, file=Path(path).name, joints=joints, units=UNITS)
