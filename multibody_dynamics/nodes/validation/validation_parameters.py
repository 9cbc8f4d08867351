"""The parameters of the validation node."""

from __future__ import annotations

from dataclasses import dataclass

from ...dynamics.model import STANDARD_GRAVITY
from ..base.parameters import ParameterError, parameter
from ..base.robot import RobotParameters


@dataclass(frozen=True)
class ValidationParameters(RobotParameters):
    """See the descriptions; docs/validation_node.md has them as a table."""

    gravity: tuple[float, ...] = parameter(
        STANDARD_GRAVITY, "acceleration of gravity: x, y, z in the base frame", unit="m/s^2"
    )
    data_file: str = parameter(
        "",
        "YAML file of friction, rotor inertias, payloads and inertias, as of `validate --data`,"
        " found like robot_file; '': none",
    )
    elastic_joints_file: str = parameter(
        "", "YAML file of springs and motors, found like robot_file; for efforts of motors"
    )
    effort: str = parameter(
        "joint",
        "on which side of the springs the efforts are measured",
        choices=("joint", "motor"),
    )
    prefix: str = parameter(
        "", "what the joint names in joint_states have before those of the robot"
    )
    held_joints: tuple[str, ...] = parameter(
        (), "joints of the robot that joint_states does not have, such as the fingers of a hand"
    )
    held_positions: tuple[float, ...] = parameter(
        (), "where the held_joints stand, in their order", unit="rad or m"
    )

    from_positions: bool = parameter(
        False, "leave measured velocities aside; else they are used if the first state has them"
    )
    cutoff: float = parameter(
        10.0,
        "cut-off of the zero-phase filter; at most a fifth of the rate of the states. The delay"
        " of the outputs is 3.6 of its periods",
        unit="Hz",
        bounds=(0.05, 1000.0),
    )
    compared_rate: float = parameter(
        0.0,
        "outputs per second, next to a whole fraction of the rate of the states; 0: eight times the"
        " cut-off",
        unit="Hz",
        bounds=(0.0, 10000.0),
    )

    window: float = parameter(
        1.0,
        "the running rms is that of the last so many seconds",
        unit="s",
        bounds=(1.0, 3600.0),
        live=True,
    )
    max_rms_share: float = parameter(
        0.1,
        "warn where the running rms is more than this share of the robot's effort limit; 0: never",
        bounds=(0.0, 10.0),
        live=True,
    )
    max_nrms: float = parameter(
        0.0,
        "warn where the normalised error since the first state is more than this; 0: never",
        bounds=(0.0, 1000.0),
        live=True,
    )

    output: str = parameter(
        "validation",
        "folder of the recordings and their reports, one recording_N each; '': none are made",
    )
    silence: float = parameter(
        5.0,
        "without a state for this long, a recording is over and its report is written",
        unit="s",
        bounds=(0.1, 3600.0),
        live=True,
    )
    longest_recording: float = parameter(
        3600.0,
        "a longer recording is ended, too, and the next one begins",
        unit="s",
        bounds=(1.0, 86400.0),
        live=True,
    )

    def check(self) -> None:
        super().check()
        if len(self.gravity) != 3:
            raise ParameterError(f"gravity has {len(self.gravity)} numbers; x, y, z are needed")
        if len(self.held_joints) != len(self.held_positions):
            raise ParameterError(
                f"held_positions has {len(self.held_positions)} numbers for"
                f" {len(self.held_joints)} held_joints"
            )
        if len(set(self.held_joints)) < len(self.held_joints):
            raise ParameterError(f"held_joints names a joint twice: {self.held_joints}")
        if self.effort == "motor" and not self.elastic_joints_file:
            raise ParameterError("effort 'motor' needs elastic_joints_file")
