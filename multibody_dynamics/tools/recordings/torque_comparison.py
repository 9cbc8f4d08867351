# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Comparison of recorded torques with the model: `multibody_dynamics validate`."""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from ...dynamics.core import InputError
from ...reporting.page import write_json
from ...reporting.progress import ProgressBar
from ...validation.comparison import Validation, validate
from ...validation.fleet import Outcome, pooled_residuals, validate_all
from ...validation.identify import KINDS, identify
from ...validation.output_bag import OutputBag
from ...validation.report import summary, write_fleet, write_report
from ...validation.settings import Robot, Settings
from ..base.arguments import call, selection_of


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings from the options. Raises InputError for invalid ones."""
    for kind in options.identify:
        if kind not in KINDS:
            raise InputError(f"--identify {kind}: must be one or more of {', '.join(KINDS)}")
    gravity = (0.0, 0.0, -options.gravity)
    return call(Settings, options, gravity=gravity, **vars(selection_of(options)))


def compare(options: argparse.Namespace) -> int:
    """Run `multibody_dynamics validate`.

    Returns the exit status: 1 if errors are too large or a recording is incomplete or unreadable.
    """
    settings = settings_of(options)
    robot = settings.robot()  # report its errors once, before reading any recording
    if settings.payload_body is not None:
        robot.model.body_index(settings.payload_body)
    several = len(options.recordings) > 1
    if several and (options.bag or options.live):
        raise InputError("--bag and --live support only one recording at a time")
    outcomes = _compared(options, settings, robot)
    problems = _write_reports(options, settings, robot, outcomes)
    if options.live:
        problems += _live(options, settings)
    for problem in problems:
        print(f"multibody_dynamics: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _write_reports(
    options: argparse.Namespace, settings: Settings, robot: Robot, outcomes: Sequence[Outcome]
) -> list[str]:
    """Write and print a report for each recording and for all together; return the problems."""
    recordings: list[Path] = options.recordings
    several = len(recordings) > 1
    folders = _folders(options.output, recordings) if several else [options.output]
    rows, problems = [], []
    for path, folder, outcome in zip(recordings, folders, outcomes, strict=True):
        if isinstance(outcome, str):
            rows.append((str(path), "-", "-", "-", "-", "-"))
            problems.append(outcome)
            continue
        page, identified = _report(outcome, robot, settings, folder, problems)
        rms = " ".join(f"{x:.3g}" for x in outcome.residuals[0].rms)
        link = page.relative_to(options.output).as_posix()
        count, before = str(outcome.residuals[0].count), f"{outcome.worst:.4g}"
        after = "-" if identified is None else f"{identified:.4g}"
        rows.append((str(path), count, before, after, rms, link))
        worst = outcome.worst if identified is None else identified
        if options.max_nrms is not None and not worst <= options.max_nrms:
            problems.append(
                f"{path}: normalised error {worst:.4g}, larger than --max-nrms {options.max_nrms:g}"
            )
    if several:
        names, totals = pooled_residuals(outcomes)
        write_fleet(names, totals, rows, problems, options.output)
        print(f"all recordings: {options.output / 'index.html'}")
    return problems


def _compared(options: argparse.Namespace, settings: Settings, robot: Robot) -> list[Outcome]:
    """Compare each recording; the outcomes are in the order of the recordings."""
    if len(options.recordings) > 1:
        return validate_all(
            options.recordings,
            settings,
            processes=options.processes,
            dask=options.dask,
            progress=ProgressBar("recordings"),
        )
    path, bar = options.recordings[0], ProgressBar("messages")
    if not options.bag:
        return [validate(path, settings, robot=robot, progress=bar)]
    used = [i for i, name in enumerate(robot.model.joint_names) if name not in settings.held]
    names = tuple(robot.model.joint_names[i] for i in used)
    count = 1 if settings.effort == "motor" else 3
    with OutputBag(options.output / "bag", names, np.array(used), count) as listener:
        return [validate(path, settings, robot=robot, progress=bar, listener=listener)]


def _report(
    outcome: Validation, robot: Robot, settings: Settings, folder: Path, problems: list[str]
) -> tuple[Path, float | None]:
    """Identify, write and print; return the page, and the largest normalised error with the
    identified parameters, if any."""
    identification = None
    if settings.identify:
        try:
            identification = identify(outcome, robot, settings)
        except InputError as error:
            text = f"{outcome.recording}: not identified: {error}"
            outcome = replace(outcome, problems=(*outcome.problems, text))
    page = write_report(outcome, folder, identification)
    print("\n".join(summary(outcome, identification, page)))
    problems += outcome.problems
    return page, None if identification is None else float(identification.after.normalized.max())


def _live(options: argparse.Namespace, settings: Settings) -> list[str]:
    """Replay through the node, write and print the result, and return the problems."""
    from .live_check import live_check

    path, bar = options.recordings[0], ProgressBar("states")
    check = live_check(path, settings, options.output, rate=options.live_rate, progress=bar)
    write_json(asdict(check), options.output / "live.json")
    worst = max(check.difference.values())
    print(
        f"  live: {check.answered} of {check.sent} states answered, {check.lost} messages lost, "
        f"{check.real_time_factor:.3g} times real time; the library's results differ by {worst:.1g}"
        f" of the largest value; latency median {1e3 * check.latency['p50']:.3g} ms, "
        f"99 % {1e3 * check.latency['p99']:.3g} ms; bag: {check.bag}"
    )
    return check.problems


def _folders(output: Path, paths: Sequence[Path]) -> list[Path]:
    """A folder for each recording."""
    names: dict[str, None] = {}
    for path in paths:
        whole = Path(os.path.abspath(path))  # has a name even for . and ..
        first = name = whole.name if whole.is_dir() else whole.stem
        count = 1
        while name in names:
            count += 1
            name = f"{first}_{count}"
        names[name] = None
    return [output / name for name in names]
