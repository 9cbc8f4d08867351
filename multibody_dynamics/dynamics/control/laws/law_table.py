# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control laws by name and plain numbers, for configuration files and parameters.

LAWS is the one table of laws: each row has the default bandwidth, the settings that the law takes,
the numbers that may change while it runs, and the function that designs it for a robot. Parameters,
launch files and documentation offer the laws in this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from ...core import Array, InputError, as_array, as_real
from ...elastic import Actuators
from ...model import MultibodyModel, check_model
from ..controllers.controllers import PERIOD, ComputedTorque, Controller, LinearFeedback
from ..controllers.feedback_linearization import FeedbackLinearization
from ..controllers.hold_controller import HoldController
from ..controllers.scheduled_feedback import UPDATE_TIME, ScheduledFeedback
from ..controllers.torque_controller import TorqueController
from ..gains.gain_schedule import GAIN_DESIGNS, GainSchedule
from ..gains.joint_gains import (
    JointPoles,
    StateFeedbackGains,
    damping_gains,
    inertias_felt,
    motor_bandwidth_gains,
    motor_side_gains,
    optimal_gains,
    placed_gains,
)
from ..gains.joint_values import FASTEST, SLOWEST, bandwidths, is_possible
from ..impedance.elastic_structure import CONTACT_BANDWIDTH, ElasticStructureController
from ..impedance.elastic_structure_gains import (
    DAMPING_RATIO,
    ElasticStructureGains,
    esp_gains,
    esp_impedance_gains,
)
from ..impedance.impedance import CartesianImpedance, JointImpedance
from ..impedance.impedance_limits import MOST
from ..observers.adaptive_feedforward import AdaptationSettings
from ..observers.disturbance_compensation import SHARE
from ..stability.loop_judgement import spread_poses
from ..torque.tipping_rate import tipping_rate
from ..torque.torque_gains import TORQUE_DESIGNS, whole_arm_poles
from ..torque.torque_loop import LoopTiming

DISTURBANCE_BANDWIDTH = 120.0
"""rad/s, default of the compensation of disturbances in linear feedback."""

NOT_TIPPED = 1.2  # times the tipping rate; 1.11 would cover masses and stiffnesses 10 % off


@dataclass(frozen=True, eq=False, kw_only=True)
class ControllerSettings:
    """Settings for :func:`make_controller`.

    Rows may be scalars. None selects the default of the law. Every law takes `bandwidth`,
    `position`, `friction` and `period`; LAWS lists the others.

    Attributes
    ----------
    law : one of LAWS.
    bandwidth : rad/s, (n,); (m,) of the motors for "motor_pd" and "hold". Default: that of LAWS;
        for "torque_control" more, where gravity would tip the links over, see
        :mod:`tipping_rate`.
    poles : 1/s, in place of a bandwidth: the same for all joints or by name, see
        :meth:`.JointPoles.from_poles`.
    second_bandwidth : rad/s (v,), of second outputs in "feedback_linearization".
    proportional, derivative : gains in place of a bandwidth; (m,) in N m/rad and N m s/rad for
        "motor_pd" and "hold", (n,) in 1/s^2 and 1/s for "computed_torque".
    position : (n,) configuration for which gains are designed; default: the middle of the joint
        limits.
    stiffness : (v,) second outputs there; default: mid-range.
    variant : of the feedforward, one of `dyn.elastic.VARIANTS`: "full" uses Q' and Q''.
    feedback : "motor" or "link", for "computed_torque".
    integral : 1/s, gain of the integral of the error as a share of the stiffness G_q + G_theta of
        linear feedback; 0 for none.
    integrates : whether the error of the "link" or of the "motor" is integrated.
    disturbance_bandwidth : rad/s, of the observers that compensate disturbances of links and
        motors, see :class:`.DisturbanceCompensation`; 0 for none; default: DISTURBANCE_BANDWIDTH.
    disturbance_share : share of the motors' torque limits, 0 to 1, up to which disturbances are
        compensated.
    gain_design : of "state_feedback", one of GAIN_DESIGNS: "joint" for gains joint by joint, for
        `position`; "coupled" or "modal" for gains of the whole arm that follow the pose, see
        :class:`.ScheduledFeedback`.
    gain_update_time : s, over which new gains of the whole arm are blended in; 0 keeps the gains of
        `position`.
    designs_in_background : whether a separate process designs these gains while the cycle goes on.
    torque_design : of the torque loops of "torque_control", a key of TORQUE_DESIGNS.
    torque_bandwidth : rad/s, (n,), of these loops; default: as high as the springs, the delay and
        the filter allow.
    delay : s from a measurement to its torque, for which "coupled" gains are designed, and with
        which the torque loops must be stable.
    velocity_filter : order and bandwidth in Hz of the filter of the measured state, with which the
        torque loops must be stable, too; None if the velocities are known.
    adaptation : of masses and inertias in the feedforward of linear feedback, see
        :class:`.AdaptiveFeedforward`; None for none.
    friction : share of the friction that is compensated, 0 to 1; default: 1, or 0 for "hold".
    lead : s, see :class:`.FeedbackLinearization`.
    stop_time : s, of "hold".
    torque_limit : (m,) or a scalar, N m, of "hold"; default and maximum: the motors' own limits.
    link_stiffness : (n,), N m/rad, of "joint_impedance" and "esp_impedance"; default: a quarter of
        the springs'.
    tool_stiffness : (6,), N m/rad and N/m, of "cartesian_impedance", and `tool`, the body or frame
        that it acts on; default: a stiffness that suits the springs, and the last body.
    posture_stiffness : (n,), N m/rad, of "cartesian_impedance"; default: 2 % of the springs'.
    damping_ratio : of both impedances, see :class:`.ImpedanceController`, and of the links in "esp"
        and "esp_impedance"; default: 0.7, and 0.3 for the latter two.
    inertia_share : of both impedances.
    stiffness_time, stiffness_energy : s and J, limits on changes of the stiffness of both, and of
        "esp" and "esp_impedance".
    stiffness_share : the largest stiffness that both accept, as a share of the springs'.
    contact_bandwidth : rad/s, of the observer of external torques in "esp" and "esp_impedance", see
        :class:`.ElasticStructureController`; 0 for none.
    period : s of a cycle.

    Raises InputError for a setting that does not apply to the law, two settings for the same gains,
    a bandwidth that is not positive, and poles that are not left of the imaginary axis.
    """

    law: str = "motor_pd"
    bandwidth: Any = None
    poles: Sequence[complex] | Mapping[str, Any] | None = None
    second_bandwidth: Any = None
    proportional: Any = None
    derivative: Any = None
    position: Any = None
    stiffness: Any = None
    variant: str = "full"
    feedback: str = "motor"
    integral: Any = 0.0
    integrates: str = "link"
    disturbance_bandwidth: float = DISTURBANCE_BANDWIDTH
    disturbance_share: float = SHARE
    adaptation: AdaptationSettings | None = None
    friction: Any = None
    lead: float = 0.0
    gain_design: str = "joint"
    gain_update_time: float = UPDATE_TIME
    designs_in_background: bool = False
    torque_design: str = "torque_observer"
    torque_bandwidth: Any = None
    delay: float = 0.0
    velocity_filter: tuple[int, float] | None = None
    stop_time: float = 0.1
    torque_limit: Any = None
    link_stiffness: Any = None
    tool_stiffness: Any = None
    tool: str | int | None = None
    posture_stiffness: Any = None
    damping_ratio: float | None = None
    inertia_share: Any = 0.5
    stiffness_time: float = 0.5
    stiffness_energy: float = 1.0
    stiffness_share: float = MOST
    contact_bandwidth: float = CONTACT_BANDWIDTH
    period: float = PERIOD

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise InputError(f"law '{self.law}': expected one of {', '.join(LAWS)}")
        if (self.proportional is None) != (self.derivative is None):
            raise InputError("proportional and derivative: give both or neither")
        for one, other in _ALTERNATIVES:
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise InputError(f"{one} and {other}: each sets the gains; give only one")
        for each in fields(self):
            value = getattr(self, each.name)
            is_given = value is not each.default and np.any(value != each.default)
            if is_given and each.name not in _COMMON | LAWS[self.law].own:
                having = ", ".join(name for name, law in LAWS.items() if each.name in law.own)
                raise InputError(
                    f"{each.name} is not a setting of law '{self.law}', only of {having}"
                )
        if (
            "integral" in LAWS[self.law].own
            and self.disturbance_bandwidth
            and np.any(self.integral)
        ):
            raise InputError(
                "integral and disturbance_bandwidth: both remove the same error and would "
                "interfere; set one of them to 0"
            )
        self._check_values()

    def _check_values(self) -> None:
        """Raise InputError for values that no robot can use; the design checks the rest."""
        if self.gain_design not in GAIN_DESIGNS:
            raise InputError(
                f"gain_design '{self.gain_design}': expected one of {', '.join(GAIN_DESIGNS)}"
            )
        if self.poles is not None and self.gain_design != "joint":
            raise InputError(
                f"poles and gain_design '{self.gain_design}': poles are placed joint by joint; use "
                f"a bandwidth"
            )
        if self.torque_design not in TORQUE_DESIGNS:
            raise InputError(
                f"torque_design '{self.torque_design}': expected one of {', '.join(TORQUE_DESIGNS)}"
            )
        for name in ("bandwidth", "second_bandwidth", "torque_bandwidth"):
            value = getattr(self, name)
            row = np.ones(1) if value is None else as_real(name, value)
            if not row.size or not (row > 0.0).all():
                raise InputError(f"{name} is {value}: must be one or more positive numbers")
            if not is_possible(row).all():
                raise InputError(
                    f"{name} is {value}: must be between {SLOWEST:g} and {FASTEST:g} 1/s"
                )
        if self.poles is None:
            return
        try:
            real = np.asarray(self.poles, dtype=np.complex128).real
        except (TypeError, ValueError):
            return  # poles by name, or not numbers: the design reports the joint
        if (real >= 0.0).any():
            raise InputError(f"poles are {self.poles}: their real parts must be negative")

    @property
    def speed(self) -> Any:
        """`bandwidth`, or the default of the law, in rad/s."""
        return LAWS[self.law].bandwidth if self.bandwidth is None else self.bandwidth


_COMMON = {"law", "bandwidth", "position", "friction", "period"}
_ALTERNATIVES = (
    ("bandwidth", "poles"),
    ("bandwidth", "proportional"),
    ("second_bandwidth", "poles"),
)


@dataclass(frozen=True, eq=False)
class Law:
    """A row of LAWS.

    Attributes
    ----------
    bandwidth : rad/s, the default.
    own : the fields of :class:`ControllerSettings` that this law takes besides the common ones.
    tunable : attributes of the controller that :func:`retune` may change while it runs.
    design : the controller for a robot and settings of this law.
    """

    bandwidth: float
    own: frozenset[str]
    tunable: tuple[str, ...]
    design: Callable[[MultibodyModel, Actuators, ControllerSettings], Controller]


def _motor_pd(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    gains = _given_gains(actuators, settings)
    if gains is None:
        q = _position(model, settings)
        gains = motor_bandwidth_gains(model, actuators, q, settings.speed)
    return _linear_feedback(model, actuators, settings, gains)


def _state_feedback(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    q, k = _position(model, settings), settings.stiffness
    if settings.gain_design != "joint":
        return _scheduled_feedback(model, actuators, settings, q)
    if settings.poles is not None:
        gains = placed_gains(model, actuators, q, _poles(actuators, settings), k)
    else:
        gains = optimal_gains(model, actuators, q, settings.speed, k)
    return _linear_feedback(model, actuators, settings, gains)


def _one_number(settings: ControllerSettings) -> float:
    """`integral`, for gains of the whole arm."""
    if np.ndim(settings.integral):
        raise InputError(
            f"integral: expected one number for gain_design '{settings.gain_design}', got "
            f"{settings.integral}"
        )
    return float(settings.integral)


def _scheduled_feedback(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings, q: Array
) -> ScheduledFeedback:
    schedule = GainSchedule(
        model=model,
        actuators=actuators,
        bandwidth=settings.speed,
        design=settings.gain_design,
        stiffness=settings.stiffness,
        period=settings.period,
        delay=settings.delay,
    )
    return ScheduledFeedback(
        model,
        actuators,
        schedule,
        q,
        update_time=settings.gain_update_time,
        designs_in_background=settings.designs_in_background,
        integral=_one_number(settings),
        **_feedforward_settings(settings),
    )


def _linear_feedback(
    model: MultibodyModel,
    actuators: Actuators,
    settings: ControllerSettings,
    gains: StateFeedbackGains,
) -> LinearFeedback:
    stiffness = np.maximum(gains.values[0] + gains.values[2], 0.0)
    return LinearFeedback(
        model,
        actuators,
        gains,
        integral=np.asarray(settings.integral * stiffness),
        **_feedforward_settings(settings),
    )


def _feedforward_settings(settings: ControllerSettings) -> dict[str, Any]:
    """The settings that all laws of linear feedback share besides their gains."""
    names = (
        "variant",
        "integrates",
        "disturbance_bandwidth",
        "disturbance_share",
        "adaptation",
        "period",
    )
    return {name: getattr(settings, name) for name in names} | {"friction": _friction(settings)}


def _feedback_linearization(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    return FeedbackLinearization(
        model,
        actuators,
        _poles(actuators, settings),
        lead=settings.lead,
        friction=_friction(settings),
        period=settings.period,
    )


def _computed_torque(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    proportional, derivative = settings.proportional, settings.derivative
    if proportional is None:
        w = np.asarray(settings.speed, dtype=np.float64)
        proportional, derivative = w**2, 2.0 * w
    return ComputedTorque(
        model,
        actuators,
        proportional,
        derivative,
        feedback=settings.feedback,
        friction=_friction(settings),
        period=settings.period,
    )


def _hold(model: MultibodyModel, actuators: Actuators, settings: ControllerSettings) -> Controller:
    gains = _given_gains(actuators, settings)
    if gains is None:
        q, k = _position(model, settings), settings.stiffness
        gains = damping_gains(model, actuators, q, k, bandwidth=settings.speed)
    return HoldController(
        model,
        actuators,
        gains,
        stop_time=settings.stop_time,
        torque_limit=np.inf if settings.torque_limit is None else settings.torque_limit,
        friction=0.0 if settings.friction is None else settings.friction,
        period=settings.period,
    )


def _torque_control(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    q, friction = _position(model, settings), _friction(settings)
    timing = LoopTiming(
        period=settings.period, delay=settings.delay, velocity_filter=settings.velocity_filter
    )
    gains = TORQUE_DESIGNS[settings.torque_design](
        model,
        actuators,
        q,
        settings.torque_bandwidth,
        settings.stiffness,
        timing=timing,
        friction=float(np.max(friction)),
    )
    felt = inertias_felt(model, actuators, q)
    w = bandwidths(_link_bandwidth(model, felt, settings), model.joint_names)
    impedance = {"link_stiffness": felt * w**2, "link_damping": 2.0 * felt * w}
    poles = whole_arm_poles(model, actuators, gains, q, settings.stiffness, **impedance)
    worst = poles[poles.real.argmax()]
    if worst.real >= 0.0:
        raise InputError(
            f"robot '{model.name}': with a bandwidth of {np.max(w):g} rad/s around the torque"
            f" loops, the arm has a pole at {worst:.4g} 1/s; use a lower bandwidth"
        )
    return TorqueController(
        model,
        actuators,
        gains,
        delay=settings.delay,
        friction=friction,
        period=settings.period,
        **impedance,
    )


def _link_bandwidth(model: MultibodyModel, felt: Array, settings: ControllerSettings) -> Any:
    """rad/s, of the impedance around the torque loops: by default that of the law, or more where
    gravity would tip the links over somewhere in the joint range."""
    if settings.bandwidth is not None:
        return settings.bandwidth
    return max(settings.speed, NOT_TIPPED * tipping_rate(model, felt, spread_poses(model)))


def _joint_impedance(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    q, common = _position(model, settings), _impedance(settings)
    return JointImpedance(model, actuators, q, settings.link_stiffness, **common)


def _cartesian_impedance(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    return CartesianImpedance(
        model,
        actuators,
        _position(model, settings),
        settings.tool_stiffness,
        tool=settings.tool,
        posture_stiffness=settings.posture_stiffness,
        **_impedance(settings),
    )


def _impedance(settings: ControllerSettings) -> dict[str, Any]:
    names = (
        "damping_ratio",
        "inertia_share",
        "stiffness_time",
        "stiffness_energy",
        "stiffness_share",
        "period",
    )
    given = {name: getattr(settings, name) for name in names}
    if settings.damping_ratio is None:
        del given["damping_ratio"]
    return given | {"bandwidth": settings.speed, "friction": _friction(settings)}


def _esp(model: MultibodyModel, actuators: Actuators, settings: ControllerSettings) -> Controller:
    q, k = _position(model, settings), settings.stiffness

    def design(_: Any, ratio: float) -> ElasticStructureGains:
        return esp_gains(model, actuators, q, settings.speed, k, damping_ratio=ratio)

    return _elastic_structure(model, actuators, settings, design, has_stiffness=False)


def _esp_impedance(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    q, k = _position(model, settings), settings.stiffness

    def design(stiffness: Any, ratio: float) -> ElasticStructureGains:
        return esp_impedance_gains(model, actuators, q, stiffness, k, damping_ratio=ratio)

    return _elastic_structure(model, actuators, settings, design, has_stiffness=True)


def _link_damping_ratio(settings: ControllerSettings) -> float:
    return DAMPING_RATIO if settings.damping_ratio is None else settings.damping_ratio


def _elastic_structure(
    model: MultibodyModel,
    actuators: Actuators,
    settings: ControllerSettings,
    design: Callable[[Any, float], ElasticStructureGains],
    *,
    has_stiffness: bool,
) -> Controller:
    ratio = _link_damping_ratio(settings)
    return ElasticStructureController(
        model,
        actuators,
        design(settings.link_stiffness, ratio),
        design=design,
        has_stiffness=has_stiffness,
        damping_ratio=ratio,
        stiffness_time=settings.stiffness_time,
        stiffness_energy=settings.stiffness_energy,
        bandwidth=settings.speed,
        contact_bandwidth=settings.contact_bandwidth,
        friction=_friction(settings),
        period=settings.period,
    )


def _friction(settings: ControllerSettings) -> Any:
    return 1.0 if settings.friction is None else settings.friction


def _position(model: MultibodyModel, settings: ControllerSettings) -> Array:
    if settings.position is not None:
        return as_array("position", settings.position, (model.n,), model.joint_names)
    with np.errstate(invalid="ignore"):  # no limits: inf - inf
        middle = 0.5 * (model.limits.lower + model.limits.upper)
    return np.where(np.isfinite(middle), middle, 0.0)


def _given_gains(actuators: Actuators, settings: ControllerSettings) -> StateFeedbackGains | None:
    if settings.proportional is None:
        return None
    return motor_side_gains(actuators, settings.proportional, settings.derivative)


def _poles(actuators: Actuators, settings: ControllerSettings) -> JointPoles:
    if settings.poles is not None:
        return JointPoles.from_poles(actuators, settings.poles)
    return JointPoles.from_bandwidth(actuators, settings.speed, settings.second_bandwidth)


_PD = frozenset({"proportional", "derivative"})
_LINEAR = frozenset(
    {
        "variant",
        "integral",
        "integrates",
        "disturbance_bandwidth",
        "disturbance_share",
        "adaptation",
    }
)

_ESP = frozenset(
    {"stiffness", "damping_ratio", "contact_bandwidth", "stiffness_time", "stiffness_energy"}
)

_IMPEDANCE = frozenset(
    {"damping_ratio", "inertia_share", "stiffness_time", "stiffness_energy", "stiffness_share"}
)

LAWS: Mapping[str, Law] = MappingProxyType(
    {
        "motor_pd": Law(60.0, _PD | _LINEAR, ("gains", "integral"), _motor_pd),
        "state_feedback": Law(
            20.0,
            _LINEAR
            | {
                "poles",
                "stiffness",
                "gain_design",
                "gain_update_time",
                "designs_in_background",
                "delay",
            },
            ("gains", "integral"),
            _state_feedback,
        ),
        "feedback_linearization": Law(
            60.0,
            frozenset({"poles", "second_bandwidth", "lead"}),
            ("poles", "lead"),
            _feedback_linearization,
        ),
        "torque_control": Law(
            20.0,
            frozenset(
                {"stiffness", "torque_design", "torque_bandwidth", "delay", "velocity_filter"}
            ),
            ("gains", "link_stiffness", "link_damping"),
            _torque_control,
        ),
        "computed_torque": Law(40.0, _PD | {"feedback"}, ("gains",), _computed_torque),
        "hold": Law(
            60.0,
            _PD | {"stiffness", "stop_time", "torque_limit"},
            ("gains", "stop_time", "torque_limit"),
            _hold,
        ),
        "joint_impedance": Law(
            40.0, _IMPEDANCE | {"link_stiffness"}, ("target", "damping_ratio"), _joint_impedance
        ),
        "cartesian_impedance": Law(
            40.0,
            _IMPEDANCE | {"tool_stiffness", "tool", "posture_stiffness"},
            ("target", "damping_ratio"),
            _cartesian_impedance,
        ),
        "esp": Law(40.0, _ESP, ("gains", "damping_ratio"), _esp),
        "esp_impedance": Law(
            40.0, _ESP | {"link_stiffness"}, ("gains", "damping_ratio"), _esp_impedance
        ),
    }
)
"""The laws by name.

"motor_pd"                feedforward by the flat map, PD on the motors
"state_feedback"          the same with linear feedback of links and motors, joint by joint or of
                          the whole arm
"feedback_linearization"  q'''' = v
"torque_control"          torque loops of the springs, within an impedance of the links
"computed_torque"         computed torque of the rigid arm, for comparison
"hold"                    damped stop, then hold with gravity compensation
"joint_impedance"         links that feel like springs and dampers around the desired motion
"cartesian_impedance"     the same for a tool
"esp"                     dampers on the links; springs and motors keep their characteristics
"esp_impedance"           the same, with springs on the links instead of on the motors
"""


def make_controller(
    model: MultibodyModel, actuators: Actuators, settings: ControllerSettings
) -> Controller:
    """The control law that the settings name, designed for this robot.

    Raises InputError for settings that do not fit the robot and for designs that are not stable,
    and DynamicsError if no gains stabilise the arm (:func:`.coupled_gains`).
    """
    check_model(model)
    for name, value, kind in (
        ("actuators", actuators, Actuators),
        ("settings", settings, ControllerSettings),
    ):
        if not isinstance(value, kind):
            raise InputError(f"{name}: expected {kind.__name__}, got {value!r}")
    return LAWS[settings.law].design(model, actuators, settings)


_FIXED = (
    "variant",
    "feedback",
    "integrates",
    "disturbance_bandwidth",
    "disturbance_share",
    "adaptation",
    "tool",
    "inertia_share",
    "stiffness_share",
    "ramp.time",
    "ramp.capacity",
    "contact_bandwidth",
    "update_time",
    "designs_in_background",
    "late_cycles",
)


def _attribute(law: Controller, path: str) -> Any:
    """An attribute, or that of an attribute; None where the law has none."""
    found: Any = law
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def retune(controller: Controller, settings: ControllerSettings) -> None:
    """Change the gains of a running law between two updates; integrators and filters keep their
    state, but the observer of "torque_control" starts again from zero.

    The settings must name the same law and variant; gains are designed for the controller's current
    model. The torque jumps by the change of the gains times the current error: retune at rest or in
    small steps, or make a new law and :meth:`.BumplessTransfer.switch` to it. Everything is checked
    and designed first, which takes milliseconds; after an InputError the law is unchanged.
    """
    model, actuators = controller.model, controller.actuators
    other = make_controller(model, actuators, settings)
    same = type(other) is type(controller)
    for name in _FIXED:
        before, after = (_attribute(law, name) for law in (controller, other))
        same &= bool(np.array_equal(before, after))
    if not same:
        raise InputError(
            f"law '{settings.law}' with these settings differs from the running "
            f"{type(controller).__name__} in more than gains; make a new law and switch to it"
        )
    for name in (*LAWS[settings.law].tunable, "friction", "period"):
        setattr(controller, name, getattr(other, name))
