# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control laws of the study. For each law, one number, usually its bandwidth, sets the noise of
the torques; see :mod:`equal_noise`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from ...dynamics.control import (
    FILTER_BANDWIDTH,
    FILTER_ORDER,
    LAWS,
    MAX_DELAY,
    TORQUE_DESIGNS,
    AdaptationSettings,
    ControllerSettings,
    FlatnessSettings,
    JointImpedance,
    StateEstimation,
)
from ...dynamics.core import Array, InputError
from .conditions import Condition
from .studied_robots import StudiedArm

FILTER = FILTER_ORDER, FILTER_BANDWIDTH  # of the velocities, as in the node
OBSERVER_BANDWIDTH = 25.0  # Hz, for links without encoders, as in the node
Numbers = Callable[[StudiedArm, float], dict[str, Any]]

NOT_STUDIED: Mapping[str, str] = MappingProxyType(
    {name: law.follows_no_motion for name, law in LAWS.items() if law.follows_no_motion}
)
"""Laws in LAWS that are not studied, because they do not follow a joint motion, and why."""


def _bandwidth(arm: StudiedArm, number: float) -> dict[str, Any]:
    return {"bandwidth": number}


def _torque_loops(arm: StudiedArm, number: float) -> dict[str, Any]:
    """Torque loops `number` times as fast as the resonance of each motor on its spring, and links
    in proportion: both are the defaults of the law at 2."""
    link = 0.5 * number * LAWS["torque_control"].usual_bandwidth
    return {"torque_bandwidth": number * _resonances(arm), "bandwidth": link}


def _link_stiffness(arm: StudiedArm, number: float) -> dict[str, Any]:
    """`number` times the stiffness of the springs; a quarter of it is the default."""
    return {"link_stiffness": 4.0 * number * _default_link_stiffness(arm)}


@lru_cache(maxsize=16)
def _default_link_stiffness(arm: StudiedArm) -> Array:
    return JointImpedance(arm.model, arm.actuators, arm.start).target.copy()


@lru_cache(maxsize=16)
def _resonances(arm: StudiedArm) -> Array:
    """(n,) rad/s, sqrt(K / M_m) of each joint with its link locked; 100 for rigid joints."""
    actuators = arm.actuators
    stiffness = TORQUE_DESIGNS["inertia_shaping"](arm.model, actuators, arm.start).stiffness
    drives = np.where(actuators.torque_share != 0.0, actuators.motor_inertia, 0.0)
    inertia = np.bincount(actuators.joint_of_motor, drives, actuators.n)
    resonance = np.sqrt(np.where(actuators.is_rigid, 1.0, stiffness) / np.maximum(inertia, 1e-12))
    return np.asarray(np.where(actuators.is_rigid, 100.0, resonance))


@dataclass(frozen=True, eq=False)
class StudiedLaw:
    """A law of the study.

    key : its name on the command line. title : in the report. law : a key of LAWS.
    number : sets its noise, in `unit`; 0: the default of the law. `numbers` : from it to the
        settings.
    settings : other settings of the law.
    is_main : studied with all draws and all conditions; the others with a fifth of the draws.
    """

    key: str
    title: str
    law: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_main: bool = False
    number: float = 0.0
    unit: str = "rad/s"
    numbers: Numbers = _bandwidth

    @property
    def default(self) -> float:
        """`number`, or the default of the law."""
        return self.number or LAWS[self.law].bandwidth

    def at(self, number: float) -> StudiedLaw:
        """The law with another number."""
        return replace(self, number=number)

    def flatness_settings(self, arm: StudiedArm, condition: Condition) -> FlatnessSettings:
        """The settings of the whole control cycle under a condition."""
        given = dict(self.settings) | self.numbers(arm, self.default)
        given["period"] = condition.period
        given["base_frequency"] = condition.base_frequency  # the law is told which base it has
        own = ControllerSettings(law=self.law, **given)
        if hasattr(own, "velocity_filter"):
            delay = min(condition.known_delay, MAX_DELAY * condition.period)
            own = replace(own, delay=delay, velocity_filter=FILTER)
        controllers = {self.law: own, "hold": ControllerSettings(law="hold")}
        order, bandwidth = FILTER
        estimation = StateEstimation("link_and_motor_encoders", bandwidth, order)
        if not condition.has_link_encoders:
            estimation = StateEstimation("motor_encoders", OBSERVER_BANDWIDTH, order)
        return FlatnessSettings(
            law=self.law,
            controllers=controllers,
            estimation=estimation,
            motor_bandwidth=bandwidth,
            observer_gain=condition.observer_gain,
            command_delay=condition.known_delay,
        )


ALONE = {"disturbance_bandwidth": 0.0}
QUASI_STATIC = {"variant": "quasi_static"}
WHOLE_ARM = {"gain_design": "coupled", "delay": 1e-3}
"""Gains of the whole arm, designed for a delay of 1 ms, so that they tolerate unknown
delays; see docs/control_laws.md."""


def linear(key: str, title: str, law: str, is_main: bool = False, **own: Any) -> StudiedLaw:
    """A law of linear feedback with settings of its own."""
    return StudiedLaw(key, title, law, own, is_main)


def _laws() -> tuple[StudiedLaw, ...]:
    pd, sf = "motor_pd", "state_feedback"
    named = (
        linear("pd-full-comp", "motor PD, full, compensated", pd, True),
        linear("pd-quasi-comp", "motor PD, quasi-static, compensated", pd, True, **QUASI_STATIC),
        linear("pd-rigid-comp", "motor PD, rigid, compensated", pd, variant="rigid"),
        linear("pd-full", "motor PD, full", pd, True, **ALONE),
        linear("pd-quasi", "motor PD, quasi-static", pd, True, **QUASI_STATIC, **ALONE),
        linear("pd-rigid", "motor PD, rigid", pd, variant="rigid", **ALONE),
        linear("pd-integral", "motor PD, full, integral 5 1/s", pd, integral=5.0, **ALONE),
        linear(
            "pd-adaptive",
            "motor PD, full, compensated, adaptive",
            pd,
            adaptation=AdaptationSettings(adapts="links"),
        ),
        linear("sf-full-comp", "state feedback, full, compensated", sf, True),
        linear("sf-quasi-comp", "state feedback, quasi-static, compensated", sf, **QUASI_STATIC),
        linear("sf-full", "state feedback, full", sf, True, **ALONE),
        linear("sf-quasi", "state feedback, quasi-static", sf, **QUASI_STATIC, **ALONE),
        linear("sf-coupled", "state feedback of the whole arm, compensated", sf, True, **WHOLE_ARM),
        StudiedLaw("linearization", "feedback linearisation", "feedback_linearization"),
        *(
            StudiedLaw(
                f"torque-{design.removeprefix('torque_').replace('_', '-')}",
                f"torque control, {name}",
                "torque_control",
                {"torque_design": design},
                number=2.0,
                unit="resonance",
                numbers=_torque_loops,
            )
            for design, name in DESIGNS.items()
        ),
        StudiedLaw(
            "impedance",
            "joint impedance",
            "joint_impedance",
            number=0.25,
            unit="stiffness of the springs",
            numbers=_link_stiffness,
        ),
        StudiedLaw("computed-torque", "computed torque of a rigid arm", "computed_torque"),
    )
    studied = {law.law for law in named}
    others = [name for name in LAWS if name not in studied and name not in NOT_STUDIED]
    more = (StudiedLaw(name.replace("_", "-"), name.replace("_", " "), name) for name in others)
    return (*named, *more)


DESIGNS = {
    "torque_observer": "disturbance observer",
    "inertia_shaping": "inertia shaping",
    "torque_lqr": "LQR",
}
STUDIED_LAWS = {law.key: law for law in _laws()}
REFERENCE = "pd-full-comp"
"""The law whose noise the others are given: the default of the node, with its default bandwidth."""


def chosen_laws(keys: Sequence[str]) -> tuple[StudiedLaw, ...]:
    """The laws with these keys, in the order of the study; "main", "all" and the names of laws in
    LAWS stand for all that they describe.

    Raises InputError for a key that does not exist.
    """
    chosen = set()
    for key in keys:
        if key == "all":
            chosen |= set(STUDIED_LAWS)
        elif key == "main":
            chosen |= {law.key for law in STUDIED_LAWS.values() if law.is_main}
        elif key in STUDIED_LAWS:
            chosen.add(key)
        elif key in NOT_STUDIED:
            raise InputError(f"law '{key}' is not studied: {NOT_STUDIED[key]}")
        elif key in LAWS:
            chosen |= {law.key for law in STUDIED_LAWS.values() if law.law == key}
        else:
            names = ", ".join(STUDIED_LAWS)
            raise InputError(f"law '{key}': expected main, all or some of {names}")
    return tuple(law for law in STUDIED_LAWS.values() if law.key in chosen | {REFERENCE})
