# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `stream`."""

import argparse
from pathlib import Path

from ..base.arguments import add_gravity, add_plant, add_view, names, positive, whole

KINDS = ("policy", "pilot")
HELP = "Replay the targets of a recorded policy or pilot against a simulated robot"
DETAILS = (
    "The targets are a table with a header (.csv): t, when they are due, 'q JOINT' for every"
    " joint and, if known, arrival of their message, in s and rad (m); an episode of LeRobot"
    " (.parquet, requires pyarrow); a bag (.mcap, .db3 or a folder) with JointState or"
    " JointTrajectory messages; or a generated stream: policy or pilot. Writes a report with delay,"
    " smoothness, utilisation of the limits and errors. See docs/streams.md."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    add("file", metavar="FILE",
        help=f".csv or .parquet file, a bag, or {KINDS[0]}"
        f" or {KINDS[1]}: a stream that is generated like one")
    add("--topic", default="",
        help="topic of a bag (the one named joint_targets or joint_trajectory)")
    add("--episode", metavar="N", type=whole(0, 10**9),
        help="of a .parquet file with several (the only one)")
    add("--joints", metavar="NAME,...", type=names, default=(),
        help="joints of the actions in a .parquet file, in their order (those of"
        " meta/info.json)")
    add("--urdf", metavar="ROBOT", type=Path, help="URDF file (the Panda)")
    add("--elastic-joints", "--springs", metavar="YAML", type=Path,
        help="springs and motors (those of the Panda)")
    add_plant(parser)
    add("--torque-rate", metavar="RATE", type=positive, default=1000.0,
        help="limit of the rates of the motor torques, N m/s (%(default)s)")
    add("--unstamped", action="store_true",
        help="let times count from the arrival of each message, as if it had no stamp")
    add("--save", metavar="CSV", type=Path, help="also write the targets to a file")
    add_gravity(parser)
    add_view(parser, "write a page that plays the motion of the robot, motion.html")
    add("-o", "--output", metavar="FOLDER", type=Path, default=Path("stream"),
        help="folder for report.html (%(default)s)")
    # fmt: on


def run(options: argparse.Namespace) -> int:
    import numpy as np

    from ...dynamics import load_actuators
    from ...dynamics.mechanisms import load_robot
    from ...reporting.progress import ProgressBar
    from ...resources import share_directory
    from ..streams.replay import LONGEST_PAUSE, replay, viewed, write_report
    from ..streams.stream_files import pilot_stream, policy_stream, read_stream, write_stream
    from ..view.viewing import require_viser

    if options.view:
        require_viser()
    config = share_directory() / "config"
    urdf = options.urdf or config / "robots" / "panda.urdf"
    springs = options.elastic_joints or config / "elastic_joints" / "panda.yaml"
    model = load_robot(urdf, springs, (0.0, 0.0, -options.gravity))
    actuators = load_actuators(springs, model.joint_names, model.joint_types)
    if options.file in KINDS:
        lower, upper = np.maximum(model.limits.lower, -3.0), np.minimum(model.limits.upper, 3.0)
        middle = 0.5 * (lower + upper)
        make = policy_stream if options.file == KINDS[0] else pilot_stream
        stream = make(model.joint_names, middle)
    else:
        stream = read_stream(
            Path(options.file), options.topic, episode=options.episode, joints=options.joints
        )
    if options.save:
        write_stream(stream, options.save)
    stream = stream.with_pauses(LONGEST_PAUSE)
    with_progress = ProgressBar("of the stream")
    played = replay(
        model, actuators, stream, plant=options.plant, torque_rate=options.torque_rate,
        is_stamped=not options.unstamped, on_progress=with_progress,
    )  # fmt: skip
    with_progress(1.0)
    file = write_report(played, stream, f"Stream {Path(options.file).name}", options.output)
    rate = float((played.torque_rate / played.motors.torque_rate).max())
    print(
        f"links against the smoothed target: {1e3 * played.error_rms:.3g} mrad rms; delay"
        f" {1e3 * float(played.delay.max()):.1f} ms; torque rates up to {rate:.0%} of their limit;"
        f" {len(played.stops)} stops"
    )
    print(f"written: {file}")
    if options.view:
        from ..view.viewer_page import write_motion

        motion = viewed(played, model, actuators, Path(options.file).name)
        print(f"motion: {write_motion(urdf, model, motion, options.output / 'motion.html')}")
    return 0 if not played.stops else 1
