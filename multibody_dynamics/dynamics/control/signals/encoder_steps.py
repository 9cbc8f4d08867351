# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The resolution of encoders, by the steps in which their positions change.

The smallest change so far is never less than the resolution, and comes down to it, or to the noise,
as soon as the arm moves slowly. From rest, where every motion begins, the first changes already do.
"""

from typing import Annotated, NamedTuple

from ...core import Array, Field, Integers, compiled_exactly, inlined_exactly

KNOWN = 2  # changes, after which the smallest one counts as the resolution
RELAY = 3.0  # times its limit, by which a step may change a torque: less follows the steps
ROUNDING = 1e-9  # rad or m, of positions in other units and turns


class EncoderSteps(NamedTuple):
    """The steps of the encoders."""

    # fmt: off
    q: Annotated[Array, Field("rad or m, last positions of the links", ("n",))]
    theta: Annotated[Array, Field("rad or m, of the motors", ("m",))]
    link_least: Annotated[Array, Field("rad or m, smallest change of each link", ("n",))]
    motor_least: Annotated[Array, Field("rad or m, of each motor", ("m",))]
    link_values: Annotated[Integers, Field("positions of each link, up to KNOWN + 1", ("n",))]
    motor_values: Annotated[Integers, Field("of each motor", ("m",))]
    link_step: Annotated[Array, Field("rad or m, resolution of each link; 0: not known", ("n",))]
    motor_step: Annotated[Array, Field("rad or m, of each motor", ("m",))]
    # fmt: on


@inlined_exactly
def note_changes(position, last, least, values, step):
    """Note the changes of some positions."""
    for i in range(position.shape[0]):
        change = abs(position[i] - last[i])
        if values[i] == 0 and position[i] == position[i]:
            values[i] = 1
            last[i] = position[i]
        elif change > ROUNDING:
            last[i] = position[i]
            least[i] = change if values[i] == 1 else min(change, least[i])
            values[i] = min(values[i] + 1, KNOWN + 1)
            step[i] = least[i] if values[i] > KNOWN else 0.0


@inlined_exactly
def note_encoder_steps(s, q, theta):
    """Note how the positions of links and motors have changed."""
    note_changes(q, s.q, s.link_least, s.link_values, s.link_step)
    note_changes(theta, s.theta, s.motor_least, s.motor_values, s.motor_step)


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
