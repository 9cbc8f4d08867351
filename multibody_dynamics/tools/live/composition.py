# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Run several nodes in one process, on one executor.

    multibody_dynamics compose feedforward_node trajectory_node --ros-args --params-file ROBOT.yaml

Remappings and parameters apply to all nodes; `-r __ns:=/left` puts them into a namespace.
"""

import signal
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ...dynamics.core import InputError

NODES = sorted(file.stem for file in (Path(__file__).parents[2] / "nodes").glob("*_node.py"))


def node_class(name: str) -> Any:
    """The class of a node, by the name of its executable. Raises InputError for other names."""
    from ...nodes.base.runtime import ManagedNode

    if name not in NODES:
        raise InputError(f"unknown node '{name}'; choose from {', '.join(NODES)}")
    module = import_module(f"multibody_dynamics.nodes.{name}")
    for value in vars(module).values():
        own = isinstance(value, type) and value.__module__ == module.__name__
        if own and issubclass(value, ManagedNode):
            return value
    raise InputError(f"'{name}' cannot be composed")


def compose(names: Sequence[str], arguments: Sequence[str], executor_kind: str = "events") -> int:
    """Run the nodes until a signal or a failure; return 1 if one fails or cannot be activated.

    They are configured and activated in the order of `names`, and shut down in reverse order.
    """
    import rclpy

    from ...nodes.base.leave_flag import LeaveFlag
    from ...nodes.base.nonblocking_output import never_block
    from ...nodes.base.runtime import create, initialise, make_executor, spin

    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"duplicate node name '{name}': nodes of a second robot need a separate process"
            )
    classes = [node_class(name) for name in names]
    leave = LeaveFlag()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave.on_signal)
    never_block()
    initialise(["compose", *arguments])
    executor = make_executor(executor_kind)
    nodes: list[Any] = []
    try:
        for kind in classes:
            nodes.append(create(kind))
            nodes[-1].leave = leave
            executor.add_node(nodes[-1])
        if not all([node.start() or node.is_waiting for node in nodes]):
            return 1
        spin(executor, leave, nodes[0].get_logger())
        return int(any(node.has_failed for node in nodes))
    finally:
        for node in reversed(nodes):
            if rclpy.ok():
                node.close()
            executor.remove_node(node)
            node.destroy_node()
        executor.shutdown()
        rclpy.try_shutdown()
