"""The parameters of the flatness controller node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...dynamics.control import (
    DISTURBANCE_BANDWIDTH,
    LAWS,
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


@dataclass(frozen=True)
class FlatnessControllerParameters(FollowingParameters):
    """The parameters of flatness_controller_node; docs/flatness_controller_node.md has a table."""

    law: str = parameter(
        "motor_pd",
        "control law (see the table of laws); switching causes no jump in torque",
        choices=tuple(LAWS),
        live=True,
    )
    motor_bandwidth: tuple[float, ...] = parameter(
        (LAWS["motor_pd"].bandwidth,),
        "motor_pd: both poles of each motor loop; one value for all, or one per motor of the robot",
        unit="rad/s",
    )
    computed_torque_bandwidth: float = parameter(
        LAWS["computed_torque"].bandwidth,
        "computed_torque: both poles of every joint",
        unit="rad/s",
        bounds=(0.1, 1000.0),
    )
    feedback_bandwidth: tuple[float, ...] = parameter(
        (LAWS["state_feedback"].bandwidth,),
        "state_feedback: bandwidth of the linear-quadratic design; one value for all, or one per"
        " joint of the robot",
        unit="rad/s",
    )
    feedback_poles: tuple[float, ...] = parameter(
        (),
        "state_feedback: real poles of each joint on its own, instead of the linear-quadratic"
        " design; empty: not used",
        unit="1/s",
    )
    linearization_bandwidth: tuple[float, ...] = parameter(
        (LAWS["feedback_linearization"].bandwidth,),
        "feedback_linearization: all poles of a joint; one value for all, or one per joint of the"
        " robot",
        unit="rad/s",
    )
    linearization_poles: tuple[float, ...] = parameter(
        (),
        "feedback_linearization: real poles of every joint, instead of the bandwidth; empty: not"
        " used",
        unit="1/s",
    )
    integral: float = parameter(
        0.0,
        "motor_pd, state_feedback: integral gain, as a share of the law's stiffness per second;"
        " with anti-windup at limits",
        unit="1/s",
        bounds=(0.0, 100.0),
    )
    disturbance_bandwidth: float = parameter(
        DISTURBANCE_BANDWIDTH,
        "motor_pd, state_feedback: poles of the observers that compensate what the model does not"
        " explain, on links and motors; 0: no compensation; always 0 with motor_encoders",
        unit="rad/s",
        bounds=(0.0, 1000.0),
    )
    disturbance_share: float = parameter(
        0.5,
        "largest disturbance that is compensated, as a share of the motors' torque limits",
        bounds=(0.0, 1.0),
    )
    hold_bandwidth: float = parameter(
        LAWS["hold"].bandwidth,
        "hold, and the damped stop after a fault: upper limit on the bandwidth of the motors, which"
        " damp the links behind their springs",
        unit="rad/s",
        bounds=(1.0, 1000.0),
    )
    stop_time: float = parameter(
        0.1,
        "hold, and the damped stop: time constant with which the motors slow down",
        unit="s",
        bounds=(0.01, 10.0),
    )
    link_stiffness: tuple[float, ...] = parameter(
        (),
        "joint_impedance: stiffness of the links, in N m/rad or N/m; one value for all, or one per"
        " joint of the robot; empty: a quarter of the springs'",
        live=True,
    )
    tool_stiffness: tuple[float, ...] = parameter(
        (),
        "cartesian_impedance: three rotational stiffnesses of the tool in N m/rad, then three"
        " translational ones in N/m, along the axes of the base; empty: what uses a quarter of the"
        " springs",
        live=True,
    )
    impedance_tool: str = parameter(
        "", "cartesian_impedance: link on which it acts; empty: the last link"
    )
    posture_stiffness: tuple[float, ...] = parameter(
        (),
        "cartesian_impedance: stiffness of the posture, in N m/rad or N/m; one value for all, or"
        " one per joint of the robot; empty: 2 % of the springs'; takes effect with tool_stiffness",
        live=True,
    )
    impedance_damping: float = parameter(
        0.7,
        "joint_impedance, cartesian_impedance: damping ratio of every mode with stiffness",
        bounds=(0.0, 2.0),
        live=True,
    )
    inertia_share: float = parameter(
        0.5,
        "joint_impedance, cartesian_impedance: apparent over real inertia of the motors; 1: no"
        " torque feedback",
        bounds=(0.05, 1.0),
    )
    stiffness_time: float = parameter(
        0.5,
        "joint_impedance, cartesian_impedance: least duration of a change of stiffness",
        unit="s",
        bounds=(0.0, 60.0),
    )
    stiffness_energy: float = parameter(
        1.0,
        "joint_impedance, cartesian_impedance: energy that rising stiffness may add to a displaced"
        " arm before its dampers have dissipated as much",
        unit="J",
        bounds=(0.0, 1000.0),
    )
    design_position: tuple[float, ...] = parameter(
        (),
        "position for which gains are designed, one value per joint of the robot; empty: the first"
        " measured position",
        unit="rad or m",
    )
    friction_compensation: float = parameter(
        1.0, "share of the motor friction that is compensated", bounds=(0.0, 1.0)
    )

    state_source: str = parameter(
        "link_and_motor_encoders",
        "measurements from which the state is estimated: positions from both topics; motor"
        " positions and the efforts of joint_states; positions and efforts of motor_states alone;"
        " or, for each joint, those that its torque_source names",
        choices=tuple(SOURCES),
    )
    filter_bandwidth: float = parameter(
        100.0,
        "bandwidth of the filters that estimate velocities from encoders; with motor_encoders, for"
        " the motors only",
        unit="Hz",
        bounds=(0.1, 2000.0),
    )
    observer_bandwidth: float = parameter(
        25.0,
        "upper limit on the bandwidth of the observer of motor_encoders; the springs also limit it,"
        " see docs/elastic_joints.md",
        unit="Hz",
        bounds=(0.1, 2000.0),
    )
    filter_order: int = parameter(
        3,
        "order of the filters that estimate velocities, see docs/elastic_joints.md",
        bounds=(min(ORDERS), max(ORDERS)),
    )
    pair_tolerance: float = parameter(
        0.0,
        "maximum difference between the stamps of matching link and motor states; keep it below"
        " half a period",
        unit="s",
        bounds=(0.0, 1.0),
        live=True,
    )
    observer_gain: float = parameter(
        0.0,
        "inverse time constant of the observer of external torques; 0: no observer",
        unit="1/s",
        bounds=(0.0, 1000.0),
    )
    observer_feedback: bool = parameter(
        False, "compensate the external torques estimated by the observer", live=True
    )

    feedforward_lead: float = parameter(
        0.5,
        "time by which the feedforward torque leads the reference, since it is held for one cycle",
        unit="cycles",
        bounds=(0.0, 10.0),
        live=True,
    )
    command_delay: float = parameter(
        0.0,
        "delay from the stamp of a state until its torque takes effect; added to feedforward_lead",
        unit="s",
        bounds=(0.0, 1.0),
        live=True,
    )
    transfer_time: float = parameter(
        0.5,
        "duration of the transition to a law, at activation and when another one is chosen",
        unit="s",
        bounds=(0.0, 60.0),
        live=True,
    )

    tracking_tolerance: float = parameter(
        0.2,
        "make a damped stop if a joint is further than this from its reference; 0: no limit",
        unit="rad or m",
        bounds=(0.0, 10.0),
        live=True,
    )
    latency_tolerance: float = parameter(
        0.005,
        "make a damped stop if, for 0.1 s, every torque is sent later than this after the stamp"
        " of its state; 0: no limit, for computers whose clocks differ",
        unit="s",
        bounds=(0.0, 1.0),
        live=True,
    )
    recover_automatically: bool = parameter(
        True,
        "resume following without ~/enable once missing states are back and the robot is at rest",
    )
    recovery_speed: float = parameter(
        0.1,
        "the robot is considered at rest when every motor is slower than this",
        unit="rad/s or m/s",
        bounds=(0.0, 10.0),
        live=True,
    )

    def check(self) -> None:
        super().check()
        if self.observer_feedback and not self.observer_gain:
            raise ParameterError("observer_feedback requires an observer: set observer_gain")
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
        linear = {
            "variant": self.variant,
            "integral": self.integral,
            "integrates": integrates,
            **friction,
        }
        if integrates == "link":
            linear["disturbance_bandwidth"] = self.disturbance_bandwidth
            linear["disturbance_share"] = self.disturbance_share
        else:  # the estimated links follow the model: nothing to compare it with
            linear["disturbance_bandwidth"] = 0.0
        return (
            self._of("motor_pd", "motor_bandwidth", **linear),
            self._of(
                "state_feedback",
                "feedback_bandwidth",
                "feedback_poles",
                **linear,
            ),
            self._of(
                "feedback_linearization",
                "linearization_bandwidth",
                "linearization_poles",
                **friction,
            ),
            self._of("computed_torque", "computed_torque_bandwidth", **friction),
            self._of("hold", "hold_bandwidth", stop_time=self.stop_time),
            self._impedance("joint_impedance", link_stiffness=self.link_stiffness),
            self._impedance(
                "cartesian_impedance",
                tool_stiffness=self.tool_stiffness,
                posture_stiffness=self.posture_stiffness,
                tool=self.impedance_tool,
            ),
        )

    def _impedance(self, law: str, **given: Any) -> ControllerSettings:
        """The settings of an impedance; what is empty has the default of the law."""
        if len(self.tool_stiffness) not in (0, 6):
            raise ParameterError(
                f"tool_stiffness has {len(self.tool_stiffness)} values; expected 6"
            )
        own = {}
        for name, value in given.items():
            if value:
                own[name] = value[0] if isinstance(value, tuple) and len(value) == 1 else value
        return ControllerSettings(
            law=law,
            damping_ratio=self.impedance_damping,
            inertia_share=self.inertia_share,
            stiffness_time=self.stiffness_time,
            stiffness_energy=self.stiffness_energy,
            friction=self.friction_compensation,
            **own,
        )

    def _of(self, law: str, bandwidth: str, poles: str = "", **given: Any) -> ControllerSettings:
        """The settings of one law; the named parameters give its bandwidth or, if set, its
        poles."""
        name = poles if poles and getattr(self, poles) else bandwidth
        value = getattr(self, name)
        if name == bandwidth and isinstance(value, tuple) and len(value) == 1:
            (value,) = value  # for all
        given["poles" if name == poles else "bandwidth"] = value
        try:
            return ControllerSettings(law=law, **given)
        except InputError as error:
            raise ParameterError(f"{name}: {error}") from None
