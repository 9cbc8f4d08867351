# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Names of the nodes, and files with their parameters, read without ROS."""

from pathlib import Path
from typing import Any

from ...dynamics.core import InputError, read_yaml

SIMULATOR, FEEDFORWARD, TRAJECTORY = NODES = (
    "elastic_robot_simulator_node",
    "feedforward_node",
    "trajectory_node",
)
CONTROLLER = "flatness_controller_node"
PARAMETERS = "parameters.yaml"  # of all nodes of a run, beside its recordings


def read_parameters(file: Path) -> dict[str, dict[str, Any]]:
    """Parameters by node, from a file such as config/demo.yaml. Raises InputError."""
    data = read_yaml(file)
    try:
        return {key.removeprefix("/**/"): dict(data[key]["ros__parameters"]) for key in data}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(
            f"{file}: expected the parameters of nodes, as in config/demo.yaml: a mapping from"
            " names of nodes to ros__parameters"
        ) from None
