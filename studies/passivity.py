# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Passivity in simulated contacts: the energy that each law creates, on both plants.

    python -m studies.passivity [--plant mujoco] [--contacts 10000]

The Panda with the springs of the demo, without motor friction, which would hide energy that a law
creates, is held by each law that claims to be passive, at random poses, and touched at random: see
`sampled_contacts`. The second table repeats this with conditions for which nothing is claimed:
longer cycles, late torques, filtered velocities, and stiffer impedances. The tables in
docs/impedance.md are the output of this program.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from multibody_dynamics.dynamics.control import Controller, JointImpedance
from multibody_dynamics.dynamics.core import Array, DynamicsError, in_order, worker_processes
from multibody_dynamics.dynamics.elastic import Actuators, Motor, SeriesElastic
from multibody_dynamics.dynamics.model import MultibodyModel
from multibody_dynamics.dynamics.plant import ElasticRobot, Plant
from multibody_dynamics.reporting.progress import ProgressBar
from multibody_dynamics.simulation import PLANTS
from multibody_dynamics.tools.base.arguments import whole
from multibody_dynamics.tools.study.studied_robots import StudiedArm, built_in_robots, load_arm
from studies.passivity_claims import PASSIVITY_CLAIMS
from studies.sampled_contacts import BOUT, SampledContacts, sampled_contacts

REACH = 0.5  # share of the joint ranges, about their middle, from which poses are drawn
PART = 500  # contacts with one seed, in one process
FEW = 400  # contacts, of conditions without a claim
FILTER = 3, 100.0  # order and Hz of the filter of the velocities, as in the node


class Arm(NamedTuple):
    """A robot without friction of its motors, on a plant."""

    model: MultibodyModel
    actuators: Actuators
    plant: Plant
    position: Array


@dataclass(frozen=True)
class Condition:
    """How a law is run: `claim` is a key of PASSIVITY_CLAIMS; `share` of the stiffness of the
    springs, for joint_impedance; `options` of `sampled_contacts`."""

    title: str
    claim: str
    period: float = 1e-3
    share: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


def claimed() -> Iterator[Condition]:
    """A row for each claim. Claims that are not made for the sampled loop are tested with pulses
    only, whose torques are continuous."""
    for name, claim in PASSIVITY_CLAIMS.items():
        options = {"restiffens": claim.restiffens} | ({} if claim.sampled else {"walls": 0.0})
        yield Condition(name, name, options=options)


def unclaimed() -> Iterator[Condition]:
    """Rows beyond the claims."""
    filtered = {"velocity_filter": FILTER}
    for name in ("motor_pd", "hold", "state_feedback, modal", "joint_impedance",
                 "cartesian_impedance"):  # fmt: skip
        yield Condition(f"{name}, cycles of 2 ms", name, period=2e-3)
        yield Condition(f"{name}, torques 1 ms late", name, options={"delay": 1})
        yield Condition(f"{name}, velocities filtered at 100 Hz", name, options=filtered)
    for share in (0.4, 0.5, 0.6):
        yield Condition(f"joint_impedance, {share:g} K", "joint_impedance", share=share)
    yield Condition("joint_impedance, stiffness changes within 20 ms", "joint_impedance, changing",
                    settings={"stiffness_time": 0.02}, options={"restiffens": True})  # fmt: skip
    for name in ("esp", "esp_impedance"):
        yield Condition(f"{name}, walls", name, options={"walls": 1.0})
        yield Condition(f"{name}, contacts observed", name, settings={"contact_bandwidth": 120.0})
    for h in (0.5e-3, 0.25e-3):
        for name in ("esp", "torque_source"):
            yield Condition(f"{name}, cycles of {1e3 * h:g} ms", name, period=h,
                            options={"walls": 0.0})  # fmt: skip


def frictionless(arm: StudiedArm, plant: str) -> Arm:
    """The arm with the same springs and rotors, but without friction of the motors."""
    model, actuators = arm.model, arm.actuators
    bare = Actuators(
        model.joint_names,
        tuple(
            SeriesElastic(Motor(each.motors[0].inertia), each.springs[0])
            for each in actuators.actuators
        ),
    )
    if plant == "mujoco":
        from multibody_dynamics.simulation.mujoco_robot import MujocoRobot

        robot: Plant = MujocoRobot(model, bare, arm.source.urdf.read_bytes())
    else:
        robot = ElasticRobot(model, bare)
    return Arm(model, bare, robot, arm.start)


def random_poses(arm: Arm, count: int, seed: Sequence[int]) -> Array:
    """(count, n) within REACH of the joint ranges."""
    limits, rng = arm.model.limits, np.random.default_rng(seed)
    middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
    return np.asarray(middle + REACH * half * rng.uniform(-1.0, 1.0, (count, arm.model.n)))


def designed(arm: Arm, condition: Condition) -> Controller:
    """The law of a condition."""
    claim, settings = PASSIVITY_CLAIMS[condition.claim], dict(condition.settings)
    if condition.share is not None:
        quarter = JointImpedance(arm.model, arm.actuators, arm.position).target
        settings["link_stiffness"] = 4.0 * condition.share * quarter
    return claim.controller(
        arm.model, arm.actuators, arm.position, period=condition.period, **settings
    )


@lru_cache(maxsize=2)
def studied_arm(plant: str) -> Arm:
    """The Panda without friction of its motors, created once in each process."""
    return frictionless(load_arm(built_in_robots()["panda"]), plant)


class Part(NamedTuple):
    """Some of the contacts of a condition, with random numbers of their own."""

    plant: str
    condition: Condition
    contacts: int
    seed: tuple[int, ...]


def run(
    plant: str,
    condition: Condition,
    contacts: int,
    seed: int = 0,
    executor: Executor | None = None,
) -> SampledContacts:
    """The contacts of one condition, in parts that do not depend on the number of processes."""
    sizes = [min(PART, contacts - first) for first in range(0, contacts, PART)]
    jobs = [Part(plant, condition, size, (seed, k)) for k, size in enumerate(sizes)]
    parts = in_order(executor, run_part, jobs, ProgressBar(f"parts of {condition.title}"))
    return SampledContacts(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def run_part(part: Part) -> SampledContacts:
    """The same seed gives the same poses and contacts to every law."""
    arm = studied_arm(part.plant)
    law = designed(arm, part.condition)
    poses = random_poses(arm, max(1, ceil(part.contacts / BOUT)), [*part.seed, 1])
    options = dict(part.condition.options)
    return sampled_contacts(law, arm.plant, poses, part.contacts, seed=[*part.seed, 0], **options)


HEAD = (
    "law", "contacts", "mean work [J]", "largest rise [J]", "share of the mean work",
    "contacts with a rise", "error of the measurement [J]",
)  # fmt: skip


def row(condition: Condition, contacts: int, found: SampledContacts | None) -> str:
    """A row of the tables; None for an arm that diverges."""
    cells = [condition.title, str(contacts), "diverges", "", "", "", ""]
    if found is not None:
        largest, error = float(found.created.max()), float(found.error.max())
        cells[2:] = [
            f"{found.supplied.mean():.2g}",
            f"{largest:.1e}",
            f"{found.share:.1e}",
            str(found.rises()),
            f"{error:.0e}",
        ]
    return "| " + " | ".join(cells) + " |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; returns the exit status: 1 if a claim for the sampled loop fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plant", choices=PLANTS, default="internal", help="%(default)s")
    parser.add_argument("--contacts", metavar="N", type=whole(0, 10_000_000), default=1000,
                        help="for each law that claims to be passive when sampled"
                        " (%(default)s)")  # fmt: skip
    parser.add_argument("--few", metavar="N", type=whole(0, 10_000_000), default=FEW,
                        help="for each other condition (%(default)s)")  # fmt: skip
    parser.add_argument("--seed", metavar="N", type=whole(0, 2**32 - 1), default=0,
                        help="%(default)s")  # fmt: skip
    parser.add_argument("--workers", metavar="N", type=whole(1, 1024),
                        default=os.cpu_count() or 1, help="processes (one per core)")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="8 contacts for each condition")
    options = parser.parse_args(arguments)
    if options.quick:
        options.contacts = options.few = 8
    fails = False
    with worker_processes(options.workers) as executor:
        for title, conditions in (("Claims", claimed()), ("Beyond the claims", unclaimed())):
            print(f"\n{title}, {options.plant}\n\n| " + " | ".join(HEAD) + " |")
            print("|" + "---|" * len(HEAD), flush=True)
            for each in conditions:
                is_sampled = title == "Claims" and PASSIVITY_CLAIMS[each.claim].sampled
                count = options.contacts if is_sampled else options.few
                if not count:
                    continue
                found = _found(options.plant, each, count, options.seed, executor)
                print(row(each, count, found), flush=True)
                fails |= is_sampled and (found is None or found.rises() > 0)
    return int(fails)


def _found(
    plant: str, condition: Condition, contacts: int, seed: int, executor: Executor | None
) -> SampledContacts | None:
    """The contacts of a condition; None if the arm diverges."""
    try:
        return run(plant, condition, contacts, seed, executor)
    except DynamicsError as error:
        print(f"{condition.title}: {error}", file=sys.stderr)
        return None


if __name__ == "__main__":
    sys.exit(main())
