# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Bandwidths of compensation and gains: accuracy, noise and stability.

    python -m studies.bandwidths [--robot six_joint_arm] [--draws 4]

The first table is for motor PD with the full flat map, at equal noise: faster observers compensate
a wrong model and a payload better, but the loop is stable at fewer poses if the model is wrong. In
the second one, laws have several bandwidths, and their own noise, which is relative to that of the
default law. Both are tables of docs/control_study.md.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from multibody_dynamics.dynamics.core import in_order, worker_processes
from multibody_dynamics.reporting.progress import ProgressBar
from multibody_dynamics.tools.base.arguments import whole
from multibody_dynamics.tools.study.conditions import CONDITIONS
from multibody_dynamics.tools.study.equal_noise import at_equal_noise, noise, reference_noise
from multibody_dynamics.tools.study.single_run import simulate
from multibody_dynamics.tools.study.studied_laws import WHOLE_ARM, StudiedLaw, linear
from multibody_dynamics.tools.study.studied_robots import built_in_robots, load_arm
from multibody_dynamics.tools.study.study_plan import POSES, judge
from multibody_dynamics.tools.study.study_tables import cell_of, figure

COMPENSATION = (0.0, 30.0, 60.0, 90.0, 120.0, 180.0, 240.0)  # rad/s
GAINS = {
    "motor PD": ("motor_pd", {}, (40.0, 60.0, 80.0, 120.0)),
    "state feedback": ("state_feedback", {}, (20.0, 30.0, 40.0)),
    "whole arm": ("state_feedback", WHOLE_ARM, (20.0, 25.0, 30.0, 40.0, 50.0, 60.0)),
}
SHOWN = ("exact", "all-10", "all-30", "delay-3-unknown", "payload", "payload-observer", "hit",
         "hit-observer")  # fmt: skip
JUDGED = 0.1, 0.3  # relative errors of the model


class Job(NamedTuple):
    """A row of a table. has_equal_noise : whether the law gets the noise of the reference."""

    robot: str
    title: str
    law: str
    settings: dict[str, object]
    number: float
    has_equal_noise: bool
    draws: int
    poses: int


def jobs(robot: str, draws: int, poses: int) -> tuple[list[Job], list[Job]]:
    """The rows of both tables."""
    compensation = [
        Job(robot, f"{w:g}", "motor_pd", {"disturbance_bandwidth": w}, 0.0, True, draws, poses)
        for w in COMPENSATION
    ]
    gains = [
        Job(robot, f"{title}, {w:g}", law, own, w, False, draws, poses)
        for title, (law, own, bandwidths) in GAINS.items()
        for w in bandwidths
    ]
    return compensation, gains


def cells(job: Job) -> list[str]:
    """The cells of a row: relative noise, errors in mrad, and shares of unstable poses."""
    arm = load_arm(built_in_robots()[job.robot])
    law = linear(job.title, job.title, job.law, **job.settings)
    wanted = reference_noise(arm)
    law = law.at(at_equal_noise(arm, law, wanted).number if job.has_equal_noise else job.number)
    return [figure(noise(arm, law) / wanted), *errors(job, law), *shares(job, law)]


def errors(job: Job, law: StudiedLaw) -> Iterator[str]:
    arm = load_arm(built_in_robots()[job.robot])
    for condition in map(CONDITIONS.__getitem__, SHOWN):
        draws = range(job.draws if condition.is_random else 1)
        yield str(cell_of([simulate(arm, law, condition, draw=draw) for draw in draws]))


def shares(job: Job, law: StudiedLaw) -> Iterator[str]:
    arm = load_arm(built_in_robots()[job.robot])
    for error in JUDGED:
        unstable, _ = judge(arm, law, error, job.poses)
        yield f"{100.0 * unstable:.0f} %" if unstable < inf else "-"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--robot", choices=built_in_robots(), default="panda", help="%(default)s")
    parser.add_argument("--draws", type=whole(1, 1000), default=4,
                        help="random models of each row (%(default)s)")  # fmt: skip
    parser.add_argument("--workers", type=whole(1, 1024), default=os.cpu_count() or 1,
                        help="processes (one per core)")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="two rows, one model and ten poses")
    options = parser.parse_args(arguments)
    poses = 10 if options.quick else POSES
    tables = jobs(options.robot, 1 if options.quick else options.draws, poses)
    heads = ("noise", *(CONDITIONS[key].title for key in SHOWN),
             *(f"unstable poses, {100 * error:g} % off" for error in JUDGED))  # fmt: skip
    with worker_processes(options.workers) as executor:
        for first, rows in zip(("compensation, rad/s", "law, rad/s"), tables, strict=True):
            rows = rows[4:5] if options.quick else rows
            print("\n| " + " | ".join((first, *heads)) + " |\n|" + "---|" * (1 + len(heads)))
            for job, found in zip(
                rows, in_order(executor, cells, rows, ProgressBar(first)), strict=True
            ):
                print("| " + " | ".join((job.title, *found)) + " |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
