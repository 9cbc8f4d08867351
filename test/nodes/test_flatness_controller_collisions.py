# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Contacts in the flatness controller node over the real middleware."""

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from flatness_arm import NODE, STEP, TWO_LINKS, Arm
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import KINDS, TERMS, CollisionThresholds
from multibody_dynamics.nodes.base.messages import set_stamp
from ros_harness import RosHarness, ros

__all__ = ["ros"]  # the fixture

HAND = 1  # body


def thresholds(folder, **settings):
    """A file with thresholds of 2 N m and of 5 % of the dynamics."""
    names = ("shoulder", "elbow")
    rows = np.zeros((len(KINDS), len(TERMS), len(names)))
    rows[:, 0], rows[:, 1:3] = 2.0, 0.05
    path = folder / "thresholds.yaml"
    made = dyn.control.DetectionSettings(**settings)
    path.write_text(CollisionThresholds(names, rows, made).to_yaml())
    return path


def push(arm: Arm, force: float) -> None:
    """A vertical force on the tip, from this step on."""
    at = dyn.forward_kinematics(arm.model, arm.plant.q).pose[HAND, :3, 3]
    tip = at + 0.2 * (at / np.linalg.norm(at))
    f = np.array([0.0, 0.0, force])
    arm.plant.applied_wrenches[HAND] = (*np.cross(tip, f), *f) if force else 0.0


def hit(arm: Arm, force: float = 60.0) -> float:
    """Hit the arm for 20 ms, and wait for 0.1 s; returns the largest joint torque of the hit."""
    push(arm, force)
    load = arm.plant.applied_wrenches[HAND].copy()
    J = dyn.jacobian(arm.model, arm.plant.q, HAND, representation="spatial")
    arm.run(0.02)
    push(arm, 0.0)
    arm.run(0.1)
    torque = float(np.abs(J.T @ load).max())
    assert torque > 10.0
    return torque


def react(ros: RosHarness, arm: Arm, reaction: str) -> None:
    """Choose a reaction, with the last contact cleared."""
    assert ros.call(SetBool, f"{NODE}/enable", SetBool.Request(data=True)).success
    assert ros.set_parameters(arm.node, collision_reaction=reaction)[0].successful
    arm.run(0.3)


def test_a_hit_is_found_and_answered_by_the_chosen_reaction(ros, tmp_path):
    arm = Arm(
        ros, collision_thresholds=str(thresholds(tmp_path)), collision_reaction="report",
        base_frequency=0.0,
    )  # fmt: skip
    contacts = ros.record(JointState, f"{NODE}/collision")
    external = ros.record(JointState, f"{NODE}/external_torque")
    arm.start()
    arm.move([0.0, 0.0], 0.8)
    arm.run(0.9)
    assert not contacts
    assert "contact" not in arm.node.output
    assert "law 'joint_impedance'" in arm.node.output  # judged before it is chosen

    # Report: the motion goes on.
    arm.move([0.2, -0.2], 0.8)
    arm.run(0.3)
    begin = len(external)
    torque = hit(arm)
    ros.until(lambda: "contact: hit of" in arm.node.output, "the report", each=arm.step)
    assert len(contacts) == 1
    found = np.array([each.effort for each in external[begin:]])
    assert 0.3 * torque < np.abs(found).max() < 1.2 * torque
    arm.run(0.5)
    np.testing.assert_allclose(arm.plant.q, [0.2, -0.2], atol=0.02)

    # Stop: a latched fault; the arm comes to rest where it is.
    react(ros, arm, "stop")
    arm.move([-0.4, 0.4], 0.8)
    arm.run(0.3)
    hit(arm)
    ros.until(lambda: "collision: hit of" in arm.node.output, "the fault", each=arm.step)
    arm.run(0.8)
    assert np.abs(arm.plant.qd).max() < 0.02
    assert np.abs(arm.plant.q - [-0.4, 0.4]).min() > 0.05
    arm.until_shown(lambda: ros.diagnosis(": law")[1] == "hold", "the law")
    assert len(contacts) == 2
    assert np.abs(contacts[-1].effort).max() > 2.0

    # Retract: back along the force, then at rest.
    react(ros, arm, "retract")
    before = arm.plant.q.copy()
    J = dyn.jacobian(arm.model, before, HAND, representation="spatial")
    push(arm, 60.0)
    along = J.T @ arm.plant.applied_wrenches[HAND]
    hit(arm)
    arm.run(0.7)
    moved = arm.plant.q - before
    assert along @ moved > 0.0
    assert 0.02 < np.abs(moved).max() < 0.08  # retract_distance is 0.05
    assert np.abs(arm.plant.qd).max() < 0.02

    # Impedance: the arm yields to a steady push, and returns.
    react(ros, arm, "impedance")
    before = arm.plant.q.copy()
    hit(arm)
    arm.until_shown(lambda: ros.diagnosis(": law")[1] == "impedance", "the law")
    push(arm, 10.0)
    arm.run(1.0)
    yielded = np.abs(arm.plant.q - before).max()
    push(arm, 0.0)
    arm.run(1.5)
    assert np.abs(arm.plant.q - before).max() < 0.4 * yielded

    # Gravity compensation: it yields, and stays where it was pushed.
    react(ros, arm, "gravity_compensation")
    before = arm.plant.q.copy()
    hit(arm, -60.0)
    push(arm, -10.0)
    arm.run(0.5)
    push(arm, 0.0)
    arm.run(0.8)
    floated = np.abs(arm.plant.q - before).max()
    assert floated > 0.2
    arm.run(0.3)
    assert np.abs(arm.plant.q - before).max() > 0.9 * floated
    assert "stop failed" not in arm.node.output

    # It follows again.
    react(ros, arm, "off")
    hit(arm)
    arm.move([0.0, 0.0], 1.0)
    arm.run(1.4)
    np.testing.assert_allclose(arm.plant.q, 0.0, atol=2e-3)
    assert "Traceback" not in arm.node.output


def test_an_announced_wrench_is_no_contact(ros, tmp_path):
    """A force of 40 N that comes and goes while external_wrench reports it; then the same again,
    without a message."""
    arm = Arm(ros, collision_thresholds=str(thresholds(tmp_path)), collision_reaction="report")
    wrenches = ros.publisher(WrenchStamped, "external_wrench")
    contacts = ros.record(JointState, f"{NODE}/collision")
    arm.start()
    arm.run(0.5)

    def press(is_announced: bool) -> float:
        """Returns the largest joint torque of the force."""
        largest = 0.0
        for share in np.sin(np.linspace(0.0, np.pi, 200)) ** 2:
            push(arm, 40.0 * share)
            load = arm.plant.applied_wrenches[HAND].copy()
            pose = dyn.forward_kinematics(arm.model, arm.plant.q).pose[HAND]
            J = dyn.jacobian(arm.model, arm.plant.q, HAND, representation="spatial")
            largest = max(largest, float(np.abs(J.T @ load).max()))
            if is_announced:
                wrenches.publish(measured(arm, pose, load))
            arm.step()
        push(arm, 0.0)
        return largest

    assert press(is_announced=True) > 10.0  # N m, five times the threshold
    arm.run(0.3)
    assert not contacts
    assert "contact" not in arm.node.output
    press(is_announced=False)
    ros.until(lambda: len(contacts) == 1, "the contact", each=arm.step)
    assert "Traceback" not in arm.node.output


def measured(arm: Arm, pose: np.ndarray, load: np.ndarray) -> WrenchStamped:
    """The wrench that a sensor in the frame of the hand reports at the next state."""
    message = WrenchStamped()
    set_stamp(message.header.stamp, arm.now + STEP)
    message.header.frame_id = arm.model.body_names[HAND]
    rotation, origin = pose[:3, :3], pose[:3, 3]
    moment = rotation.T @ (load[:3] - np.cross(origin, load[3:]))
    for vector, row in ((message.wrench.force, rotation.T @ load[3:]),
                        (message.wrench.torque, moment)):  # fmt: skip
        vector.x, vector.y, vector.z = map(float, row)
    return message


def test_a_file_that_does_not_fit_is_refused(ros, tmp_path):
    path = thresholds(tmp_path, filter_order=4)
    node = ros.start(NODE, {**TWO_LINKS, "collision_thresholds": str(path)})
    refusal = "learned with filter_order 4, but the node has 3"
    ros.until(lambda: refusal in node.output, "the refusal", patience=60.0)
