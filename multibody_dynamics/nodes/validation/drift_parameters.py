# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the drift node."""

from __future__ import annotations

from dataclasses import dataclass

from ...dynamics.core import InputError
from ...validation.drift_watch import DriftSettings
from ..base.parameters import ParameterError, parameter
from ..base.robot import DynamicRobotParameters


@dataclass(frozen=True)
class DriftParameters(DynamicRobotParameters):
    """The parameters of drift_node; docs/drift_node.md has them as a table."""

    data_file: str = parameter(
        "",
        "YAML file of friction, rotor inertias, payloads and inertias, as for `validate --data`,"
        " found like robot_file; empty: none",
    )
    elastic_joints_file: str = parameter(
        "",
        "YAML file of springs and motors, found like robot_file, to watch the springs; requires"
        " motor_states",
    )
    prefix: str = parameter("", "prefix that precedes the robot's joint names in the messages")
    held_joints: tuple[str, ...] = parameter(
        (), "joints of the robot that are not in joint_states, such as the fingers of a hand"
    )
    held_positions: tuple[float, ...] = parameter(
        (), "fixed positions of the held_joints, in their order", unit="rad or m"
    )
    payload_link: str = parameter("", "link on which a payload may change; empty: the last one")
    from_positions: bool = parameter(
        False, "ignore measured velocities; otherwise they are used if the first state has them"
    )
    cutoff: float = parameter(
        5.0,
        "cut-off frequency of the zero-phase filter; at most a fifth of the rate of the states",
        unit="Hz",
        bounds=(0.05, 1000.0),
    )
    pair_tolerance: float = parameter(
        0.0,
        "largest difference between the stamps of a joint state and a motor state that are paired",
        unit="s",
        bounds=(0.0, 0.1),
    )

    state_file: str = parameter(
        "drift.npz",
        "file in which the reference and the last days are kept; empty: start a new reference at"
        " every activation",
    )
    segment: float = parameter(
        10.0,
        "duration of motion in a segment; the noise is learned from the scatter of the segments",
        unit="s",
        bounds=(0.5, 600.0),
    )
    block: float = parameter(
        600.0,
        "duration of motion in a block, after which the robot is judged",
        unit="s",
        bounds=(1.0, 36000.0),
    )
    reference: float = parameter(
        1800.0,
        "duration of motion in the reference at each of four levels of warmth; at least 30"
        " segments",
        unit="s",
        bounds=(15.0, 360000.0),
    )
    warm_up_time: float = parameter(
        1200.0,
        "time constant with which the joints warm up in motion and cool down at rest",
        unit="s",
        bounds=(1.0, 36000.0),
    )
    remembered_days: float = parameter(
        14.0,
        "number of days for which the statistics of every hour are kept",
        unit="d",
        bounds=(1.0, 365.0),
    )
    false_alarm_level: float = parameter(
        1e-5, "probability of a false alarm in a block without drift", bounds=(1e-12, 0.1)
    )
    least_payload: float = parameter(
        0.2, "smaller changes of the payload are not reported", unit="kg", bounds=(0.0, 1000.0)
    )
    least_friction: float = parameter(
        0.2,
        "smaller changes of a friction torque, relative to that of the reference, are not reported",
        bounds=(0.0, 10.0),
    )
    least_offset: float = parameter(
        0.02,
        "smaller offsets of a torque, relative to the robot's effort limit, are not reported",
        bounds=(0.0, 1.0),
    )
    least_stiffness: float = parameter(
        0.05, "smaller relative changes of a stiffness are not reported", bounds=(0.0, 1.0)
    )

    def check(self) -> None:
        super().check()
        if len(self.held_joints) != len(self.held_positions):
            raise ParameterError(
                f"held_positions has {len(self.held_positions)} values for"
                f" {len(self.held_joints)} held_joints"
            )
        self._require_unique("held_joints")
        try:
            self.settings()
        except InputError as error:
            raise ParameterError(str(error)) from None

    def settings(self) -> DriftSettings:
        """The settings of the watch. Raises InputError if they are inconsistent."""
        return DriftSettings(
            segment=self.segment,
            block=self.block,
            reference=self.reference,
            warm_up_time=self.warm_up_time,
            level=self.false_alarm_level,
            least_payload=self.least_payload,
            least_friction=self.least_friction,
            least_offset=self.least_offset,
            least_stiffness=self.least_stiffness,
            days=self.remembered_days,
        )
