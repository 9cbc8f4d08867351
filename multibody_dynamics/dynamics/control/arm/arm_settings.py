# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The numbers of an arm that may change while it runs; nodes take their parameters from here."""

from dataclasses import dataclass, fields

from ...core import check_setting, setting
from .collision_reaction import REACTIONS


@dataclass(frozen=True, kw_only=True)
class ArmSettings:
    """What may change while an :class:`.Arm` runs, documented by the declarations.

    Raises InputError for a value that its declaration excludes.
    """

    # fmt: off
    lookahead: float = setting(0.0, unit="s", bounds=(0.0, 1.0),
        meaning="time after the stamp of the state at which the reference is evaluated, to"
        " compensate for delays")
    feedforward_lead: float = setting(0.5, unit="cycles", bounds=(0.0, 10.0), live=True,
        meaning="time by which the feedforward torque leads the reference, because each torque is"
        " held for one cycle")
    transfer_time: float = setting(0.5, unit="s", bounds=(0.0, 60.0), live=True,
        meaning="duration of the transition to a law, at activation and when another one is chosen")
    load_tolerance: float = setting(1.0, bounds=(0.0, 1000.0), live=True,
        meaning="at activation, believe that the springs of an arm at rest carry gravity and an"
        " external torque of up to this many times the torque limit of a joint, and that links and"
        " motors or two joints are not exchanged; otherwise nothing is sent; 0: believe all states")
    initial_stiffness: tuple[float, ...] = setting((), unit="N m/rad or N m",
        meaning="initial stiffness or pretension of the joints with variable stiffness, one value"
        " per such joint, in the order of the robot's joints; empty: the middle of the range")
    observer_feedback: bool = setting(False, live=True,
        meaning="compensate the external torques estimated by the observer")
    collision_reaction: str = setting("stop", choices=REACTIONS, live=True,
        meaning="reaction to a detected contact; all but off and report last until ~/enable is"
        " called, see docs/collisions.md")
    retract_distance: float = setting(0.05, unit="rad or m", bounds=(0.0, 1.0), live=True,
        meaning="collision_reaction retract: distance by which the joint that was hit hardest moves"
        " back")
    state_timeout: float = setting(0.2, unit="s", bounds=(0.001, 60.0), live=True,
        meaning="time without a complete state after which the safe output is published or, by"
        " flatness_controller_node, the arm is stopped")
    state_speed_factor: float = setting(10.0, bounds=(0.0, 1e6), live=True,
        meaning="reject a state if a joint or motor could only have reached its position at more"
        " than this many times its velocity limit for a millisecond and a fifth of that for longer,"
        " as when two publishers send different states; 0: accept any position")
    frozen_distance: float = setting(0.05, unit="rad or m", bounds=(0.0, 10.0), live=True,
        meaning="a position that repeats exactly while its reference moves on by more than this, or"
        " the other side of the spring by more than this and what the spring can bend, is frozen:"
        " its side counts as missing; 0: never")
    tracking_tolerance: float = setting(0.2, unit="rad or m", bounds=(0.0, 10.0), live=True,
        meaning="bring the arm to a damped stop if a joint is further than this from its reference;"
        " 0: no limit")
    latency_tolerance: float = setting(0.005, unit="s", bounds=(0.0, 1.0), live=True,
        meaning="bring the arm to a damped stop if, for 0.1 s, every torque is sent later than this"
        " after the stamp of its state; 0: no limit, as needed if the computers' clocks differ")
    recover_automatically: bool = setting(True,
        meaning="resume following without ~/enable once missing states are back and the robot is at"
        " rest")
    recovery_speed: float = setting(0.1, unit="rad/s or m/s", bounds=(0.0, 10.0), live=True,
        meaning="the robot is considered at rest when every motor is slower than this")
    recovery_limit: int = setting(5, bounds=(0, 1000), live=True,
        meaning="number of automatic recoveries within recovery_window after which the robot stays"
        " stopped until ~/enable is called; 0: no limit")
    recovery_window: float = setting(60.0, unit="s", bounds=(1.0, 3600.0), live=True,
        meaning="time window over which recoveries are counted")
    stop_speed_limit: float = setting(0.0, unit="rad/s or m/s", bounds=(0.0, 1000.0), live=True,
        meaning="a stop has failed if a joint is faster than this; 0: 1.5 times its speed at the"
        " fault, plus a quarter of its velocity limit")
    stop_timeout: float = setting(5.0, unit="s", bounds=(0.1, 600.0), live=True,
        meaning="a stop has failed if the robot keeps moving, faster than recovery_speed, for"
        " longer than this")
    # fmt: on

    def __post_init__(self) -> None:
        for each in fields(self):
            check_setting(each, getattr(self, each.name), is_bounded=True)
