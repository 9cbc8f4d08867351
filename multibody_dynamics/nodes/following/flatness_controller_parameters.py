# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The parameters of the flatness controller node."""

from dataclasses import dataclass, fields

from ...dynamics.control import (
    CUTOFF,
    DEFAULT_LAW,
    FILTER_BANDWIDTH,
    FILTER_ORDER,
    LAWS,
    MAX_STEP,
    MEASURED,
    ORDERS,
    PERIOD,
    SOURCES,
    ArmSettings,
    CollisionThresholds,
    Cycle,
    FlatnessSettings,
    StateEstimation,
)
from ...dynamics.core import InputError, declared
from ..base.parameters import ParameterError, parameter
from .following_parameters import FollowingParameters
from .law_parameters import OFF, LawParameters, law_settings, parameters_of


@dataclass(frozen=True)
class FlatnessControllerParameters(LawParameters):
    """The parameters of flatness_controller_node besides the numbers of its laws, which
    :class:`.LawParameters` takes from the laws; docs/flatness_controller_node.md has a table."""

    usual = (
        *FollowingParameters.usual, "law", "unstable_poses", "judged_model_error", "state_source",
        "filter_bandwidth", "command_delay", "transfer_time", "tracking_tolerance",
        "latency_tolerance", "collision_thresholds",
    )  # fmt: skip

    # fmt: off
    law: str = parameter(DEFAULT_LAW, choices=tuple(LAWS), live=True,
        meaning="control law, see docs/flatness_controller_node.md; one that is chosen while the"
        " node is configured is judged first, and takes effect, if accepted, without a jump in"
        " torque")
    adapt: bool = parameter(True, live=True,
        meaning="update the estimates of adaptation; false: keep them, for example while the arm is"
        " in contact")
    design_position: tuple[float, ...] = parameter((), unit="rad or m",
        meaning="position at which gains are designed, one value per joint of the robot; empty: the"
        " middle of the joint range")
    unstable_poses: str = parameter("lower", choices=("lower", "reject", "report", "accept"),
        meaning="response to a law that is unstable at a judged pose, at configuration or when it"
        " is chosen. lower: raise filter_bandwidth if the filter is too slow (at configuration"
        " only), then lower the settings of the law, and refuse it if that does not help; reject:"
        " refuse it; report: use it, unless it is unstable at the given design_position or at the"
        " first measured position; accept: use it in any case, to compare laws in simulations")
    judged_poses: int = parameter(100, bounds=(0, 10000),
        meaning="number of poses, besides the design position, at which the stability of a loop is"
        " judged; 0: the design position only")
    judged_delay: float = parameter(0.001, unit="s", bounds=(0.0, 0.1),
        meaning="unknown part of the delay from the stamp of a state until its torque takes effect,"
        " for which coupled gains and torque loops are designed and stability is judged; known"
        " delays are added where the state is not predicted")
    judged_model_error: float = parameter(0.1, bounds=(0.0, 0.9),
        meaning="relative error of every link inertia, stiffness, rotor inertia and friction with"
        " which stability is judged; the signs differ from pose to pose")

    state_source: str = parameter("link_and_motor_encoders", choices=tuple(SOURCES),
        meaning="measurements from which the state is estimated: the positions in joint_states and"
        " motor_states; the efforts in joint_states and the positions in motor_states; positions"
        " and efforts in motor_states alone; or, for each joint, those given by its torque_source"
        " in elastic_joints_file")
    filter_bandwidth: float = parameter(FILTER_BANDWIDTH, unit="Hz", bounds=(0.1, 2000.0),
        meaning="bandwidth of the filters that estimate velocities from encoders; with"
        " motor_encoders, for the motors only")
    observer_bandwidth: float = parameter(25.0, unit="Hz", bounds=(0.1, 2000.0),
        meaning="upper limit on the bandwidth of the observer used with motor_encoders; the springs"
        " also limit it, see docs/state_estimation.md")
    filter_order: int = parameter(FILTER_ORDER, bounds=(min(ORDERS), max(ORDERS)),
        meaning="order of the filters that estimate velocities, see docs/state_estimation.md")
    pair_tolerance: float = parameter(0.0, unit="s", bounds=(0.0, 1.0), live=True,
        meaning="maximum difference between the stamps of matching link and motor states; keep it"
        " below half a period")
    observer_gain: float = parameter(0.0, unit="1/s", bounds=(0.0, 1000.0),
        meaning="inverse time constant of the observer of external torques; 0: no observer")
    observer_feedback: bool = declared(ArmSettings, "observer_feedback")

    collision_thresholds: str = parameter("",
        meaning="YAML file of the thresholds for the detection of contacts, found like robot_file,"
        " as written by `multibody_dynamics collision-thresholds`; empty: no detection")
    collision_reaction: str = declared(ArmSettings, "collision_reaction")
    collision_threshold_scale: float = parameter(1.0, bounds=(0.1, 100.0), live=True,
        meaning="factor of all thresholds for contacts")
    collision_stiffness: float = parameter(0.1, bounds=(0.0, 1.0),
        meaning="collision_reaction impedance: stiffness as a share of that of joint_impedance at"
        " configuration")
    retract_distance: float = declared(ArmSettings, "retract_distance")

    feedforward_lead: float = declared(ArmSettings, "feedforward_lead")
    command_delay: float = parameter(0.0, unit="s", bounds=(0.0, 1.0), live=True,
        meaning="known delay from the stamp of a state until its torque takes effect; it is added"
        " to feedforward_lead, and the state is predicted over it")
    sensor_delay: float = parameter(0.0, unit="s", bounds=(0.0, 1.0), live=True,
        meaning="known age of a state at the time of its stamp; the state is predicted over this"
        " time, too")
    predict_state: bool = parameter(True, live=True,
        meaning="use the model and the torques already sent to predict the state over sensor_delay"
        " plus command_delay, at most 0.05 s; no effect if both are 0")
    transfer_time: float = declared(ArmSettings, "transfer_time")

    learning_file: str = parameter("",
        meaning="file (.npz) with the learned correction of one trajectory, which is applied"
        " whenever that trajectory is followed; created if learn is set and it does not exist;"
        " empty: none")
    learn: bool = parameter(False, live=True,
        meaning="learn from every complete run of the trajectory in learning_file, until the error"
        " no longer falls; false: only apply what has been learned")
    learning_cutoff: float = parameter(CUTOFF, unit="Hz", bounds=(0.1, 200.0),
        meaning="cut-off of the zero-phase filter of a new learning_file; keep it below the"
        " frequencies at which the model error reaches 100 %")
    learning_limit: float = parameter(0.05, unit="rad or m", bounds=(1e-6, 1.0),
        meaning="largest learned correction of each joint, for a new learning_file")
    # fmt: on

    load_tolerance: float = declared(ArmSettings, "load_tolerance")
    frozen_distance: float = declared(ArmSettings, "frozen_distance")
    tracking_tolerance: float = declared(ArmSettings, "tracking_tolerance")
    latency_tolerance: float = declared(ArmSettings, "latency_tolerance")
    recover_automatically: bool = declared(ArmSettings, "recover_automatically")
    recovery_speed: float = declared(ArmSettings, "recovery_speed")

    recovery_limit: int = declared(ArmSettings, "recovery_limit")
    recovery_window: float = declared(ArmSettings, "recovery_window")
    stop_speed_limit: float = declared(ArmSettings, "stop_speed_limit")
    stop_timeout: float = declared(ArmSettings, "stop_timeout")

    def listed(self) -> set[str]:
        """In addition, the numbers of the chosen law; parts of a setting only if it is on."""
        found: set[str] = super().listed()
        for each in parameters_of(self.law):
            is_part = each.whole not in ("", each.name)
            if not (is_part and getattr(self, each.whole) == OFF):
                found.add(each.name)
        return found

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
        if self.adaptation != OFF and "link_position" not in SOURCES[self.state_source]:
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
        cycle = self._cycle()
        controllers = {law: law_settings(law, self).in_cycle(cycle) for law in LAWS}
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

    def arm_settings(self) -> ArmSettings:
        """What may change while the arm runs."""
        return ArmSettings(**{each.name: getattr(self, each.name) for each in fields(ArmSettings)})

    def _reactions(self) -> dict[str, float]:
        """The laws that respond to a collision, as shares of the stiffness of joint_impedance."""
        return {"gravity_compensation": 0.0, "retract": 1.0, "impedance": self.collision_stiffness}

    @property
    def period(self) -> float:
        """s of a cycle."""
        rate = self.update_rate or self.expected_rate
        return 1.0 / rate if rate else PERIOD

    @property
    def unknown_delay(self) -> float:
        """s, for which loops must be stable; a timer uses the state of the previous tick."""
        return self.judged_delay + (self.period if self.update_rate else 0.0)

    def _cycle(self) -> Cycle:
        """What the laws should know about the cycle in which they run."""
        known = 0.0 if self.predict_state else self.sensor_delay + self.command_delay
        return Cycle(
            period=self.period,
            delay=known + self.unknown_delay,
            command_delay=self.command_delay + self.unknown_delay,
            velocity_filter=(self.filter_order, self.filter_bandwidth),
            measures_links=self.state_source != "motor_encoders",
        )
