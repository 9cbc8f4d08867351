# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The settings of the control cycle, declared once.

The structure `robot_parameters` of generated C, its defaults and checks, and the parameters of the
generated plugin for ros2_control are printed from this declaration.
"""

from typing import Annotated, NamedTuple

from ...core import Array, Field
from .arm_settings import ArmSettings

LONGEST_LEAD = 1.0  # s
LEADS = f"[0, {LONGEST_LEAD:g})"
MOST_RECOVERIES = 32  # that generated C can count: their times are copied in every rehearsal


def _of_arm(name: str, within: str, section: str = "") -> Field:
    """A setting that the node has, too."""
    own = ArmSettings.__dataclass_fields__[name].metadata
    unit = f"{own['unit']}, " if own["unit"] else ""
    meaning = own["description"].replace("~/enable is called", "the fault is cleared")
    return Field(unit + meaning, within=within, section=section)


class CycleSettings(NamedTuple):
    """All settings; rows are for joints (links) or motors, on the link side of the gear."""

    # fmt: off
    period: Annotated[float, Field("s, of the first cycle", within="(0, inf)")]
    follows: Annotated[int, Field(
        "0: the controller only stops the arm and holds it, whatever is appended"
    )]
    gains: Annotated[Array, Field(
        "on the errors of q, q', theta, theta'", (4, "m"), "(-inf, inf)",
        "The law: torque = feedforward(q_d..q_d'''') + gains . (x_d - x), with the measured and"
        " estimated state x = (q, q', theta, theta').",
        (("link_position", "N m/rad or N/m, of each motor on the position error of its link"),
         ("link_velocity", "N m s/rad or N s/m, of each motor on the velocity error of its link"),
         ("motor_position", "N m/rad or N/m, of each motor on its position error"),
         ("motor_velocity", "N m s/rad or N s/m, of each motor on its velocity error")),
    )]
    friction: Annotated[Array, Field(
        "share of the friction of each motor that is compensated", ("m",), "[0, 1]"
    )]
    lead: Annotated[float, Field(
        "s, by which the feedforward leads: half a cycle and the delay of the drives",
        within=LEADS,
    )]
    disturbance_bandwidth: Annotated[float, Field(
        "rad/s, of the compensation of disturbances; 0: none", within="[0, inf)",
        section="Compensation of disturbances.",
    )]
    link_disturbance_bandwidth: Annotated[float, Field(
        "rad/s, the same for the links", within="[0, inf)",
    )]
    lowered_link_bandwidth: Annotated[float, Field(
        "rad/s, the same once they have oscillated, as on a soft base, of which half or a quarter"
        " remain if they do so again; see disturbances.is_lowered",
        within="[0, inf)",
    )]
    link_disturbance_limit: Annotated[Array, Field(
        "N m or N, largest disturbance of each link that is compensated", ("n",), "[0, inf]"
    )]
    motor_disturbance_limit: Annotated[Array, Field(
        "N m or N, largest disturbance of each motor that is compensated", ("m",), "[0, inf]"
    )]
    link_disturbance_band: Annotated[Array, Field(
        "N m or N, at rest the estimate of each link is held at its mean while it is this close to"
        " it; 0: never", ("n",), "[0, inf)"
    )]
    hold_gains: Annotated[Array, Field(
        "on the errors of theta, theta'", (2, "m"), ("(0, inf)", "(-inf, inf)"), "The stop.",
        (("position", "N m/rad or N/m, of each motor in the stop"),
         ("velocity", "N m s/rad or N s/m, of each motor in the stop")),
    )]
    hold_lower: Annotated[Array, Field(
        "rad or m, lower end of the range of the link that each motor drives, kept in the stop",
        ("m",), "[-inf, hold_upper]",
    )]
    hold_upper: Annotated[Array, Field("rad or m, upper end of that range", ("m",))]
    stop_time: Annotated[float, Field(
        "s, in which the motors slow down by a factor of e in the stop", within="(0, inf)"
    )]
    stop_distance: Annotated[Array, Field(
        "rad or m, to which the stop brings each joint from its velocity limit; a stop that goes"
        " twice as far has failed", ("n",), "(0, inf]",
    )]
    late_gains: Annotated[Array, Field(
        "on the errors of theta, theta'", (2, "m"), ("(0, inf)", "(-inf, inf)"),
        "The stop with torques that are late, on smoothed and predicted motor positions.",
        (("position", "N m/rad or N/m, of each motor in that stop"),
         ("velocity", "N m s/rad or N s/m, of each motor in that stop")),
    )]
    late_time: Annotated[float, Field(
        "s, in which the motors slow down by a factor of e in that stop", within="(0, inf)"
    )]
    late_bandwidth: Annotated[float, Field("rad/s, of that filter", within="(0, inf)")]
    late_lead: Annotated[float, Field("s, delay that is expected then", within="[0, inf)")]
    late_distance: Annotated[Array, Field(
        "rad or m, to which that stop brings each joint from its velocity limit", ("n",), "(0, inf]"
    )]
    latency_tolerance: Annotated[float, _of_arm("latency_tolerance", "[0, inf]")]
    stop_speed_limit: Annotated[float, _of_arm(
        "stop_speed_limit", "[0, inf)", "When a stop has failed, and how it goes on."
    )]
    stop_timeout: Annotated[float, _of_arm("stop_timeout", "(0, inf]")]
    stops_on_links: Annotated[int, Field(
        "whether link states alone can stop the arm, if those of the motors are missing"
    )]
    link_damping: Annotated[Array, Field(
        "1/s, of each motor on the momentum of its joint in the stop without motor states", ("m",),
        "[0, inf)",
    )]
    stop_acceleration: Annotated[Array, Field(
        "rad/s^2 or m/s^2, of each joint on the path to rest", ("n",), "(0, inf]"
    )]
    filter_order: Annotated[int, Field(
        "of the filters of measured positions: 2, 3 or 4", within="[2, 4]",
        section="Filters of the measured positions, each with `filter_order` equal poles.",
    )]
    filter_bandwidth: Annotated[float, Field(
        "Hz, of the filters of measured positions", within="(0, inf)"
    )]
    settling_time: Annotated[float, Field("s, in which these filters settle", within="(0, inf]")]
    max_step: Annotated[float, Field(
        "s; after a longer gap between samples the filters start again", within="(0, inf)"
    )]
    torque_limit: Annotated[Array, Field(
        "N m or N, of each motor", ("m",), "(0, inf]",
        "Limits of the torques that are sent, and of references.",
    )]
    torque_rate_limit: Annotated[Array, Field("N m/s or N/s, of each motor", ("m",), "(0, inf]")]
    lower: Annotated[Array, Field(
        "rad or m, lower position limit of each joint for references", ("n",), "[-inf, upper]"
    )]
    upper: Annotated[Array, Field(
        "rad or m, upper position limit of each joint for references", ("n",)
    )]
    velocity: Annotated[Array, Field(
        "rad/s or m/s, velocity limit of each joint for references", ("n",), "(0, inf]"
    )]
    link_timeout: Annotated[float, Field(
        "s without valid states of the links until the arm is stopped; or without a cycle",
        within="(period, inf]", section="Watchdogs.",
    )]
    motor_timeout: Annotated[float, Field(
        "s without valid states of the motors until the arm is stopped from the links, or lost",
        within="(0, inf]",
    )]
    link_speed: Annotated[Array, Field(
        "rad/s or m/s, at which a joint may have moved for 5 ms longer than between two samples",
        ("n",), "(0, inf]",
    )]
    motor_speed: Annotated[Array, Field(
        "rad/s or m/s, the same of each motor",
        ("m",), "(0, inf]",
    )]
    link_turn: Annotated[Array, Field(
        "rad, after which the states of each joint repeat, as if it reported -pi to pi; 0: never",
        ("n",), "[0, inf)",
    )]
    motor_turn: Annotated[Array, Field(
        "rad, after which the states of each motor repeat; 0: never", ("m",), "[0, inf)"
    )]
    external_load: Annotated[Array, Field(
        "N m or N, external torque on each joint of an arm at rest that is believed at activation;"
        " while following, a spring may carry twice as much; inf for all joints: states are not"
        " judged", ("n",), "(0, inf]",
    )]
    link_resolution: Annotated[Array, Field(
        "rad or m, steps of the encoder of each link that change a torque by its limit: with steps"
        " three times as large, the arm is not activated, or stopped", ("n",), "(0, inf]",
    )]
    motor_resolution: Annotated[Array, Field(
        "rad or m, the same of the encoder of each motor", ("m",), "(0, inf]"
    )]
    frozen_distance: Annotated[float, _of_arm("frozen_distance", "[0, inf]")]
    spring_bend: Annotated[Array, Field(
        "rad or m, by which torque limits and the travel of its spring let the motors of each joint"
        " move on besides that", ("n",), "[0, inf]",
    )]
    tracking_tolerance: Annotated[float, Field(
        "rad or m, largest distance of a link from its reference; 0: any", within="[0, inf]"
    )]
    recovery_speed: Annotated[float, Field(
        "rad/s or m/s, of the motors, below which following may resume after a stop",
        within="(0, inf]",
    )]
    recovers: Annotated[int, Field(
        "whether following resumes on its own after missing states"
    )]
    recovery_limit: Annotated[int, _of_arm("recovery_limit", f"[0, {MOST_RECOVERIES}]")]
    recovery_window: Annotated[float, _of_arm("recovery_window", "(0, inf]")]
    transfer_time: Annotated[float, Field(
        "s, in which the law takes over the torque, also after activation", within="[0, inf)",
        section="Changes of the torque when a law takes over.",
    )]
    stop_transfer_time: Annotated[float, Field(
        "s, in which a stop takes over the torque, and the torque at rest if the arm is lost",
        within="[0, inf)",
    )]
