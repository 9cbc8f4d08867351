# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control laws by name, and their settings in plain numbers, for files and parameters.

LAWS is the one table of laws: each row has the default bandwidth, the settings that the law takes,
and the numbers that may change while it runs. Parameters, launch files and documentation offer the
laws in this table; :mod:`.controller_designs` designs them for a robot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from ...core import InputError, as_real
from ..controllers.controllers import PERIOD
from ..controllers.scheduled_feedback import UPDATE_TIME
from ..gains.gain_schedule import GAIN_DESIGNS
from ..gains.joint_values import FASTEST, SLOWEST, is_possible
from ..impedance.elastic_structure import CONTACT_BANDWIDTH
from ..impedance.impedance_limits import MOST
from ..observers.adaptive_feedforward import AdaptationSettings
from ..observers.disturbance_compensation import SHARE
from ..torque.torque_gains import TORQUE_DESIGNS

DISTURBANCE_BANDWIDTH = 120.0
"""rad/s, default of the compensation of disturbances in linear feedback."""


@dataclass(frozen=True, eq=False)
class Law:
    """A row of LAWS.

    Attributes
    ----------
    bandwidth : rad/s, the default.
    own : the fields of :class:`ControllerSettings` that this law takes besides the common ones.
    tunable : attributes of the controller that :func:`.retune` may change while it runs.
    """

    bandwidth: float
    own: frozenset[str]
    tunable: tuple[str, ...]


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
        "motor_pd": Law(60.0, _PD | _LINEAR, ("gains", "integral")),
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
        ),
        "feedback_linearization": Law(
            60.0,
            frozenset({"poles", "second_bandwidth", "lead"}),
            ("poles", "lead"),
        ),
        "torque_control": Law(
            20.0,
            frozenset(
                {"stiffness", "torque_design", "torque_bandwidth", "delay", "velocity_filter"}
            ),
            ("gains", "link_stiffness", "link_damping"),
        ),
        "computed_torque": Law(40.0, _PD | {"feedback"}, ("gains",)),
        "hold": Law(
            60.0,
            _PD | {"stiffness", "stop_time", "torque_limit"},
            ("gains", "stop_time", "torque_limit"),
        ),
        "joint_impedance": Law(40.0, _IMPEDANCE | {"link_stiffness"}, ("target", "damping_ratio")),
        "cartesian_impedance": Law(
            40.0,
            _IMPEDANCE | {"tool_stiffness", "tool", "posture_stiffness"},
            ("target", "damping_ratio"),
        ),
        "esp": Law(40.0, _ESP, ("gains", "bandwidth", "damping_ratio")),
        "esp_impedance": Law(
            40.0, _ESP | {"link_stiffness"}, ("gains", "bandwidth", "damping_ratio")
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


_COMMON = {"law", "bandwidth", "position", "friction", "period"}
_ALTERNATIVES = (
    ("bandwidth", "poles"),
    ("bandwidth", "proportional"),
    ("second_bandwidth", "poles"),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ControllerSettings:
    """Settings for :func:`.make_controller`.

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
