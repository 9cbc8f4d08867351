"""The parameters of nodes that follow a trajectory."""

from __future__ import annotations

from dataclasses import dataclass

from ...dynamics.elastic import VARIANTS
from ..base.parameters import ParameterError, parameter
from ..base.robot import ElasticRobotParameters


@dataclass(frozen=True)
class FollowingParameters(ElasticRobotParameters):
    """Reference, inputs and limits."""

    variant: str = parameter(
        "full",
        "how springs enter: 'full' with Q' and Q'', 'quasi_static' without, 'rigid' not at all",
        choices=tuple(VARIANTS),
        live=True,
    )
    gravity_compensated_by_robot: bool = parameter(
        False, "the robot compensates gravity itself: leave it out of all torques"
    )
    initial_stiffness: tuple[float, ...] = parameter(
        (),
        "stiffness, or pretension, at first of the joints where it varies; empty: the middle of"
        " the range",
        unit="N m/rad or N m",
    )

    lookahead: float = parameter(
        0.0,
        "the reference is evaluated this long after the stamp of the state, to make up for delay",
        unit="s",
        bounds=(0.0, 1.0),
    )
    update_rate: float = parameter(
        0.0,
        "cycles per second by a timer; 0: one cycle per complete state",
        unit="Hz",
        bounds=(0.0, 10000.0),
    )
    state_queue_depth: int = parameter(
        8,
        "queue of states; at least the number of messages that make up one state",
        bounds=(1, 1000),
    )
    state_timeout: float = parameter(
        0.2,
        "without a complete state for this long, the node does what it declares safe",
        unit="s",
        bounds=(0.001, 60.0),
        live=True,
    )
    stamp_tolerance: float = parameter(
        0.5,
        "stamps further from the node's clock, to either side, are refused; 0: any stamp",
        unit="s",
        bounds=(0.0, 60.0),
        live=True,
    )
    expected_rate: float = parameter(
        0.0,
        "rate of the states, to count missed cycles; 0: the median of the last second",
        unit="Hz",
        bounds=(0.0, 10000.0),
        live=True,
    )

    start_tolerance: float = parameter(
        0.1,
        "greatest distance between measured, running and new motion where a trajectory begins",
        unit="rad or m",
        bounds=(0.0, 10.0),
        live=True,
    )
    splice_lead: float = parameter(
        0.01,
        "points due sooner than this from now are dropped with the past ones",
        unit="s",
        bounds=(0.0, 10.0),
        live=True,
    )
    stop_duration: float = parameter(
        0.5, "how long a stop takes", unit="s", bounds=(0.01, 60.0), live=True
    )
    path_tolerance: float = parameter(
        0.0,
        "a motion from which the measured position is further away than this is stopped; 0: none",
        unit="rad or m",
        bounds=(0.0, 10.0),
        live=True,
    )
    goal_tolerance: float = parameter(
        0.0,
        "a motion is over when the measured position is this near to its end; 0: at any distance",
        unit="rad or m",
        bounds=(0.0, 10.0),
        live=True,
    )
    stopped_velocity_tolerance: float = parameter(
        0.01,
        "a motion is over when, besides, the measured velocity, where there is one, is below"
        " this; 0: at any velocity",
        unit="rad/s or m/s",
        bounds=(0.0, 10.0),
        live=True,
    )
    goal_time_tolerance: float = parameter(
        0.0,
        "a motion that is not over so long after its last point has failed; 0: never",
        unit="s",
        bounds=(0.0, 600.0),
        live=True,
    )
    action_monitor_rate: float = parameter(
        20.0,
        "feedback of the action follow_joint_trajectory, which feedforward_node and"
        " flatness_controller_node serve where control_msgs is installed; 0: it is not served",
        unit="Hz",
        bounds=(0.0, 1000.0),
    )
    position_margin: float = parameter(
        0.0,
        "soft position limits lie this far inside the robot's",
        unit="rad or m",
        bounds=(0.0, 10.0),
    )
    enable_at_activation: bool = parameter(
        True, "follow trajectories at once; otherwise hold until the service ~/enable allows it"
    )
    torque_limit_scale: float = parameter(
        1.0,
        "share that is used of the smaller of the robot's effort limit and the motor's torque"
        " limit",
        bounds=(0.01, 1.0),
        live=True,
    )
    torque_rate_limits: tuple[float, ...] = parameter(
        (),
        "limits of the rates of the motor torques: one for all or one per entry of"
        " command_joints; empty: none",
        unit="N m/s or N/s",
        live=True,
    )

    wrench_link: str = parameter(
        "", "link that external_wrench acts on; '': the one that its frame_id names"
    )
    wrench_filter_time: float = parameter(
        0.0,
        "time constant of a low-pass of the wrench that also gives its rates; 0: as it is, no"
        " rates",
        unit="s",
        bounds=(0.0, 10.0),
        live=True,
    )
    wrench_timeout: float = parameter(
        0.1, "an older wrench counts as zero", unit="s", bounds=(0.001, 60.0), live=True
    )

    def check(self) -> None:
        super().check()
        rates = self.torque_rate_limits
        if len(rates) not in (0, 1, len(self.command_joints)):
            raise ParameterError(
                f"torque_rate_limits has {len(rates)} numbers;"
                f" one or one for each of the {len(self.command_joints)} command_joints are needed"
            )
        if any(rate <= 0.0 for rate in rates):
            raise ParameterError(f"torque_rate_limits must be positive, got {rates}")
        if self.update_rate and self.state_timeout * self.update_rate < 1.0:
            raise ParameterError(
                f"state_timeout ({self.state_timeout} s) is shorter than one cycle"
                f" at update_rate {self.update_rate} Hz"
            )
