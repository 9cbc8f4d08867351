# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""States from the topics of running nodes, over DDS."""

import time

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from browser import wait
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools.base.processes import RunError
from multibody_dynamics.tools.view.live_topics import LiveTopics, wait_for_description
from recorded_arm import ARM, MODEL, NAMES, SPRINGS

ACTUATORS = dyn.load_actuators(SPRINGS, NAMES, MODEL.joint_types)


@pytest.fixture
def nodes(ros_domain_id):
    """A node that publishes, and the viewer's."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=ros_domain_id)
    yield tuple(rclpy.create_node(name, context=context) for name in ("robot", "viewer"))
    context.shutdown()


def joint_state(names, position, effort=(), seconds=1):
    message = JointState(name=list(names), position=list(position), effort=list(effort))
    message.header.stamp.sec = seconds
    return message


def test_states_of_several_messages_are_merged_and_shown(nodes):
    robot, viewer = nodes
    source = LiveTopics(viewer, MODEL, ACTUATORS)
    reliable = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
    made = {
        name: robot.create_publisher(kind, name, reliable)
        for name, kind in (
            ("joint_states", JointState),
            ("motor_states", JointState),
            ("feedforward_node/torque_rate", JointState),
            ("flatness_controller_node/tracking_error", JointState),
            ("external_wrench", WrenchStamped),
        )
    }
    wait(lambda: all(p.get_subscription_count() for p in made.values()), "subscriptions", 10)
    assert source.state() is None
    made["joint_states"].publish(joint_state([NAMES[1], "stranger"], [0.2, 9.0], [3.0, 9.0]))
    made["joint_states"].publish(joint_state([NAMES[0]], [0.1], [-4.0]))
    made["motor_states"].publish(joint_state(NAMES, [0.15, 0.25]))
    made["feedforward_node/torque_rate"].publish(joint_state(NAMES, [], [5.0, 6.0]))
    made["flatness_controller_node/tracking_error"].publish(joint_state(NAMES, [0.01, 0.02]))
    push = WrenchStamped()
    push.header.frame_id = MODEL.body_names[1]
    push.wrench.force.y = 8.0
    made["external_wrench"].publish(push)

    def arrived():
        state = source.state()
        known = state and np.isfinite([state.error, state.torque[1]]).all()
        return state if known and state.wrenches and state.motor[0] == 0.15 else None

    state = wait(arrived, "all states", 10)
    assert state.q.tolist() == [0.1, 0.2]
    assert state.motor.tolist() == [0.15, 0.25]
    assert state.torque[:2].tolist() == [[-4.0, 3.0], [5.0, 6.0]]
    assert state.error.tolist() == [0.01, 0.02]
    ((link, wrench),) = state.wrenches
    assert (link, wrench.tolist()) == (MODEL.body_names[1], [0, 0, 0, 0, 8.0, 0])
    made["joint_states"].publish(joint_state(NAMES, [0.3, 0.4], [1.0, 1.0], seconds=2))
    wait(lambda: source.state().q[0] == 0.3, "the next state", 10)
    assert source.curves().t.tolist() == [1.0, 2.0]
    wait(lambda: not source.state().wrenches, "the end of the wrench", 10)


def test_it_asks_no_publisher_to_wait(nodes):
    robot, viewer = nodes
    LiveTopics(viewer, MODEL, ACTUATORS)
    robot.create_publisher(JointState, "joint_states", 10)
    found = wait(lambda: robot.get_subscriptions_info_by_topic("/joint_states"), "discovery", 10)
    assert {each.qos_profile.reliability for each in found} == {ReliabilityPolicy.BEST_EFFORT}


def test_the_robot_comes_from_its_topic(nodes):
    robot, viewer = nodes
    with pytest.raises(RunError, match=r"no robot on /robot_description for 0.1 s; --urdf"):
        wait_for_description(viewer, 0.1)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    robot.create_publisher(String, "robot_description", latched).publish(
        String(data=ARM.read_text())
    )
    begin = time.monotonic()
    assert wait_for_description(viewer, 10.0) == ARM.read_text()
    assert time.monotonic() - begin < 10.0
