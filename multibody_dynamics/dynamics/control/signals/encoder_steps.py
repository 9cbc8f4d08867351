# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The resolution of encoders, by the steps in which their positions change, and positions and
velocities between the steps of coarse ones.

The smallest change so far is never less than the resolution, and comes down to it, or to the noise,
as soon as the arm moves slowly. From rest, where every motion begins, the first changes already do;
a change back counts half, as a single wrong position and the return from it are no steps.

Each change shows when the joint has passed an edge, in the middle of a step. The velocity is the
distance of the last two edges by the time between them (the fixed-position method, as opposed to
differences over a fixed time), and falls once the next edge is overdue: it has no peaks.
"""

from typing import Annotated, NamedTuple

from ...core import Array, Field, Integers, compiled_exactly, inlined_exactly

KNOWN = 2  # changes, after which the smallest one counts as the resolution
SEEN = 1 + 2 * KNOWN  # a first position, and twice the changes
RELAY = 3.0  # times its limit, by which a step may change a torque: less follows the steps
RESTLESS = 0.1  # times its limit, by which a step may change a torque: more keeps a joint moving
COARSEST = 0.1  # rad or m, with 6 bits; a greater change is no step
UNKNOWN = 1e30  # s, between edges
SHORTEST = 1e-6  # s
ROUNDING = 1e-9  # rad or m, of positions in other units and turns


class EncoderSteps(NamedTuple):
    """The steps of the encoders."""

    # fmt: off
    q: Annotated[Array, Field("rad or m, last positions of the links", ("n",))]
    theta: Annotated[Array, Field("rad or m, of the motors", ("m",))]
    link_least: Annotated[Array, Field("rad or m, smallest change of each link", ("n",))]
    motor_least: Annotated[Array, Field("rad or m, of each motor", ("m",))]
    link_values: Annotated[Integers, Field("what is known of each link, up to SEEN", ("n",))]
    motor_values: Annotated[Integers, Field("of each motor", ("m",))]
    link_step: Annotated[Array, Field("rad or m, resolution of each link; 0: not known", ("n",))]
    motor_step: Annotated[Array, Field("rad or m, of each motor", ("m",))]
    time: Annotated[Array, Field("s, of the last positions")]
    edge: Annotated[Array, Field("rad or m, where the last step of each encoder is", ("n + m",))]
    edge_time: Annotated[Array, Field("s, when it was passed", ("n + m",))]
    edge_change: Annotated[Array, Field("rad or m, change of the position there", ("n + m",))]
    edge_span: Annotated[Array, Field("s, from the edge before to this one", ("n + m",))]
    # fmt: on


class Resolutions(NamedTuple):
    """Steps of encoders that change a torque by its limit; CycleSettings has them, too."""

    link_resolution: Array
    motor_resolution: Array


@inlined_exactly
def note_changes(s, first, position, last, least, values, step):
    """Note the changes of some positions, of encoders numbered from `first` on."""
    for i in range(position.shape[0]):
        change = position[i] - last[i]
        if values[i] == 0 and position[i] == position[i]:
            values[i] = 1
            last[i] = position[i]
        elif abs(change) > ROUNDING:
            last[i] = position[i]
            if abs(change) <= COARSEST:
                least[i] = abs(change) if values[i] == 1 else min(abs(change), least[i])
                more = 1 if change * s.edge_change[first + i] < 0.0 else 2
                values[i] = min(values[i] + more, SEEN)
                step[i] = least[i] if values[i] == SEEN else 0.0
                note_edge(s, first + i, change, position[i])


@inlined_exactly
def note_edge(s, k, change, position):
    """Note the edge between two steps; how fast it was passed is known from the time since the edge
    before, unless it is the same one again, in the other direction."""
    is_next = change * s.edge_change[k] > 0.0
    s.edge_span[k] = max(s.time[0] - s.edge_time[k], SHORTEST) if is_next else UNKNOWN
    s.edge_change[k] = change
    s.edge_time[k] = s.time[0]
    s.edge[k] = position - 0.5 * change


@inlined_exactly
def interpolated_position(s, k):
    """Between edges, a position goes on as fast as over the last step, up to the next edge."""
    age = abs(s.time[0] - s.edge_time[k])  # the clock may have been set back
    return s.edge[k] + s.edge_change[k] * min(age / s.edge_span[k], 1.0)


@inlined_exactly
def interpolated_speed(s, k):
    """The velocity of the last step; if the next edge is late, it has become lower."""
    return s.edge_change[k] / max(s.edge_span[k], abs(s.time[0] - s.edge_time[k]))


@inlined_exactly
def hides_speed(step, resolution):
    """Whether filters cannot know the velocity, since they answer each step by a peak: steps above
    the resolution, or not known yet although one is needed."""
    return step > resolution or (step == 0.0 and resolution < UNKNOWN)


@inlined_exactly
def interpolate_speeds(p, s, qd, thetad):
    """Replace velocities from encoders with steps above their resolution in p: filters answer each
    step by a peak, and know nothing in between."""
    n = qd.shape[0]
    for i in range(n):
        if s.link_step[i] > p.link_resolution[i]:
            qd[i] = interpolated_speed(s, i)
    for j in range(thetad.shape[0]):
        if s.motor_step[j] > p.motor_resolution[j]:
            thetad[j] = interpolated_speed(s, n + j)


@inlined_exactly
def calm_motors(p, s, thetad):
    """Where a step changes a torque by more than RESTLESS times its limit, take the lower one of
    the filter's velocity and that between edges, rad/s or m/s (m,), in place: the answer of the
    filter to each step would keep an arm moving. A motor that turns back and forth has none."""
    for j in range(thetad.shape[0]):
        if s.motor_step[j] > RESTLESS * p.motor_resolution[j]:
            speed = interpolated_speed(s, s.q.shape[0] + j)
            if not speed * thetad[j] > 0.0:
                thetad[j] = 0.0
            elif abs(speed) < abs(thetad[j]):
                thetad[j] = speed


@inlined_exactly
def note_encoder_steps(s, now, q, theta):
    """Note how the positions of links and motors have changed, at `now` in s."""
    s.time[0] = now
    note_changes(s, 0, q, s.q, s.link_least, s.link_values, s.link_step)
    note_changes(s, q.shape[0], theta, s.theta, s.motor_least, s.motor_values, s.motor_step)


@inlined_exactly
def coarsest_encoder(link_step, motor_step, link_resolution, motor_resolution, factor):
    """The encoder whose steps exceed the resolution that it needs most, by more than `factor`:
    first those of the links are numbered, then those of the motors; -1 if there is none."""
    coarsest = -1
    for i in range(link_step.shape[0]):
        if link_step[i] > factor * link_resolution[i]:
            factor = link_step[i] / link_resolution[i]
            coarsest = i
    for j in range(motor_step.shape[0]):
        if motor_step[j] > factor * motor_resolution[j]:
            factor = motor_step[j] / motor_resolution[j]
            coarsest = link_step.shape[0] + j
    return coarsest


@inlined_exactly
def of_encoder(k, links, motors):
    """The entry of the encoder numbered k, in rows (n,) and (m,)."""
    n = links.shape[0]
    return links[k] if k < n else motors[k - n]


def coarse_encoder(joint: str, step: float, needed: float) -> str:
    """Why an encoder of a joint is too coarse, if steps that are `needed` change a torque by its
    limit."""
    return (
        f"an encoder of '{joint}' has steps of {step:.3g}, each of which changes a torque by"
        f" {step / needed:.3g} times its limit; steps of {needed:.3g} would do. Use finer encoders,"
        " or lower the bandwidths"
    )


compiled_note_encoder_steps = compiled_exactly(note_encoder_steps)
compiled_calm_motors = compiled_exactly(calm_motors)
compiled_interpolate_speeds = compiled_exactly(interpolate_speeds)
