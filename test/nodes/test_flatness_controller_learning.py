# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Learning of a repeated trajectory by the flatness controller node, over the real middleware."""

from pathlib import Path

import numpy as np
from trajectory_msgs.msg import JointTrajectory

from flatness_arm import NODE, TWO_LINKS, Arm, trajectory
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.resources import share_directory
from ros_harness import RosHarness, ros

__all__ = ["ros"]  # the fixture

SPRINGS = share_directory() / "config" / "elastic_joints" / "planar_two_link.yaml"


def mistaken_arm(ros: RosHarness, folder: Path, **parameters: object) -> Arm:
    """An arm whose node believes in other springs and motors, each a tenth off."""
    text = SPRINGS.read_text()
    for right, wrong in (("500.0", "550.0"), ("250.0", "225.0"), ("0.4,", "0.36,")):
        assert right in text
        text = text.replace(right, wrong)
    springs = folder / "wrong.yaml"
    springs.write_text(text)
    arm = Arm(
        ros,
        springs=springs,
        law="state_feedback",
        disturbance_bandwidth=0.0,
        records=["errors"],
        **parameters,
    )
    actuators = dyn.load_actuators(SPRINGS, arm.model.joint_names)
    arm.plant = ElasticRobot(arm.model, actuators, step=1e-3)
    arm.plant.reset(np.full(2, -0.4))
    arm.start()
    return arm


def drive(arm: Arm, middle: float = -0.1) -> float:
    """Follow the trajectory once, and hold; the rms error on the way."""
    points = {0.5: (0.0, middle), 1.0: (-0.4, -0.4)}
    begin = len(arm.answers)
    arm.trajectory.publish(trajectory(arm.model.joint_names, points))
    arm.run(1.4)
    count = len(arm.answers) - begin
    arm.ros.until(lambda: len(arm.errors) >= begin + count, "the errors")
    rows = np.array([message.position for message in arm.errors[begin : begin + count]])
    return float(np.sqrt((rows**2).mean()))


def learned(ros: RosHarness, arm: Arm, runs: int) -> None:
    """Wait for the evaluation of this many runs."""
    text = f"learning: run {runs}:"
    arm.until_shown(lambda: text in arm.node.output, text)


def test_repetition_brings_the_error_down_and_the_file_outlives_the_node(ros, tmp_path):
    file = tmp_path / "up_and_down.npz"
    arm = mistaken_arm(ros, tmp_path, learning_file=str(file))
    arm.move([-0.4, -0.4], 0.3)  # the approach: not learned, because `learn` is not set yet
    arm.run(0.4)
    assert ros.set_parameters(arm.node, learn=True)[0].successful
    errors = []
    for run in range(1, 4):
        errors.append(drive(arm))
        learned(ros, arm, run)
    assert errors[-1] < 0.1 * errors[0], errors
    assert file.exists()
    status = arm.until_shown(lambda: ros.diagnosis(": learning")[2], "the status")
    assert int(status["runs"]) >= 1

    # Another trajectory is followed without correction, and the file is left alone.
    content = file.read_bytes()
    drive(arm, middle=-0.2)
    ros.until(lambda: "for another trajectory" in arm.node.output, "the reason", each=arm.step)
    assert file.read_bytes() == content

    # A run that is interrupted is not learned from; nothing jumps.
    arm.run(0.1)
    begin = len(arm.answers)
    points = {0.5: (0.0, -0.1), 1.0: (-0.4, -0.4)}
    arm.trajectory.publish(trajectory(arm.model.joint_names, points))
    arm.run(0.3)
    arm.trajectory.publish(JointTrajectory(joint_names=list(arm.model.joint_names)))
    arm.run(0.9)
    ros.until(lambda: "was not completed" in arm.node.output, "the reason", each=arm.step)
    torques = np.array([message.effort for message in arm.answers[begin:]])
    assert np.abs(np.diff(torques, axis=0)).max() < 8.0
    assert file.read_bytes() == content
    assert ros.leave(arm.node) == 0
    assert "Traceback" not in arm.node.output

    again = mistaken_arm(ros, tmp_path, learning_file=str(file))
    again.move([-0.4, -0.4], 0.3)
    again.run(0.4)
    drive(again)  # the correction fades in on the way
    assert drive(again) < 0.2 * errors[0]
    assert file.read_bytes() == content


def test_files_that_do_not_fit_keep_the_node_from_starting(ros, tmp_path):
    (tmp_path / "bad.npz").write_text("nothing")
    for file, reason in (
        (tmp_path / "bad.npz", "cannot read a learned correction"),
        (tmp_path / "missing" / "x.npz", f"folder {tmp_path / 'missing'} does not exist"),
    ):
        node = ros.start(NODE, TWO_LINKS | {"autostart": False, "learning_file": str(file)})
        assert not ros.transition(node, "configure")
        assert f"learning_file: {reason}" in node.output
        assert ros.leave(node) == 0
