# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""An arm on a base that moves: simulated, measured, and known to the controller or not."""

import numpy as np
from geometry_msgs.msg import Quaternion, Transform, Vector3
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.nodes.base.messages import SECOND, nanoseconds, set_stamp
from multibody_dynamics.nodes.base.pose_messages import read_imu, read_pose
from multibody_dynamics.resources import share_directory
from ros_harness import ros

__all__ = ["ros"]  # the fixture

ARM = {
    "robot_file": "config/robots/planar_two_link.urdf",
    "elastic_joints_file": "config/elastic_joints/planar_two_link.yaml",
    "command_joints": ["shoulder", "elbow"],
    "autostart": True,
}
MODEL = dyn.load_urdf(share_directory() / str(ARM["robot_file"]))
SIMULATED = {
    "base_motion": "trajectory", "command_interface": "stamped_motor_torque", "update_rate": 500.0,
    "publish_clock": True, "lockstep": True,
}  # fmt: skip
CONTROLLED = {"use_sim_time": True, "judged_poses": 1}
TORQUES = ("-r", "motor_torque_stamped:=flatness_controller_node/motor_torque")
KINDS = {"fixed": 1.0, "odometry": 0.5, "imu": 0.05, "trajectory": 0.05}  # share of the error


def there_and_back(start: int) -> MultiDOFJointTrajectory:
    """A base that turns and shifts within 0.8 s, and returns."""
    message = MultiDOFJointTrajectory(joint_names=[MODEL.base_name])
    set_stamp(message.header.stamp, start)
    there = Transform(
        translation=Vector3(x=0.1, y=0.05, z=-0.08),
        rotation=Quaternion(x=0.06, y=0.1, z=0.08, w=float(np.sqrt(0.98))),
    )
    home = Transform(rotation=Quaternion(w=1.0))
    for tenths, transform in ((0, home), (8, there), (16, home)):
        point = MultiDOFJointTrajectoryPoint(transforms=[transform])
        point.time_from_start.nanosec, point.time_from_start.sec = (
            tenths % 10 * SECOND // 10, tenths // 10
        )  # fmt: skip
        message.points.append(point)
    return message


def run(ros, kind, plant="internal"):
    """The deviation of the links from where they are held, peak in rad, and what sensors say."""
    simulated = ARM | SIMULATED | {"plant": plant}
    simulator = ros.start("elastic_robot_simulator_node", simulated, *TORQUES)
    node = ros.start("flatness_controller_node", ARM | CONTROLLED | {"base_motion": kind})
    topics = {"joint_states": JointState, "base_odometry": Odometry, "base_imu": Imu}
    states, odometry, imu = (ros.record(each, topic) for topic, each in topics.items())
    planned = ros.publisher(MultiDOFJointTrajectory, "base_trajectory", 1 + (kind == "trajectory"))
    torques = ros.record(JointState, "flatness_controller_node/motor_torque")
    ros.until(lambda: len(torques) > 200, "torques", patience=240.0)
    start = nanoseconds(states[-1].header.stamp) + SECOND  # however late the message
    planned.publish(there_and_back(start))
    end = start + 2 * SECOND
    ros.until(lambda: nanoseconds(states[-1].header.stamp) > end, "the motion", patience=120.0)
    q = np.array([s.position for s in states if start <= nanoseconds(s.header.stamp) <= end])
    assert "fault" not in node.output.lower()
    for each in (node, simulator):
        ros.leave(each)
    return np.abs(q - q[0]).max(), odometry, imu


def test_a_controller_that_knows_the_base_holds_the_arm(ros):
    peaks = {}
    for kind, share in KINDS.items():
        peaks[kind], odometry, imu = run(ros, kind)
        assert peaks[kind] <= share * peaks["fixed"], peaks
    assert peaks["fixed"] > 1e-4
    sensors_agree(odometry, imu)
    in_mujoco, *measured = run(ros, "trajectory", "mujoco")
    assert in_mujoco <= 0.05 * peaks["fixed"]
    sensors_agree(*measured)


def sensors_agree(odometry, imu):
    """Velocities and specific forces are the differences of the poses."""
    stamps = np.array([nanoseconds(each.header.stamp) for each in odometry])
    assert [nanoseconds(each.header.stamp) for each in imu] == stamps.tolist()
    assert {each.header.frame_id for each in imu} == {MODEL.base_name}
    assert {each.child_frame_id for each in odometry} == {MODEL.base_name}
    poses = np.array([read_pose(each.pose.pose) for each in odometry])
    moving = [k for k in range(1, len(poses) - 1) if np.abs(poses[k + 1] - poses[k - 1]).any()]
    assert len(moving) > 500
    for k in moving[20:-20:7]:
        R, h = poses[k, :3, :3], 1e-9 * (stamps[k + 1] - stamps[k])
        assert stamps[k] - stamps[k - 1] == stamps[k + 1] - stamps[k]
        before, here, after = poses[k - 1 : k + 2, :3, 3]
        turn = dyn.se3.log(dyn.se3.inverse(poses[k - 1]) @ poses[k + 1])[:3]
        omega, force = read_imu(imu[k])
        twist = odometry[k].twist.twist
        v = [getattr(twist.linear, axis) for axis in "xyz"]
        assert np.abs([getattr(twist.angular, axis) for axis in "xyz"] - omega).max() == 0.0
        np.testing.assert_allclose(omega, turn / (2 * h), atol=1e-3)
        np.testing.assert_allclose(v, R.T @ (after - before) / (2 * h), atol=1e-3)
        acceleration = (after - 2.0 * here + before) / h**2
        np.testing.assert_allclose(force, R.T @ (acceleration - MODEL.gravity), atol=1e-3)


def test_a_base_that_cannot_move_is_refused(ros):
    node = ros.start("elastic_robot_simulator_node", ARM | SIMULATED | {"base_motion": "odometry"})
    ros.until(lambda: node.exit_code is not None, "the refusal")
    assert "base_motion" in node.output
