# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inputs that cannot be those of the robot, over the middleware: states in the wrong place, a robot
with wrong numbers, wrenches that no joint can hold, and a second controller."""

import time

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

import flatness_arm
from feedforward_arm import ROBOT, Arm, settings
from flatness_arm import NODE
from multibody_dynamics.nodes.base.messages import set_stamp
from ros_harness import RELIABLE, ros

__all__ = ["ros"]  # the fixture
COMMANDS = "feedforward_node/commands"


class Exchanged(flatness_arm.Arm):
    """An arm whose topics have been exchanged by a remapping, until `is_right`."""

    is_right = False

    def send_links(self, stamp=None) -> None:
        r = self.plant
        rows = (r.q if self.is_right else r.theta, r.qd, r.joint_torque)
        self.send(self.links, self.model.joint_names, rows, stamp)

    def send_motors(self, stamp=None) -> None:
        r = self.plant
        rows = (r.theta if self.is_right else r.q, r.thetad, r.motor_torque)
        self.send(self.motors, self.actuators.motor_names, rows, stamp)


def test_exchanged_topics_are_named_and_nothing_is_sent_until_they_are_right(ros):
    arm = Exchanged(ros, wrench_tolerance=0.0)
    arm.is_stuck = True  # on its brakes

    def states() -> None:
        arm.tick()
        arm.send_links()
        arm.send_motors()

    what = "joint_states and motor_states are exchanged"
    ros.until(lambda: what in arm.node.output, "the refusal", each=states)
    assert "implausible states: the spring of 'shoulder' carries" in arm.node.output
    assert "load_tolerance" in arm.node.output
    ros.until(lambda: what in ros.diagnosis(": cycle")[1], "the status", each=states)
    assert ros.diagnosis(": cycle")[0] == 2
    assert not arm.answers
    enable = SetBool.Request(data=True)
    before = arm.node.output.count(what)
    assert ros.call(SetBool, f"{NODE}/enable", enable).success
    ros.until(lambda: arm.node.output.count(what) > before, "another refusal", each=states)
    assert not arm.answers
    arm.is_right = True
    for _ in range(100):
        states()
        ros.spin(0.001)
    assert not arm.answers  # only ~/enable ends the fault
    assert ros.call(SetBool, f"{NODE}/enable", enable).success
    arm.start()
    held = np.array(arm.answers[0].effort)
    np.testing.assert_allclose(held, arm.plant.motor_torque, atol=0.02 * np.abs(held).max())


@pytest.mark.parametrize(("force", "tolerance"), [(3000.0, 1.0), (1e5, 0.0)])
def test_no_motor_position_leaves_limits_and_springs_under_an_impossible_wrench(
    ros, tmp_path, force, tolerance
):
    """More than the joints can hold is rejected; if all is accepted, 100 kN published 92 rad."""
    node = ros.start("feedforward_node", settings(tmp_path, wrench_tolerance=tolerance))
    arm = Arm(ros)
    arm.drive(lambda: arm.torque, "a torque")
    sensor = ros.publisher(WrenchStamped, "external_wrench")
    held = np.array(arm.motor[-1].points[0].positions)
    message = WrenchStamped()
    message.header.frame_id = "forearm"
    message.wrench.force.z = force

    def push() -> None:
        set_stamp(message.header.stamp, time.time_ns())
        sensor.publish(message)
        arm.send()

    begin = len(arm.motor)
    ros.until(lambda: len(arm.motor) > begin + 100, "torques", each=push)
    positions = np.array([each.points[0].positions for each in arm.motor[begin:]])
    if tolerance:
        assert "rejected external_wrench" in node.output
        np.testing.assert_allclose(positions, np.tile(held, (len(positions), 1)), atol=1e-9)
    else:
        assert np.abs(positions - held).max() > 0.1
    reach = 2.5 + 400.0 / 600.0  # rad: limits, and the softer spring under the effort limit
    assert np.abs(positions).max() <= reach


def test_the_nodes_say_what_inspect_calls_wrong(ros, tmp_path):
    wrong = ROBOT.replace('velocity="6"', 'velocity="0"', 1).replace('ixx="0.05"', 'ixx="5e4"')
    wrong = wrong.replace('iyy="0.06"', 'iyy="6e4"').replace('izz="0.04"', 'izz="4e4"')
    node = ros.start("feedforward_node", settings(tmp_path, robot_description=wrong))
    arm = Arm(ros)
    arm.drive(lambda: arm.torque, "a torque")
    assert "WRONG in the robot: turret has the velocity limit 0: it cannot move" in node.output
    assert "WRONG in the robot: column: radius of gyration of" in node.output


def test_other_controllers_of_the_robot_are_noticed_while_the_node_runs(ros, tmp_path):
    node = ros.start("feedforward_node", settings(tmp_path))
    arm = Arm(ros)
    arm.drive(lambda: arm.torque, "a torque")

    def status() -> tuple[int, str]:
        return ros.diagnosis(": commands")[:2]

    arm.drive(lambda: status() == (0, "no other controller"), "the status")

    second = ros.peer.create_publisher(Float64MultiArray, COMMANDS, RELIABLE)
    text = f"2 publishers of /test/{COMMANDS} (/test/feedforward_node, /test/peer)"
    arm.drive(lambda: status()[0] == 2 and text in status()[1], "the second publisher")
    assert f"{text}: a robot must have one controller; stop the others" in node.output
    ros.peer.destroy_publisher(second)
    arm.drive(lambda: status()[0] == 0, "its end")

    # the robot (the peer, which listens to the commands) also hears those of another controller
    other = ros.peer.create_publisher(Float64MultiArray, "flatness_controller_node/commands", 10)
    arm.drive_for(1.5)
    assert status()[0] == 0  # to which nobody listens yet
    ros.record(Float64MultiArray, "flatness_controller_node/commands")
    text = f"/test/peer listens to /test/{COMMANDS} and /test/flatness_controller_node/commands"
    arm.drive(lambda: text in status()[1], "the other controller")
    ros.peer.destroy_publisher(other)
    arm.drive(lambda: status()[0] == 0, "its end")
