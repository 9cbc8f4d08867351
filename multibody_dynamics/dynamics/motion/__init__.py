# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Desired joint motions over time, continuous to the fourth derivative, and their limits.

References:

Reference            a joint motion q(t) with its derivatives through the fourth, (5, n)
Trajectory           a reference of polynomials of degree 9 between knots
interpolate          minimum-jerk trajectory through given points
splice               trajectory from the state of a running reference through new points
stop                 trajectory from the state of a running reference to rest
hold                 trajectory at rest
SHAPES               what `interpolate` may do between points of positions only
sum_of_sines         periodic exciting motion for identification, from rest to rest
brake                path to rest, found in bounded time: the stop of a generated controller
StreamedMotion       reference that follows a stream of targets while they arrive
StreamLimits         what a streamed motion may do
compile_streams      compiles what a stream needs, before a control cycle follows one
chain_rule           (5, 5) matrix from derivatives along s to time derivatives, for a time law s(t)
match_joints         indices (n,) that reorder joints by name
REST                 speed below which a point is at rest, rad/s or m/s

Turns of continuous joints:

joint_turns          (n,) rad after which the pose of a joint repeats; 0: never
in_nearest_turn      positions moved by whole turns to those nearest others

Limits:

JointCommandLimits   limits of torque, torque rate and motor speed of the drives, each (n,)
LimitEvent           record of a joint exceeding a limit: the quantity, its value and the limit
check_reference      position and velocity limits that a reference exceeds anywhere
distance_to_limits   distance (n,) to the nearer position limit, negative outside

Code in other languages:

braking              tables and constants of `brake` and of `Trajectory`
segments             a motion in a queue of fixed size, as functions over a record
streams              a motion from a stream of targets, as functions over records
limit_torque         the torques that limits permit, a function over arrays
unwrap               `in_nearest_turn` in place, a function over arrays
TORQUE_LIMITED       flag of `limit_torque`: a torque was limited
RATE_LIMITED         flag of `limit_torque`: the rate of a torque was limited

Demo motions:

exciting_motion      demo motion: a sum of sines within the limits of a robot
rest_to_rest_motion  demo motion: through waypoints within the limits of a robot
MOTIONS              names of the demo motions
approach_time        duration in s of a motion from rest to rest over given distances
approached           points of a motion, after an approach of its first one
MOST_POINTS          largest number of points of a trajectory
sampled              a motion as points at equal intervals
Points               points of a motion, as in trajectory_msgs/JointTrajectory
reproduction_error   largest error of a motion interpolated from its points, (5,)
DERIVATIVES          q and its four derivatives as column titles
"""

from . import braking, segments, streams
from .braking import brake
from .demo_motions import (
    DERIVATIVES,
    MOST_POINTS,
    MOTIONS,
    Points,
    approach_time,
    approached,
    exciting_motion,
    reproduction_error,
    rest_to_rest_motion,
    sampled,
)
from .limits import (
    RATE_LIMITED,
    TORQUE_LIMITED,
    JointCommandLimits,
    LimitEvent,
    check_reference,
    distance_to_limits,
    limit_torque,
)
from .streamed_motion import StreamedMotion, compile_streams
from .streams import StreamLimits
from .trajectories import (
    REST,
    SHAPES,
    Reference,
    Trajectory,
    chain_rule,
    hold,
    interpolate,
    match_joints,
    splice,
    stop,
    sum_of_sines,
)
from .turns import in_nearest_turn, joint_turns, unwrap

__all__ = [
    # references
    "Reference", "Trajectory", "interpolate", "splice", "stop", "hold", "sum_of_sines",
    "brake", "chain_rule", "match_joints", "REST", "SHAPES",
    "StreamedMotion", "StreamLimits", "compile_streams",
    # code in other languages
    "braking", "segments", "streams", "limit_torque", "unwrap", "TORQUE_LIMITED", "RATE_LIMITED",
    # turns of continuous joints
    "joint_turns", "in_nearest_turn",
    # limits
    "JointCommandLimits", "LimitEvent", "check_reference", "distance_to_limits",
    # demo motions
    "exciting_motion", "rest_to_rest_motion", "MOTIONS", "approach_time", "approached",
    "MOST_POINTS", "sampled", "Points", "reproduction_error", "DERIVATIVES",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
