# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `send-pose`."""

import argparse

from ..base.arguments import call, domain, finite, namespace, positive

HELP = "Send a pose to task_space_node, and report whether the tool will move there"
DETAILS = (
    "The pose is relative to a link of the robot, where this link is when the node receives it; in"
    " the frame of the tool, a pose without rotation keeps the orientation. Exit status 1 if the"
    " node rejects the pose or does not answer."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    # fmt: off
    for name in "xyz":
        add(name, metavar=name.upper(), type=finite,
            help=f"{name}, m")
    add("--frame", metavar="LINK", required=True, help="link to which the pose is relative")
    add("--rpy", metavar=("ROLL", "PITCH", "YAW"), type=finite, nargs=3, default=(0.0, 0.0, 0.0),
        help="rotations about the fixed x, y and z axes, as in a URDF, rad (0 0 0)")
    add("--namespace", type=namespace, default="", help="namespace of the node")
    add("--timeout", metavar="S", type=positive, default=10.0,
        help="how long to wait for the node and for its answer, s (%(default)s)")
    # fmt: on
    add("--domain-id", metavar="N", type=domain, help="ROS domain (ROS_DOMAIN_ID, else 0)")


def run(options: argparse.Namespace) -> int:
    from ..live.pose_sending import send_pose

    print(call(send_pose, options, position=(options.x, options.y, options.z)))
    return 0
