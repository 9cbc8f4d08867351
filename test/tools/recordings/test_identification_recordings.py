# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tables are read by joint name, at evenly spaced times, and gaps are kept."""

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin

from bag_files import messages_of, write_bag
from drive_runs import elastic_run, planar
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.recordings.identification_recordings import read_run
from multibody_dynamics.validation.recordings import JointSelection

MODEL = planar()[0]
LEFT = JointSelection(prefix="left_")
NAMES = [f"left_{joint}" for joint in MODEL.joint_names]


def table(t, **arrays):
    return {"t": t, "joint_names": np.array(NAMES[::-1]), **arrays}


def waves(t):
    return np.stack([np.cos(3.0 * t), np.sin(2.0 * t)], axis=1)  # elbow, shoulder


def test_joints_are_matched_by_name_and_times_made_even(tmp_path):
    rng = np.random.default_rng(0)
    t = 0.01 * np.arange(400) + 0.001 * rng.random(400)
    file = tmp_path / "a.npz"
    np.savez(file, **table(t, q=waves(t), current=2.0 * waves(t)))
    run = read_run(file, MODEL, LEFT, elastic=False)
    even = t[0] + np.arange(len(run.q)) / run.rate
    assert np.abs(run.q - waves(even)[:, ::-1]).max() < 1e-4
    assert np.allclose(run.current, 2.0 * run.q)
    assert run.sensor is None
    assert run.name == "a"


def test_gaps_begin_new_stretches(tmp_path):
    t = np.concatenate([0.01 * np.arange(100), 2.0 + 0.01 * np.arange(50)])
    np.savez(tmp_path / "a.npz", **table(t, q=waves(t), tau=waves(t)))
    run = read_run(tmp_path / "a.npz", MODEL, LEFT, elastic=False)
    assert run.stretches == [slice(0, 100), slice(100, 150)]


def test_joined_recordings_are_separate_stretches_and_single_wrong_samples_are_not(tmp_path):
    t = 0.01 * np.arange(150)
    q = waves(t)
    q[100:] += [0.3, 0.0]
    q[50] += 1.0
    np.savez(tmp_path / "a.npz", **table(t, q=q, tau=waves(t)))
    run = read_run(tmp_path / "a.npz", MODEL, LEFT, elastic=False)
    assert run.stretches == [slice(0, 100), slice(100, 150)]


def test_the_side_of_an_effort_is_the_one_stated(tmp_path):
    t = 0.01 * np.arange(100)
    np.savez(tmp_path / "a.npz", **table(t, q=waves(t), tau=waves(t)))
    joint, motor = (
        read_run(tmp_path / "a.npz", MODEL, LEFT, elastic=False, effort=effort)
        for effort in ("joint", "motor")
    )
    assert joint.motor_torque is None
    assert motor.sensor is None
    assert np.array_equal(joint.sensor, motor.motor_torque)


def test_a_csv_table_has_the_same_content(tmp_path):
    t = 0.01 * np.arange(100)
    rows = waves(t)
    head = "t," + ",".join(f"{signal} {name}" for signal in ("q", "theta", "tau") for name in NAMES)
    columns = np.column_stack([t, rows, rows + 0.1, 5.0 * rows])
    np.savetxt(tmp_path / "a.csv", columns, delimiter=",", header=head, comments="")
    run = read_run(tmp_path / "a.csv", MODEL, LEFT, elastic=True)
    assert np.allclose(run.theta, run.q + 0.1)
    assert np.allclose(run.motor_torque, 5.0 * run.q)


def test_turns_of_links_and_motors_are_removed(tmp_path):
    """Both were recorded modulo one turn; the springs would seem to be twisted by whole turns."""
    file = tmp_path / "arm.urdf"
    text = (share_directory() / "config" / "robots" / "planar_two_link.urdf").read_text()
    file.write_text(text.replace('type="revolute"', 'type="continuous"'))
    model = dyn.load_urdf(file)
    t = 0.01 * np.arange(800)
    q = np.stack([4.0 * t, 3.0 - 2.0 * t], axis=1)
    theta = q + 0.1 + 2.0 * np.pi
    arrays = {"q": q % (2.0 * np.pi), "theta": theta % (2.0 * np.pi), "tau": q}
    names = np.array(model.joint_names)
    np.savez(tmp_path / "a.npz", t=t, joint_names=names, **arrays)
    run = read_run(tmp_path / "a.npz", model, elastic=True)
    assert np.allclose(run.theta - run.q, 0.1)
    assert np.allclose(run.q - run.q[0], q - q[0])


def test_missing_joints_are_named(tmp_path):
    run = elastic_run(0.1)
    t = np.arange(len(run.q)) / run.rate
    np.savez(tmp_path / "a.npz", t=t, q=run.q[:, :1], tau=run.q[:, :1], joint_names=["shoulder"])
    with pytest.raises(dyn.InputError, match=r"a\.npz: no columns for the joints elbow"):
        read_run(tmp_path / "a.npz", MODEL, elastic=False)
    held = read_run(tmp_path / "a.npz", MODEL, JointSelection(held={"elbow": 0.4}), elastic=False)
    assert (held.q[:, 1] == 0.4).all()
    assert held.has("sensor").tolist() == [True, False]


def test_samples_without_a_number_and_efforts_of_zero_were_not_measured(tmp_path):
    t = 0.01 * np.arange(300)
    q, tau = waves(t), waves(t)
    q[100:140, 0] = np.nan
    tau[:, 1] = 0.0
    np.savez(tmp_path / "a.npz", **table(t, q=q, tau=tau))
    run = read_run(tmp_path / "a.npz", MODEL, LEFT, elastic=False)
    assert run.stretches == [slice(0, 100), slice(100, 260)]
    assert run.has("sensor").tolist() == [False, True]


@pytest.mark.parametrize("elastic", [True, False])
def test_lost_chunks_are_reported(tmp_path, elastic):
    topics = ("/joint_states", "/motor_states")[: 1 + elastic]
    t = 0.01 * np.arange(12_000)
    rows = np.stack([waves(t)] * 3, axis=1)
    messages = [each for topic in topics for each in messages_of(t, rows, MODEL.joint_names, topic)]
    messages.sort(key=lambda each: each[1])
    bag = write_bag(tmp_path / "bag", messages, plugin=StoragePlugin.MCAP)
    file = bag / "bag.mcap"
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 400] = bytes(400)
    file.write_bytes(raw)
    with pytest.warns(UserWarning, match=r"the chunk at byte \d+ is damaged"):
        run = read_run(bag, MODEL, elastic=elastic)
    assert 100 < len(run.q) < len(t)
