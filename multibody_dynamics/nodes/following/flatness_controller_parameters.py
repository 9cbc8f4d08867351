"""The parameters of the flatness controller node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...dynamics.control import (
    BANDWIDTHS,
    MAX_STEP,
    ORDERS,
    SOURCES,
    ControllerSettings,
    FlatnessSettings,
    StateEstimation,
)
from ...dynamics.core import InputError
from ..base.parameters import ParameterError, parameter
from .following_parameters import FollowingParameters

LAWS = tuple(BANDWIDTHS)


@dataclass(frozen=True)
class FlatnessControllerParameters(FollowingParameters):
    """See the descriptions; docs/flatness_controller_node.md has them as a table."""

    law: str = parameter(
        "state_feedback",
        "the feedback around the flat map, see the table of laws; changed without a jump of torque",
        choices=LAWS,
        live=True,
    )
    motor_bandwidth: tuple[float, ...] = parameter(
        (BANDWIDTHS["motor_pd"],),
        "motor_pd, computed_torque: both poles of each motor by itself; one for all or one per"
        " motor of the robot",
        unit="rad/s",
    )
    feedback_bandwidth: tuple[float, ...] = parameter(
        (BANDWIDTHS["state_feedback"],),
        "state_feedback: bandwidth of the linear-quadratic design; one for all or one per joint"
        " of the robot",
        unit="rad/s",
    )
    feedback_poles: tuple[float, ...] = parameter(
        (),
        "state_feedback: real poles of each joint by itself, in place of the linear-quadratic"
        " design; empty: none",
        unit="1/s",
    )
    linearization_bandwidth: tuple[float, ...] = parameter(
        (BANDWIDTHS["feedback_linearization"],),
        "feedback_linearization: all poles of a joint; one for all or one per joint of the robot",
        unit="rad/s",
    )
    linearization_poles: tuple[float, ...] = parameter(
        (),
        "feedback_linearization: real poles of every joint, in place of the bandwidth; empty: none",
        unit="1/s",
    )
    integral: float = parameter(
        0.0,
        "motor_pd, state_feedback: share per second of their stiffness that the integral of the"
        " error gets; it does not grow against a limit",
        unit="1/s",
        bounds=(0.0, 100.0),
    )
    hold_bandwidth: float = parameter(
        BANDWIDTHS["hold"],
        "hold, and the damped stop after a fault: greatest bandwidth of the motors, which damp the"
        " links behind their springs",
        unit="rad/s",
        bounds=(1.0, 1000.0),
    )
    stop_time: float = parameter(
        0.1,
        "hold, and the damped stop: time constant in which the motors slow down",
        unit="s",
        bounds=(0.01, 10.0),
    )
    design_position: tuple[float, ...] = parameter(
        (),
        "where gains are designed, one per joint of the robot; empty: where it stands first",
        unit="rad or m",
    )
    friction_compensation: float = parameter(
        1.0, "share of the motors' friction that is compensated", bounds=(0.0, 1.0)
    )

    state_source: str = parameter(
        "link_and_motor_encoders",
        "what tells the state: positions of both topics, or motor positions and the efforts of"
        " joint_states, or positions and efforts of motor_states alone, or of each joint what its"
        " torque_source says",
        choices=tuple(SOURCES),
    )
    filter_bandwidth: float = parameter(
        100.0,
        "bandwidth of the filters that give velocities from encoders; with motor_encoders, of"
        " those of the motors",
        unit="Hz",
        bounds=(0.1, 2000.0),
    )
    observer_bandwidth: float = parameter(
        25.0,
        "greatest bandwidth of the observer of motor_encoders: the springs bound it too, see"
        " docs/elastic_joints.md",
        unit="Hz",
        bounds=(0.1, 2000.0),
    )
    filter_order: int = parameter(
        3,
        "order of the filters that give velocities, see docs/elastic_joints.md",
        bounds=(min(ORDERS), max(ORDERS)),
    )
    pair_tolerance: float = parameter(
        0.0,
        "link and motor states that go together may be stamped so far apart; below half a period",
        unit="s",
        bounds=(0.0, 1.0),
        live=True,
    )
    observer_gain: float = parameter(
        0.0,
        "inverse time constant of the observer of external torques; 0: none",
        unit="1/s",
        bounds=(0.0, 1000.0),
    )
    observer_feedback: bool = parameter(
        False, "the law counters the torques that the observer finds", live=True
    )

    feedforward_lead: float = parameter(
        0.5,
        "cycles by which the torque of the feedforward is ahead of the reference, as it is held for"
        " a cycle",
        unit="cycles",
        bounds=(0.0, 10.0),
        live=True,
    )
    command_delay: float = parameter(
        0.0,
        "time from the stamp of a state until the torque for it acts; added to feedforward_lead",
        unit="s",
        bounds=(0.0, 1.0),
        live=True,
    )
    transfer_time: float = parameter(
        0.5,
        "how long a law takes to take over, at activation and when another one is chosen",
        unit="s",
        bounds=(0.0, 60.0),
        live=True,
    )

    tracking_tolerance: float = parameter(
        0.2,
        "greatest distance between reference and robot; beyond, it stops, damped; 0: any",
        unit="rad or m",
        bounds=(0.0, 10.0),
        live=True,
    )
    latency_tolerance: float = parameter(
        0.005,
        "where every torque of 0.1 s is sent later than this after the stamp of its state, the"
        " robot stops, damped; 0: however late, as where clocks of computers differ",
        unit="s",
        bounds=(0.0, 1.0),
        live=True,
    )
    recover_automatically: bool = parameter(
        True,
        "once states that were missing are back and the robot rests, follow again without ~/enable",
    )
    recovery_speed: float = parameter(
        0.1,
        "a robot rests whose motors are all slower than this",
        unit="rad/s or m/s",
        bounds=(0.0, 10.0),
        live=True,
    )

    def check(self) -> None:
        super().check()
        if self.observer_feedback and not self.observer_gain:
            raise ParameterError("observer_feedback needs an observer: set observer_gain")
        self.settings()

    def settings(self) -> FlatnessSettings:
        """The control law that these parameters describe. Raises ParameterError."""
        observes = self.state_source == "motor_encoders"
        estimation = StateEstimation(
            self.state_source,
            self.observer_bandwidth if observes else self.filter_bandwidth,
            self.filter_order,
            # A silence that ends in a damped stop must not restart the filters at rest.
            max_step=max(MAX_STEP, 2.0 * self.state_timeout),
        )
        return FlatnessSettings(
            law=self.law,
            controllers={each.law: each for each in self._controllers()},
            estimation=estimation,
            motor_bandwidth=self.filter_bandwidth,
            observer_gain=self.observer_gain,
            gravity_compensated_by_robot=self.gravity_compensated_by_robot,
        )

    def _controllers(self) -> tuple[ControllerSettings, ...]:
        """The settings of every law, in the order of LAWS."""
        friction = {"friction": self.friction_compensation}
        integrates = "motor" if self.state_source == "motor_encoders" else "link"
        linear = {"integral": self.integral, "integrates": integrates, **friction}
        return (
            self._of("motor_pd", "motor_bandwidth", **linear),
            self._of(
                "state_feedback",
                "feedback_bandwidth",
                "feedback_poles",
                variant=self.variant,
                **linear,
            ),
            self._of(
                "feedback_linearization",
                "linearization_bandwidth",
                "linearization_poles",
                **friction,
            ),
            self._of("computed_torque", "motor_bandwidth", **friction),
            self._of("hold", "hold_bandwidth", stop_time=self.stop_time),
        )

    def _of(self, law: str, bandwidth: str, poles: str = "", **given: Any) -> ControllerSettings:
        """The settings of one law, with the parameters of these names for its bandwidth or, where
        they are set, its poles."""
        name = poles if poles and getattr(self, poles) else bandwidth
        value = getattr(self, name)
        if name == bandwidth and isinstance(value, tuple) and len(value) == 1:
            (value,) = value  # for all
        given["poles" if name == poles else "bandwidth"] = value
        try:
            return ControllerSettings(law=law, **given)
        except InputError as error:
            raise ParameterError(f"{name}: {error}") from None
