# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the flatness controller node."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ...dynamics.control import (
    ADAPTS,
    CONTACT_BANDWIDTH,
    CUTOFF,
    DAMPING_RATIO,
    DISTURBANCE_BANDWIDTH,
    GAIN_DESIGNS,
    LAWS,
    MAX_DELAY,
    MAX_STEP,
    MEASURED,
    ORDERS,
    PERIOD,
    REACTIONS,
    SOURCES,
    TORQUE_DESIGNS,
    UPDATE_TIME,
    AdaptationSettings,
    ArmSettings,
    CollisionThresholds,
    ControllerSettings,
    FlatnessSettings,
    StateEstimation,
)
from ...dynamics.core import InputError
from ...dynamics.elastic import VARIANTS
from ..base.parameters import ParameterError, parameter
from .following_parameters import FollowingParameters

DERIVED = ("torque_link_bandwidth",)  # bandwidths that follow from the arm if they are empty


@dataclass(frozen=True)
class FlatnessControllerParameters(FollowingParameters):
    """The parameters of flatness_controller_node; docs/flatness_controller_node.md has a table."""

    variant: str = parameter(  # not live: a law keeps the flat map with which it was designed
        "full",
        "motor_pd, state_feedback: model of the springs in the feedforward: 'full' with the torque"
        " rates Q' and Q'', 'quasi_static' without them, 'rigid' without springs",
        choices=tuple(VARIANTS),
    )
    law: str = parameter(
        "motor_pd",
        "control law, see docs/flatness_controller_node.md; one that is chosen while the node is"
        " configured is judged first, and takes effect, if accepted, without a jump in torque",
        choices=tuple(LAWS),
        live=True,
    )
    motor_bandwidth: tuple[float, ...] = parameter(
        (LAWS["motor_pd"].bandwidth,),
        "motor_pd: both poles of each motor loop; one value, or one per motor of the robot",
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
        "state_feedback: bandwidth of the linear-quadratic design; one value, or one per joint of"
        " the robot",
        unit="rad/s",
    )
    feedback_poles: tuple[float, ...] = parameter(
        (),
        "state_feedback: real poles of each joint, designed independently of the others, instead of"
        " the linear-quadratic design; empty: not used",
        unit="1/s",
    )
    linearization_bandwidth: tuple[float, ...] = parameter(
        (LAWS["feedback_linearization"].bandwidth,),
        "feedback_linearization: all poles of a joint; one value, or one per joint of the robot",
        unit="rad/s",
    )
    linearization_poles: tuple[float, ...] = parameter(
        (),
        "feedback_linearization: real poles of every joint, instead of the bandwidth; empty: not"
        " used",
        unit="1/s",
    )
    gain_design: str = parameter(
        "joint",
        "state_feedback: gains joint by joint for the design position; or gains of the whole arm"
        " that follow the pose, linear-quadratic (coupled) or passive, by modes (modal)",
        choices=GAIN_DESIGNS,
    )
    gain_update_time: float = parameter(
        UPDATE_TIME,
        "state_feedback with gain_design coupled or modal: time in which new gains are blended in;"
        " 0: keep those of the design position",
        unit="s",
        bounds=(0.0, 10.0),
    )
    torque_design: str = parameter(
        "torque_observer",
        "torque_control: design of the torque loops, see docs/torque_control.md",
        choices=tuple(TORQUE_DESIGNS),
    )
    torque_bandwidth: tuple[float, ...] = parameter(
        (),
        "torque_control: bandwidth of the torque loops; one value, or one per joint of the robot;"
        " empty: as high as springs, filter, command_delay and judged_delay allow",
        unit="rad/s",
    )
    torque_link_bandwidth: tuple[float, ...] = parameter(
        (),
        "torque_control: both poles of each link driven by its torque source, which set the"
        " stiffness felt at the arm; one value, or one per joint of the robot; empty:"
        f" {LAWS['torque_control'].bandwidth:g}, or more where gravity would tip a link over",
        unit="rad/s",
    )
    integral: float = parameter(
        0.0,
        "motor_pd, state_feedback: integral gain, as a share of the law's stiffness per second,"
        " with anti-windup at limits; requires disturbance_bandwidth 0",
        unit="1/s",
        bounds=(0.0, 100.0),
    )
    disturbance_bandwidth: float = parameter(
        DISTURBANCE_BANDWIDTH,
        "motor_pd, state_feedback: poles of the disturbance observers of links and motors, whose"
        " estimates are compensated; 0: no compensation; always 0 without link encoders",
        unit="rad/s",
        bounds=(0.0, 1000.0),
    )
    disturbance_share: float = parameter(
        0.5,
        "motor_pd, state_feedback: largest disturbance that is compensated, as a share of the"
        " motors' torque limits",
        bounds=(0.0, 1.0),
    )
    adaptation: str = parameter(
        "off",
        "motor_pd, state_feedback: estimate masses and inertias in the feedforward while the arm"
        " moves: those of all links, or of a payload; requires link encoders, see"
        " docs/adaptation.md",
        choices=("off", *ADAPTS),
    )
    adapt: bool = parameter(
        True,
        "update the estimates of adaptation; false: keep them, for example while the arm is in"
        " contact",
        live=True,
    )
    adaptation_rate: float = parameter(
        2.0,
        "adaptation: decay rate of torque errors that the estimated parameters can explain",
        unit="1/s",
        bounds=(0.0, 100.0),
    )
    adaptation_bound: float = parameter(
        0.4,
        "adaptation of links: their masses and second moments stay between 1 - bound and 1 / (1 -"
        " bound) times those of the model",
        bounds=(0.0, 0.95),
    )
    payload_mass: float = parameter(
        3.0,
        "adaptation of a payload: largest mass, with the centre of mass at the origin of its link",
        unit="kg",
        bounds=(0.0, 1e4),
    )
    payload_radius: float = parameter(
        0.2,
        "adaptation of a payload: distance of its centre of mass from the origin of its link at"
        " which the largest mass is half of payload_mass",
        unit="m",
        bounds=(1e-3, 100.0),
    )
    payload_link: str = parameter(
        "",
        "adaptation of a payload: link that carries it; empty: the last one",
    )
    hold_bandwidth: float = parameter(
        LAWS["hold"].bandwidth,
        "hold, and the damped stop after a fault: upper limit on the bandwidth of the motor loops,"
        " which also damp the links behind the springs",
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
        "joint_impedance, esp_impedance: stiffness of the links; one value, or one per joint of the"
        " robot; empty: a quarter of the springs' stiffness",
        unit="N m/rad or N/m",
        live=True,
    )
    tool_stiffness: tuple[float, ...] = parameter(
        (),
        "cartesian_impedance: three rotational stiffnesses of the tool, then three translational"
        " ones, along the axes of the base; empty: values that correspond to a quarter of the"
        " springs' stiffness",
        unit="N m/rad, N/m",
        live=True,
    )
    impedance_tool: str = parameter(
        "", "cartesian_impedance: link on which it acts; empty: the last link"
    )
    posture_stiffness: tuple[float, ...] = parameter(
        (),
        "cartesian_impedance: stiffness of the posture; one value, or one per joint of the robot;"
        " empty: 2 % of the springs' stiffness",
        unit="N m/rad or N/m",
        live=True,
    )
    impedance_damping: float = parameter(
        0.7,
        "joint_impedance, cartesian_impedance: damping ratio of every mode with stiffness; a new"
        " value is judged before it takes effect",
        bounds=(0.0, 2.0),
        live=True,
    )
    inertia_share: float = parameter(
        0.5,
        "joint_impedance, cartesian_impedance: ratio of the apparent to the real inertia of the"
        " motors; 1: no torque feedback",
        bounds=(0.05, 1.0),
    )
    stiffness_time: float = parameter(
        0.5,
        "all impedances and esp: minimum duration of a change of stiffness or damping",
        unit="s",
        bounds=(0.0, 60.0),
    )
    stiffness_energy: float = parameter(
        1.0,
        "all impedances: energy that raising the stiffness of a displaced arm may take, in addition"
        " to half of the energy that the law's dampers dissipate",
        unit="J",
        bounds=(0.0, 1000.0),
    )
    esp_bandwidth: tuple[float, ...] = parameter(
        (LAWS["esp"].bandwidth,),
        "esp: both poles of each virtual motor; esp, esp_impedance: poles of a stiffness or"
        " pretension; one value, or one per joint of the robot",
        unit="rad/s",
    )
    esp_damping: float = parameter(
        DAMPING_RATIO,
        "esp, esp_impedance: damping ratio of the links; higher values tolerate less delay; a new"
        " value is judged before it takes effect",
        bounds=(0.0, 2.0),
        live=True,
    )
    contact_bandwidth: float = parameter(
        CONTACT_BANDWIDTH,
        "esp, esp_impedance: poles of the observer of contacts, which the law takes into account"
        " but does not compensate; 0: no observer",
        unit="rad/s",
        bounds=(0.0, 1000.0),
    )
    design_position: tuple[float, ...] = parameter(
        (),
        "position at which gains are designed, one value per joint of the robot; empty: the middle"
        " of the joint range",
        unit="rad or m",
    )
    unstable_poses: str = parameter(
        "lower",
        "response to a law that is unstable at a judged pose, at configuration or when it is"
        " chosen. lower: raise filter_bandwidth if the filter is too slow (at configuration only),"
        " then lower the settings of the law, and refuse it if that does not help; reject: refuse"
        " it; report: use it, unless it is unstable at the given design_position or at the first"
        " measured position; accept: use it in any case, to compare laws in simulations",
        choices=("lower", "reject", "report", "accept"),
    )
    judged_poses: int = parameter(
        100,
        "number of poses, besides the design position, at which the stability of a loop is judged;"
        " 0: the design position only",
        bounds=(0, 10000),
    )
    judged_delay: float = parameter(
        0.001,
        "unknown part of the delay from the stamp of a state until its torque takes effect, for"
        " which coupled gains and torque loops are designed and stability is judged; known delays"
        " are added where the state is not predicted",
        unit="s",
        bounds=(0.0, 0.1),
    )
    judged_model_error: float = parameter(
        0.1,
        "relative error of every link inertia, stiffness, rotor inertia and friction with which"
        " stability is judged; the signs differ from pose to pose",
        bounds=(0.0, 0.9),
    )
    friction_compensation: float = parameter(
        1.0, "share of the motor friction that is compensated", bounds=(0.0, 1.0)
    )

    state_source: str = parameter(
        "link_and_motor_encoders",
        "measurements from which the state is estimated: the positions in joint_states and"
        " motor_states; the efforts in joint_states and the positions in motor_states; positions"
        " and efforts in motor_states alone; or, for each joint, those given by its torque_source"
        " in elastic_joints_file",
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
        "upper limit on the bandwidth of the observer used with motor_encoders; the springs also"
        " limit it, see docs/state_estimation.md",
        unit="Hz",
        bounds=(0.1, 2000.0),
    )
    filter_order: int = parameter(
        3,
        "order of the filters that estimate velocities, see docs/state_estimation.md",
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

    collision_thresholds: str = parameter(
        "",
        "YAML file of the thresholds for the detection of contacts, found like robot_file, as"
        " written by `multibody_dynamics collision-thresholds`; empty: no detection",
    )
    collision_reaction: str = parameter(
        "stop",
        "reaction to a detected contact; all but off and report last until ~/enable is called, see"
        " docs/collisions.md",
        choices=REACTIONS,
        live=True,
    )
    collision_threshold_scale: float = parameter(
        1.0, "factor of all thresholds for contacts", bounds=(0.1, 100.0), live=True
    )
    collision_stiffness: float = parameter(
        0.1,
        "collision_reaction impedance: stiffness as a share of that of joint_impedance at"
        " configuration",
        bounds=(0.0, 1.0),
    )
    retract_distance: float = parameter(
        0.05,
        "collision_reaction retract: distance by which the joint that was hit hardest moves back",
        unit="rad or m",
        bounds=(0.0, 1.0),
        live=True,
    )

    feedforward_lead: float = parameter(
        0.5,
        "time by which the feedforward torque leads the reference, because each torque is held for"
        " one cycle",
        unit="cycles",
        bounds=(0.0, 10.0),
        live=True,
    )
    command_delay: float = parameter(
        0.0,
        "known delay from the stamp of a state until its torque takes effect; it is added to"
        " feedforward_lead, and the state is predicted over it",
        unit="s",
        bounds=(0.0, 1.0),
        live=True,
    )
    sensor_delay: float = parameter(
        0.0,
        "known age of a state at the time of its stamp; the state is predicted over this time, too",
        unit="s",
        bounds=(0.0, 1.0),
        live=True,
    )
    predict_state: bool = parameter(
        True,
        "use the model and the torques already sent to predict the state over sensor_delay plus"
        " command_delay, at most 0.05 s; no effect if both are 0",
        live=True,
    )
    transfer_time: float = parameter(
        0.5,
        "duration of the transition to a law, at activation and when another one is chosen",
        unit="s",
        bounds=(0.0, 60.0),
        live=True,
    )

    learning_file: str = parameter(
        "",
        "file (.npz) with the learned correction of one trajectory, which is applied whenever that"
        " trajectory is followed; created if learn is set and it does not exist; empty: none",
    )
    learn: bool = parameter(
        False,
        "learn from every complete run of the trajectory in learning_file, until the error no"
        " longer falls; false: only apply what has been learned",
        live=True,
    )
    learning_cutoff: float = parameter(
        CUTOFF,
        "cut-off of the zero-phase filter of a new learning_file; keep it below the frequencies at"
        " which the model error reaches 100 %",
        unit="Hz",
        bounds=(0.1, 200.0),
    )
    learning_limit: float = parameter(
        0.05,
        "largest learned correction of each joint, for a new learning_file",
        unit="rad or m",
        bounds=(1e-6, 1.0),
    )

    tracking_tolerance: float = parameter(
        0.2,
        "bring the arm to a damped stop if a joint is further than this from its reference; 0: no"
        " limit",
        unit="rad or m",
        bounds=(0.0, 10.0),
        live=True,
    )
    latency_tolerance: float = parameter(
        0.005,
        "bring the arm to a damped stop if, for 0.1 s, every torque is sent later than this after"
        " the stamp of its state; 0: no limit, as needed if the computers' clocks differ",
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

    recovery_limit: int = parameter(
        5,
        "number of automatic recoveries within recovery_window after which the robot stays stopped"
        " until ~/enable is called; 0: no limit",
        bounds=(0, 1000),
        live=True,
    )
    recovery_window: float = parameter(
        60.0,
        "time window over which recoveries are counted",
        unit="s",
        bounds=(1.0, 3600.0),
        live=True,
    )
    stop_speed_limit: float = parameter(
        0.0,
        "a stop has failed if a joint is faster than this; 0: 1.5 times its speed at the fault,"
        " plus a quarter of its velocity limit",
        unit="rad/s or m/s",
        bounds=(0.0, 1000.0),
        live=True,
    )
    stop_timeout: float = parameter(
        5.0,
        "a stop has failed if the robot keeps moving, faster than recovery_speed, for longer than"
        " this",
        unit="s",
        bounds=(0.1, 600.0),
        live=True,
    )

    def check(self) -> None:
        super().check()
        if self.observer_feedback and not self.observer_gain:
            raise ParameterError("observer_feedback requires an observer: set observer_gain")
        if self.collision_thresholds and self.state_source not in MEASURED:
            raise ParameterError(
                "collision_thresholds requires measured links or torque sensors, but state_source"
                f" is {self.state_source}"
            )
        if self.learn and not self.learning_file:
            raise ParameterError("learn requires a file: set learning_file")
        if self.learning_file and self.state_source == "motor_encoders":
            raise ParameterError(
                "learning_file requires measured links, but state_source is motor_encoders: errors"
                " of the model would be learned as errors of the robot"
            )
        if self.adaptation != "off" and "link_position" not in SOURCES[self.state_source]:
            raise ParameterError(
                f"adaptation requires measured link positions, which state_source"
                f" {self.state_source} does not include: errors of the springs would be mistaken"
                " for errors of the links"
            )
        self.settings()

    def settings(self, collisions: CollisionThresholds | None = None) -> FlatnessSettings:
        """The control law that these parameters describe; collisions: the thresholds with which it
        detects contacts. Raises ParameterError."""
        observes = self.state_source == "motor_encoders"
        estimation = StateEstimation(
            self.state_source,
            self.observer_bandwidth if observes else self.filter_bandwidth,
            self.filter_order,
            # A gap in the states that leads to a damped stop must not restart the observer; filters
            # bridge it with the mean velocity, as extrapolating so far would invent velocities.
            max_step=max(MAX_STEP, (2.0 if observes else 0.5) * self.state_timeout),
        )
        controllers = {each.law: each for each in self._controllers()}
        try:
            return FlatnessSettings(
                law=self.law,
                controllers=controllers,
                estimation=estimation,
                motor_bandwidth=self.filter_bandwidth,
                observer_gain=self.observer_gain,
                collisions=collisions,
                reactions=self._reactions() if collisions is not None else {},
                gravity_compensated_by_robot=self.gravity_compensated_by_robot,
                sensor_delay=self.sensor_delay,
                command_delay=self.command_delay,
                predicts_state=self.predict_state,
            )
        except InputError as error:
            raise ParameterError(str(error).replace("predicts_state", "predict_state")) from None

    def cycle(self) -> ArmSettings:
        """What may change while the arm runs."""
        return ArmSettings(**{each.name: getattr(self, each.name) for each in fields(ArmSettings)})

    def _controllers(self) -> tuple[ControllerSettings, ...]:
        """The settings of every law, in the order of LAWS."""
        friction = {"friction": self.friction_compensation}
        integrates = "motor" if self.state_source == "motor_encoders" else "link"
        linear = {
            "variant": self.variant,
            "integral": self.integral,
            "integrates": integrates,
            "disturbance_bandwidth": self.disturbance_bandwidth,
            "disturbance_share": self.disturbance_share,
            "adaptation": self._adaptation(),
            **friction,
        }
        structure = {
            "damping_ratio": self.esp_damping,
            "contact_bandwidth": self.contact_bandwidth,
            "stiffness_time": self.stiffness_time,
            "stiffness_energy": self.stiffness_energy,
            **friction,
        }
        stiffness = self._given(link_stiffness=self.link_stiffness)
        return (
            self._of("motor_pd", "motor_bandwidth", **linear),
            self._of(
                "state_feedback",
                "feedback_bandwidth",
                "feedback_poles",
                **self._whole_arm(),
                **linear,
            ),
            self._of(
                "feedback_linearization",
                "linearization_bandwidth",
                "linearization_poles",
                **friction,
            ),
            self._of("torque_control", "torque_link_bandwidth", **self._torque_loops(), **friction),
            self._of("computed_torque", "computed_torque_bandwidth", **friction),
            self._of("hold", "hold_bandwidth", stop_time=self.stop_time),
            self._impedance("joint_impedance", link_stiffness=self.link_stiffness),
            self._impedance(
                "cartesian_impedance",
                tool_stiffness=self.tool_stiffness,
                posture_stiffness=self.posture_stiffness,
                tool=self.impedance_tool,
            ),
            self._of("esp", "esp_bandwidth", **structure),
            self._of("esp_impedance", "esp_bandwidth", **structure, **stiffness),
        )

    def _impedance(self, law: str, **given: Any) -> ControllerSettings:
        """The settings of an impedance law; empty values stand for its defaults."""
        if len(self.tool_stiffness) not in (0, 6):
            raise ParameterError(
                f"tool_stiffness has {len(self.tool_stiffness)} values; expected 6"
            )
        return ControllerSettings(
            law=law,
            damping_ratio=self.impedance_damping,
            inertia_share=self.inertia_share,
            stiffness_time=self.stiffness_time,
            stiffness_energy=self.stiffness_energy,
            friction=self.friction_compensation,
            **self._given(**given),
        )

    def _reactions(self) -> dict[str, float]:
        """The laws that respond to a collision, as shares of the stiffness of joint_impedance."""
        return {
            "gravity_compensation": 0.0,
            "retract": 1.0,
            "impedance": self.collision_stiffness,
        }

    def _adaptation(self) -> AdaptationSettings | None:
        """The settings of the adaptive feedforward, if there is one."""
        if self.adaptation == "off":
            return None
        return AdaptationSettings(
            adapts=self.adaptation,
            rate=self.adaptation_rate,
            bound=self.adaptation_bound,
            payload_mass=self.payload_mass,
            payload_radius=self.payload_radius,
            payload_body=self.payload_link or None,
        )

    @staticmethod
    def _given(**values: Any) -> dict[str, Any]:
        """Those values that are not empty; one for all joints as a number."""
        return {
            name: value[0] if isinstance(value, tuple) and len(value) == 1 else value
            for name, value in values.items()
            if value
        }

    @property
    def period(self) -> float:
        """s of a cycle."""
        rate = self.update_rate or self.expected_rate
        return 1.0 / rate if rate else PERIOD

    @property
    def unknown_delay(self) -> float:
        """s, for which loops must be stable; a timer uses the state of the previous tick."""
        return self.judged_delay + (self.period if self.update_rate else 0.0)

    def _whole_arm(self) -> dict[str, Any]:
        """The settings of gains of the whole arm."""
        if self.gain_design == "joint":
            return {}
        known = 0.0 if self.predict_state else self.sensor_delay + self.command_delay
        return {
            "gain_design": self.gain_design,
            "gain_update_time": self.gain_update_time,
            "designs_in_background": True,
            "delay": known + self.unknown_delay,
            "period": self.period,
        }

    def _torque_loops(self) -> dict[str, Any]:
        """The settings of the torque loops."""
        loops: dict[str, Any] = {
            "torque_design": self.torque_design,
            "delay": min(self.command_delay + self.unknown_delay, MAX_DELAY * self.period),
            "period": self.period,
            "velocity_filter": (self.filter_order, self.filter_bandwidth),
        }
        if self.torque_bandwidth:
            one, *others = self.torque_bandwidth
            loops["torque_bandwidth"] = self.torque_bandwidth if others else one
        return loops

    def _of(self, law: str, bandwidth: str, poles: str = "", **given: Any) -> ControllerSettings:
        """The settings of one law; the named parameters give its bandwidth or, if set, its
        poles."""
        name = poles if poles and getattr(self, poles) else bandwidth
        value = getattr(self, name)
        if name == bandwidth and isinstance(value, tuple) and len(value) == 1:
            (value,) = value  # for all
        if name in DERIVED and value == ():
            value = None
        given["poles" if name == poles else "bandwidth"] = value
        try:
            return ControllerSettings(law=law, **given)
        except InputError as error:
            raise ParameterError(f"{name}: {error}") from None
