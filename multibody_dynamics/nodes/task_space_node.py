# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Torque feedforward for tool motions: receives a pose, a path or a trajectory of the end effector,
and publishes joint torques with their first two rates, and motor commands, like feedforward_node.

A path is planned completely before the robot moves, in another process. A path with an
unreachable pose, a joint limit or a singularity is rejected, with the reason and the place. The
feedforward law, its cycle and its outputs are those of feedforward_node. docs/task_space_node.md
describes topics, parameters and behaviour.
"""

import sys
from collections.abc import Iterator

import numpy as np
from geometry_msgs.msg import Point, Quaternion
from trajectory_msgs.msg import JointTrajectory

from ..dynamics.motion import distance_to_limits
from ..dynamics.tasks import Damping, RedundancyResolution, Task
from .base.diagnostics import ERROR, OK, WARN, Status
from .base.messages import trajectory_message
from .base.parameters import ParameterError
from .base.pose_messages import pose_matrix
from .base.qos import RELIABLE
from .base.robot_source import RobotSource
from .base.runtime import ManagedNode
from .feedforward_node import FeedforwardCycle
from .following.controlled_robot import controlled_robot
from .following.feedforward_setup import FeedforwardSetup
from .task_space.path_planning import PathPlanner
from .task_space.planning_process import PlannerSetup, PlanningProcess
from .task_space.task_space_parameters import TaskSpaceParameters
from .task_space.tool_input import ToolInput
from .task_space.tool_motion import ToolMotion


class TaskSpaceNode(ManagedNode[TaskSpaceParameters]):
    """A node that follows tool motions with the torque feedforward."""

    def __init__(self) -> None:
        super().__init__("task_space_node", TaskSpaceParameters)
        self._source = RobotSource(self)

    def configure(self) -> None:
        p = self.parameters
        robot = controlled_robot(self._source.load(), p)
        model = robot.model
        if not p.tool:
            raise ParameterError("tool is empty; name the link that follows the paths")
        if p.tool not in model.frames or model.frames[p.tool].body < 0:
            moving = [name for name, frame in model.frames.items() if frame.body >= 0]
            raise ParameterError(
                f"tool: '{p.tool}' is not a moving link; the robot has {', '.join(moving)}"
            )
        task = tool_task(p)
        if task.size > model.n:
            raise ParameterError(
                f"components '{p.components}': {task.size} components exceed the robot's {model.n}"
                " joints; choose fewer, such as components: position, or components: 'x z'"
            )
        # The process plans paths and converts large trajectories; the planner in this node converts
        # the others and follows the planned paths.
        planning = PlannerSetup(model, task, resolution_of(p), robot.soft_limits)
        self._planner = PathPlanner(*planning)
        self._process = PlanningProcess(planning, self.defer)
        self.configuration.callback(self._process.close)
        self._display = self.create_lifecycle_publisher(
            JointTrajectory, "joint_trajectory", RELIABLE
        )
        self.configuration.callback(self.destroy_lifecycle_publisher, self._display)
        self._setup = FeedforwardSetup(self, robot)

    def activate(self) -> None:
        robot = self._setup.robot
        self._motion = ToolMotion(robot.model.joint_names, robot.soft_limits)
        self._shown = 0  # the version of the motion that was published last
        self._cycle = cycle = FeedforwardCycle(
            self, self._setup, self._motion, after_cycle=self._show
        )
        self._tool = ToolInput(
            self,
            cycle.inputs,
            cycle.supervisor,
            cycle.followed,
            self._setup.law.desired,
            self._planner,
            self._process,
        )
        cycle.diagnostics.add(self._statuses)

    def reconfigure(self, values: TaskSpaceParameters) -> None:
        self._setup.reconfigure(values)
        if not self.activation.is_over:
            self._cycle.limits.set(values)

    def _show(self) -> None:
        """Publish the joint motion if it has changed, and report why it could not continue."""
        motion = self._motion
        if motion.version == self._shown:
            return
        self._shown = motion.version
        if motion.fault:
            self.get_logger().error(f"stopping: {motion.fault}")
            self._cycle.supervisor.events.add("stopped on the way", motion.fault)
            motion.fault = ""
        period = self.parameters.trajectory_period
        coming = motion.upcoming(period) if period else None
        if coming is not None:
            self._display.publish(trajectory_message(motion.joint_names, *coming))

    def _statuses(self) -> Iterator[Status]:
        q, planner, motion = self._setup.law.desired[0], self._planner, self._motion
        if not motion.is_active:
            return
        measures = planner.manipulability(q)
        smallest = float(measures.smallest_singular_value)
        values: dict[str, object] = {
            "tool": self.parameters.tool,
            "manipulability": float(measures.yoshikawa),
            "smallest singular value": smallest,
            "condition number": float(measures.condition_number),
        }
        if planner.resolution.damping is not None:
            values["directions lost, damping"] = planner.lost_directions
        wanted = motion.wanted_pose
        if wanted is not None:
            off = planner.errors(wanted, q)
            values["induced error [m]"], values["induced error [rad]"] = map(float, off)
        distance = distance_to_limits(motion.limits, q)
        k = int(distance.argmin())
        values["nearest to its limit"] = motion.joint_names[k]
        values["distance [rad or m]"] = float(distance[k])
        planning = self._tool.planning
        text = f"planning {planning[-1]}" if planning else motion.mode
        level = OK
        if smallest < self.parameters.singularity_margin:
            level, text = WARN, f"{text}, near a singularity"
        if distance[k] < 0.0:
            level, text = ERROR, f"{text}, outside the joint limits"
        yield Status("task", level, text, values)


def tool_task(p: TaskSpaceParameters) -> Task:
    """The task of the tool. Raises InputError for invalid components or an invalid offset."""
    offset = None
    if p.tool_offset:
        x, y, z, *quaternion = p.tool_offset
        rotation = Quaternion(**dict(zip("xyzw", quaternion, strict=True)))
        offset = pose_matrix(Point(x=x, y=y, z=z), rotation, "tool_offset")
    axes = None if p.task_axes == "default" else p.task_axes
    return Task(p.tool, p.components, offset, axes)


def resolution_of(p: TaskSpaceParameters) -> RedundancyResolution:
    """Secondary motions and damping; only damping needs feedback, against drift."""
    return RedundancyResolution(
        weights=np.array(p.joint_weights) if p.joint_weights else None,
        posture=np.array(p.posture) if p.posture else None,
        posture_gain=p.posture_gain,
        limit_margin=p.limit_margin,
        limit_speed=p.limit_speed,
        damping=Damping(p.damping) if p.damping else None,
        feedback=p.feedback if p.damping else 0.0,
        length=p.length,
    )


main = TaskSpaceNode.main


if __name__ == "__main__":
    sys.exit(main())
