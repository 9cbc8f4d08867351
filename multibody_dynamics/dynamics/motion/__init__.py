"""Desired motions over time, and the limits within which they are driven.

Reference           A joint motion q(t) with its derivatives through the fourth, all continuous.
Trajectory          Polynomials of degree 9 between knots
hold                Rest at q (n,), at all times; `time` is its start_time and end_time.
interpolate         The motion of least jerk through the given points
splice              From the state of `running` at time t through new points
stop                From the state of `running` at time t to rest, wherever that is
sum_of_sines        The exciting motion of dynamic identification (C. Gaz et al., RA-L 2019
chain_rule          (5, 5) matrix from d^k q/ds^k to d^k q/dt^k, k = 0..4, given s, s', s''
REST                speed below which a point is at rest, rad/s or m/s
match_joints        Indices p (n,) that put `given` into the order of `wanted`
JointCommandLimits  What the drives may be asked for, each (n,) and positive
LimitEvent          A joint wanted more of a quantity than its limit allows.
check_reference     What `check_motion` finds anywhere on a reference
distance_to_limits  Distance (n,) to the nearer position limit, negative outside
DERIVATIVES  q and its four derivatives, as they are called in tables
MOTIONS  the kinds of demo motions
Points  A motion as a JointTrajectory carries it
approach_time  Duration of a move from rest to rest over a distance
exciting_motion  A sum of sines that begins and ends at rest
reproduction_error  How far the interpolation of sampled points is from the motion
rest_to_rest_motion  A motion through random waypoints from rest to rest
sampled  A motion as points of equal distance in time
"""

from .demo_motions import (
    DERIVATIVES,
    MOTIONS,
    Points,
    approach_time,
    exciting_motion,
    reproduction_error,
    rest_to_rest_motion,
    sampled,
)
from .limits import JointCommandLimits, LimitEvent, check_reference, distance_to_limits
from .trajectories import (
    REST,
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

__all__ = [
    "Reference", "Trajectory", "hold", "interpolate", "splice", "stop", "sum_of_sines",
    "chain_rule", "REST", "match_joints", "JointCommandLimits", "LimitEvent", "check_reference",
    "distance_to_limits",
    "DERIVATIVES",
    "MOTIONS",
    "Points",
    "approach_time",
    "exciting_motion",
    "reproduction_error",
    "rest_to_rest_motion",
    "sampled",
]  # fmt: skip
