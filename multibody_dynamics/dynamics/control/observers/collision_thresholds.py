# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The thresholds of collision detection: what they consist of, and the YAML file that holds them.

A threshold is a sum of terms with non-negative coefficients, joint by joint:

    constant        noise of the sensors
    motion          |F (Q - g)|    torques of acceleration: errors of inertias and springs
    gravity         |F g|          errors of masses and springs
    speed           |F q'|         viscous friction
    reversal        |F tanh(q' / REVERSAL)|    Coulomb friction
    other_motion    sum over all joints of |F (Q - g)|: errors of the links' coupling
    other_gravity   sum over all joints of |F g|

F is the filter of the residual itself: a constant relative error of a parameter appears in the
residual as the same fraction of the filtered term. The threshold therefore also holds while the
filter responds to changes of the terms, during an acceleration and shortly after it. There are two
residuals, hence two sets of coefficients: "hit", without slow parts, and "push", with them; see
:class:`.CollisionDetector`.

The file is written by `multibody_dynamics collision-thresholds`:

    learned_from: {...}                  provenance, not evaluated
    settings: {bandwidth: 250.0, high_pass: 10.0, filter_bandwidth: 100.0, filter_order: 3,
               source: link_and_motor_encoders, margin: 2.0}
    joints:
      shoulder: {unit: N m, hit: {constant: 0.5, motion: 0.02, ...}, push: {constant: 0.9, ...}}

with bandwidth and high_pass in rad/s, filter_bandwidth in Hz, and coefficients in SI units (N m s
for speed; N and N s/m for prismatic joints, whose unit is N).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import yaml

from ...core import Array, InputError, as_real, file_reader, read_only, read_yaml
from ...core.quantities import entries, number, positive
from ..signals.derivative_filter import ORDERS
from .state_estimation import FILTER_BANDWIDTH, FILTER_ORDER, SOURCES

HIT, PUSH = 0, 1
KINDS = ("hit", "push")
TERMS = (
    "constant", "motion", "gravity", "speed", "reversal", "other_motion", "other_gravity"
)  # fmt: skip
MEASURED = tuple(
    source for source, signals in SOURCES.items() if {"link_position", "joint_torque"} & {*signals}
)
"""The sources of the state with which contacts can be detected: those that measure the links."""


@dataclass(frozen=True)
class DetectionSettings:
    """The filters of collision detection.

    bandwidth : magnitude in rad/s of the four equal poles that smooth the external torques. A
        higher one finds hits earlier, a lower one finds lighter hits.
    high_pass : frequency in rad/s below which "hit" ignores external torques, because errors of the
        model change slowly.
    filter_bandwidth, filter_order : bandwidth in Hz and order of the filter that estimates
        velocities.
    source : source of the state, see SOURCES.
    margin : ratio of the threshold to the largest residual of the recording.

    Raises InputError for values out of range.
    """

    bandwidth: float = 250.0
    high_pass: float = 10.0
    filter_bandwidth: float = FILTER_BANDWIDTH
    filter_order: int = FILTER_ORDER
    source: str = "link_and_motor_encoders"
    margin: float = 2.0

    def __post_init__(self) -> None:
        for name in ("bandwidth", "high_pass", "filter_bandwidth", "margin"):
            if not 0.0 < getattr(self, name) < np.inf:
                raise InputError(f"{name} is {getattr(self, name)}: must be positive")
        if not self.high_pass < self.bandwidth:
            raise InputError(
                f"high_pass is {self.high_pass:g} rad/s: must be below the bandwidth,"
                f" {self.bandwidth:g} rad/s"
            )
        if self.filter_order not in ORDERS:
            raise InputError(f"filter_order is {self.filter_order!r}: must be 2, 3 or 4")
        if self.source not in MEASURED:
            raise InputError(
                f"source '{self.source}': collisions are detected on measured links, with one of "
                f"{', '.join(MEASURED)}"
            )


@dataclass(frozen=True, eq=False)
class CollisionThresholds:
    """Thresholds of the external joint torques.

    coefficients : (2, 7, n) for KINDS and TERMS, zero or greater; the constants are positive.
    learned_from : provenance, with any keys.

    Raises InputError for wrong shapes and values.
    """

    joint_names: tuple[str, ...]
    coefficients: Array
    settings: DetectionSettings = field(default_factory=DetectionSettings)
    learned_from: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = tuple(self.joint_names)
        rows = as_real("coefficients", self.coefficients)
        if rows.shape != (len(KINDS), len(TERMS), len(names)):
            raise InputError(
                f"coefficients: expected shape {(len(KINDS), len(TERMS), len(names))} for "
                f"{', '.join(KINDS)}, {len(TERMS)} terms and {len(names)} joints, got {rows.shape}"
            )
        good = (rows >= 0.0) & np.isfinite(rows)
        good[:, 0] &= rows[:, 0] > 0.0
        for kind, term, j in np.argwhere(~good).tolist():
            right = "zero or greater" if term else "positive"
            raise InputError(
                f"joint '{names[j]}': {KINDS[kind]}.{TERMS[term]} is {rows[kind, term, j]:g}: must "
                f"be {right}"
            )
        object.__setattr__(self, "joint_names", names)
        object.__setattr__(self, "coefficients", read_only(rows))

    def to_yaml(self, joint_types: Sequence[str] | None = None) -> str:
        """The contents of a file for :func:`load_collision_thresholds`. joint_types: as
        MultibodyModel.joint_types; by default no joint is prismatic."""
        types = joint_types or ("revolute",) * len(self.joint_names)
        joints = {}
        for j, (name, kind) in enumerate(zip(self.joint_names, types, strict=True)):
            joints[name] = {"unit": _unit(kind)} | {
                each: {
                    term: float(f"{self.coefficients[k, i, j]:.6g}") for i, term in enumerate(TERMS)
                }
                for k, each in enumerate(KINDS)
            }
        settings = {name: getattr(self.settings, name) for name in _SETTINGS}
        data = {"learned_from": dict(self.learned_from), "settings": settings, "joints": joints}
        return yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=100)


_SETTINGS = tuple(DetectionSettings.__dataclass_fields__)


@file_reader
def load_collision_thresholds(
    source: str | PathLike[str] | Mapping[str, Any],
    joint_names: Sequence[str],
    joint_types: Sequence[str] | None = None,
) -> CollisionThresholds:
    """The thresholds in a YAML file, or in its contents as a mapping, in the order of
    `joint_names`.

    joint_types : as MultibodyModel.joint_types; if given, the units must match them. Raises
    InputError that names file, joint and key, and states what is expected.
    """
    where, data = (
        ("thresholds", source) if isinstance(source, Mapping) else (str(source), read_yaml(source))
    )
    top = entries(data, where, ("settings", "joints"), ("learned_from", "description"))
    joints = entries(top["joints"], f"{where}: joints", (), None)
    unknown, missing = (
        [name for name in one if name not in other]
        for one, other in ((joints, joint_names), (joint_names, joints))
    )
    if unknown or missing:
        which = f"'{unknown[0]}' is not one" if unknown else f"'{missing[0]}' is missing"
        raise InputError(
            f"{where}: joints: {which}; the robot has {', '.join(joint_names)}: learn thresholds "
            "from a recording of this robot"
        )
    rows = np.zeros((len(KINDS), len(TERMS), len(joint_names)))
    for j, name in enumerate(joint_names):
        at = f"{where}: joint '{name}'"
        entry = entries(joints[name], at, ("unit", *KINDS), ())
        unit = entry["unit"]
        allowed = ("N m", "N") if joint_types is None else (_unit(joint_types[j]),)
        if unit not in allowed:
            raise InputError(f"{at}: unit is {unit!r}: expected {' or '.join(allowed)}")
        for k, kind in enumerate(KINDS):
            values = entries(entry[kind], f"{at}: {kind}", TERMS, ())
            rows[k, :, j] = [number(values[term], f"{at}: {kind}.{term}") for term in TERMS]
    learned_from = entries(top.get("learned_from", {}), f"{where}: learned_from", (), None)
    try:
        settings = _settings(top["settings"], f"{where}: settings")
        return CollisionThresholds(tuple(joint_names), rows, settings, learned_from)
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(where) else f"{where}: {text}") from None


def _settings(data: Any, where: str) -> DetectionSettings:
    given = entries(data, where, _SETTINGS, ())
    values: dict[str, Any] = {
        name: value if name in ("filter_order", "source") else positive(value, f"{where}: {name}")
        for name, value in given.items()
    }
    return DetectionSettings(**values)


def _unit(joint_type: str) -> str:
    return "N" if joint_type == "prismatic" else "N m"
