# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The settings of a generated controller, designed from the model, and its laws in Python."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...dynamics import MultibodyModel
from ...dynamics.control import (
    DEFAULT_LAW,
    FILTER_BANDWIDTH,
    FILTER_ORDER,
    LAWS,
    MAX_STEP,
    ArmSettings,
    Controller,
    ControllerSettings,
    CycleSettings,
    DerivativeFilter,
    HoldController,
    LateHoldController,
    LinkDampingController,
    StreamSettings,
    at_rest,
    design_stream,
    external_loads,
    frozen_sides,
    lasting_speed,
    make_controller,
    modes,
    motor_turns,
    needed_resolution,
    step_torques,
    stop_distances,
    velocity_peak,
)
from ...dynamics.core import Array, InputError, as_array, declared, record_fields
from ...dynamics.elastic import Actuators, MotorMotion, motor_motion, resting_second_outputs
from ...dynamics.mechanisms import ClosedChainModel
from ...dynamics.motion import JointCommandLimits, StreamLimits, joint_turns
from ...dynamics.rigid import gravity_forces
from .generated_laws import GENERATED_LAWS

REMARKS = {  # on settings that follow from others
    "torque_limit": ", the smaller of the robot's effort limits and those of the motors,",
    "lead": ", half a period and the delay,",
}
TIMEOUT = 0.01  # s, unless given
SLOW = 2.0  # s, over which streams are averaged if the torque rates need more than that
LARGEST_ACCELERATION = 10.0  # rad/s^2 or m/s^2, of the path to rest, unless given


@dataclass(frozen=True, kw_only=True)
class ControllerOptions:
    """What a generated controller is designed for.

    Attributes
    ----------
    law : one of GENERATED_LAWS; "hold" only stops the arm and holds it.
    bandwidth : rad/s, of the law; None: its default.
    hold_bandwidth : rad/s, of the stop; None: its default.
    position : (n,) for which gains are designed; None: the middle of the joint limits; with loops,
        `assembled`.
    disturbance_bandwidth, base_frequency, friction, period : settings of the law.
    delay : s, from a sample to the effect of its torque; the feedforward leads by this and by half
        a period.
    filter_order, filter_bandwidth : of the filters of the positions, bandwidth in Hz.
    max_step : s; after a longer gap between samples, the filters start again.
    stop_acceleration : (n,) or a scalar, rad/s^2 or m/s^2, of the path to rest.
    torque_rate : (m,) or a scalar, N m/s; infinite for no limit.
    link_timeout : s without valid link states until the arm is stopped; a cycle that is more than
        link_timeout after the one before stops it, too. motor_timeout : s without valid motor
        states until links alone stop the arm, or it is lost. None for either: 10 ms, or three
        periods if longer.
    speed_factor : a sample is refused if reaching it takes more than this multiple of the velocity
        limit; infinite accepts any.
    tracking_tolerance : rad or m; 0 for none. recovery_speed : rad/s or m/s.
    recovers : whether following resumes on its own after missing states; recovery_limit : how often
        within recovery_window, s, see :class:`.ArmSettings`. stop_speed_limit, stop_timeout : when
        a stop has failed, see there. latency_tolerance : s, of torques whose delay is reported.
    transfer_time, stop_transfer_time : s, in which a law, or the stop, takes over the torque; the
        second is also that of the fade into the torque at rest when the arm is lost.
    """

    law: str = DEFAULT_LAW
    bandwidth: float | None = None
    hold_bandwidth: float | None = None
    position: Any = None
    disturbance_bandwidth: float = declared(LAWS[DEFAULT_LAW], "disturbance_bandwidth")
    base_frequency: float = declared(LAWS[DEFAULT_LAW], "base_frequency")
    friction: float = declared(LAWS[DEFAULT_LAW], "friction")
    period: float = declared(LAWS[DEFAULT_LAW], "period")
    delay: float = 0.0
    filter_order: int = FILTER_ORDER
    filter_bandwidth: float = FILTER_BANDWIDTH
    max_step: float = MAX_STEP
    stop_acceleration: Any = LARGEST_ACCELERATION
    torque_rate: Any = np.inf
    link_timeout: float | None = None
    motor_timeout: float | None = None
    speed_factor: float = declared(ArmSettings, "state_speed_factor")
    frozen_distance: float = declared(ArmSettings, "frozen_distance")
    tracking_tolerance: float = 0.2
    recovery_speed: float = 0.1
    recovers: bool = True
    recovery_limit: int = declared(ArmSettings, "recovery_limit")
    recovery_window: float = declared(ArmSettings, "recovery_window")
    stop_speed_limit: float = declared(ArmSettings, "stop_speed_limit")
    stop_timeout: float = declared(ArmSettings, "stop_timeout")
    latency_tolerance: float = declared(ArmSettings, "latency_tolerance")
    transfer_time: float = 0.5
    stop_transfer_time: float = 0.05

    def __post_init__(self) -> None:
        if self.law not in GENERATED_LAWS:
            raise InputError(f"law '{self.law}': expected one of {', '.join(GENERATED_LAWS)}")
        if not self.period > 0.0:
            raise InputError(f"period is {self.period} s: must be positive")
        for name in ("delay", "disturbance_bandwidth"):
            if not getattr(self, name) >= 0.0:
                raise InputError(f"{name} is {getattr(self, name)}: must be zero or greater")


class ControllerDesign(NamedTuple):
    """A controller designed for a robot.

    law_settings, hold_settings : of the law and of the stop. law, hold : the controllers in Python.
    parameters : those of the C controller, by name. stream_limits : of its streams.
    """

    model: MultibodyModel
    actuators: Actuators
    options: ControllerOptions
    law_settings: ControllerSettings
    hold_settings: ControllerSettings
    law: Controller
    hold: HoldController
    parameters: dict[str, Any]
    stream_limits: StreamLimits


def design_controller(
    model: MultibodyModel, actuators: Actuators, options: ControllerOptions
) -> ControllerDesign:
    """Design the law and the stop. Raises InputError for gains that are not stable, and for
    settings that do not fit the robot."""
    own: dict[str, Any] = {}
    if options.law != "hold":
        own = {
            "disturbance_bandwidth": options.disturbance_bandwidth,
            "base_frequency": options.base_frequency,
            "friction": options.friction,
        }
    name = "motor_pd" if options.law == "hold" else options.law
    common: dict[str, Any] = {"position": options.position, "period": options.period}
    bandwidth = options.bandwidth if options.law != "hold" else None
    settings = (
        ControllerSettings(law=name, bandwidth=bandwidth, **common, **own),
        ControllerSettings(law="hold", bandwidth=options.hold_bandwidth, **common),
    )
    law, hold = (make_controller(model, actuators, each) for each in settings)
    assert isinstance(hold, HoldController)
    position = design_position(model, options)
    parameters = _parameters(model, actuators, options, law, hold, position)
    outside = record_fields.outside(CycleSettings(**parameters))
    for each in record_fields.declared_fields(CycleSettings):
        if each.name == outside:  # the controller in C could not be initialised
            raise InputError(
                f"{outside}{REMARKS.get(outside, '')} is {parameters[outside]}: must be within"
                f" {each.field.within} ({each.field.meaning})"
            )
    stream = _stream_limits(model, actuators, parameters)
    return ControllerDesign(model, actuators, options, *settings, law, hold, parameters, stream)


def _stream_limits(
    model: MultibodyModel, actuators: Actuators, parameters: dict[str, Any]
) -> StreamLimits:
    motors = JointCommandLimits(
        actuators.motor_names,
        torque=parameters["torque_limit"],
        torque_rate=parameters["torque_rate_limit"],
    )
    robot = model, actuators, model.limits, motors
    second = resting_second_outputs(actuators)
    try:
        return design_stream(*robot, stiffness=second)
    except InputError:  # the rates permit only slow streams, and a controller may have none
        return design_stream(*robot, StreamSettings(stream_smoothing=SLOW), stiffness=second)


def _parameters(
    model: MultibodyModel,
    actuators: Actuators,
    options: ControllerOptions,
    law: Any,
    hold: HoldController,
    position: Array,
) -> dict[str, Any]:
    n, m, joint = model.n, len(actuators.motors), actuators.joint_of_motor
    limits, share = model.limits, law.disturbance_share
    turn = joint_turns(model)
    sets_stiffness = actuators.torque_share == 0.0
    motor_share = share * actuators.torque_limit if share else np.zeros(m)
    timeout = max(TIMEOUT, 3.0 * options.period)
    own = {each: getattr(options, each) for each in CycleSettings._fields if hasattr(options, each)}
    settling = DerivativeFilter(
        ("joint",), options.filter_order, options.filter_bandwidth, max_step=options.max_step
    ).settling_time
    speed = lasting_speed(limits.velocity, options.speed_factor)
    motor_speed = lasting_speed(actuators.speed_limit, options.speed_factor)
    late = LateHoldController(model, actuators, position)
    stop_speed = modes.top_speeds(limits.velocity)
    on_links: LinkDampingController | None = None
    with suppress(InputError):  # where a motor sets a stiffness
        on_links = LinkDampingController(model, actuators, stop_time=hold.stop_time)
    torque_limit = actuators.torque_limit_within(limits.effort)
    peak = velocity_peak(options.filter_order, options.filter_bandwidth, options.period)
    rest = at_rest(model, actuators, position)
    resolution = np.min(
        [needed_resolution(step_torques(each, position, rest, peak), torque_limit)
         for each in ([hold] if options.law == "hold" else [law, hold])], axis=0,
    )  # fmt: skip
    for each in (law, hold):
        each.reset()
    values = own | {
        "follows": int(options.law != "hold"),
        "gains": law.gains.values,
        "friction": law.friction,
        "lead": 0.5 * options.period + options.delay,
        "disturbance_bandwidth": law.disturbance_bandwidth,
        "link_disturbance_bandwidth": law.link_disturbance_bandwidth,
        "lowered_link_bandwidth": law.lowered_link_bandwidth,
        "link_disturbance_limit": np.bincount(joint, motor_share, n),
        "motor_disturbance_limit": motor_share,
        "link_disturbance_band": law.link_disturbance_band,
        "hold_gains": hold.gains.values[2:],
        "hold_lower": np.where(sets_stiffness, -np.inf, limits.lower[joint]),
        "hold_upper": np.where(sets_stiffness, np.inf, limits.upper[joint]),
        "stop_time": hold.stop_time,
        "stop_distance": stop_distances(hold, position, stop_speed),
        "late_gains": late.gains.values[2:],
        "late_time": late.stop_time,
        "late_bandwidth": late.bandwidth,
        "late_lead": late.prediction,
        "late_distance": stop_distances(late, position, stop_speed),
        "stops_on_links": int(on_links is not None),
        "link_damping": np.zeros(m) if on_links is None else on_links.damping,
        "stop_acceleration": np.minimum(
            _row("stop_acceleration", options.stop_acceleration, n), limits.acceleration
        ),
        "settling_time": settling,
        "torque_limit": torque_limit,
        "torque_rate_limit": _row("torque_rate", options.torque_rate, m),
        "lower": limits.lower,
        "upper": limits.upper,
        "velocity": limits.velocity,
        "link_turn": turn,
        "motor_turn": motor_turns(actuators, turn),
        "spring_bend": frozen_sides.spring_bends(actuators, limits.effort),
        "external_load": external_loads(model, actuators),
        "link_resolution": resolution[:n],
        "motor_resolution": resolution[n:],
        "link_timeout": timeout if options.link_timeout is None else options.link_timeout,
        "motor_timeout": timeout if options.motor_timeout is None else options.motor_timeout,
        "link_speed": speed,
        "motor_speed": motor_speed,
        "recovers": int(options.recovers),
    }
    return {name: values[name] for name in CycleSettings._fields}


def _row(name: str, value: Any, count: int) -> Array:
    row = np.full(count, value) if np.ndim(value) == 0 else np.asarray(value, dtype=np.float64)
    if row.shape != (count,) or not (row > 0.0).all():
        raise InputError(f"{name} is {value}: must be one or {count} positive numbers")
    return as_array(name, row, (count,)) if np.isfinite(row).all() else row


def start_position(design: ControllerDesign) -> Array:
    """(n,) the position for which gains were designed."""
    return design_position(design.model, design.options)


def design_position(model: MultibodyModel, options: ControllerOptions) -> Array:
    """(n,) the given position, or the middle of the joint ranges; with loops, `assembled`."""
    if options.position is not None:
        return np.asarray(options.position, dtype=np.float64)
    return model.home if isinstance(model, ClosedChainModel) else model.limits.middle


def motors_at_rest(design: ControllerDesign, q: Array) -> Array:
    """(m,) motor positions that hold the links at rest at q (n,)."""
    return rest_of_motors(design, q).position


def rest_of_motors(design: ControllerDesign, q: Array, second: Array | None = None) -> MotorMotion:
    """The motors that hold the links at rest at q (n,), with their torques.

    second : (v,) stiffnesses and pretensions; None: those at rest.
    """
    model, actuators = design.model, design.actuators
    state, torque = np.zeros((5, model.n)), np.zeros((3, model.n))
    state[0], torque[0] = q, gravity_forces(model, q)
    held = np.zeros((3, len(actuators.variable_joints)))
    held[0] = resting_second_outputs(actuators) if second is None else second
    settled = actuators.settled_deflection(torque)
    return motor_motion(actuators, state, torque, held, deflection=settled)
