# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inputs with which the command `fuzz` once found an exception of another package, a message of
several lines or a numerical warning."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import IterativeLearning
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.core.quantities import Gear, to_link_side
from multibody_dynamics.dynamics.identification import IdentifiedCovariance
from multibody_dynamics.dynamics.model.inertia import spatial_inertia
from multibody_dynamics.tools.base.node_parameters import read_parameters
from multibody_dynamics.tools.base.recording import Recording as DemoRecording
from multibody_dynamics.tools.fuzzing import examples
from multibody_dynamics.tools.fuzzing.kinds import _drift, _learned, _watch
from multibody_dynamics.tools.recordings.identification_recordings import read_run
from multibody_dynamics.tools.recordings.spring_recordings import read_motion
from multibody_dynamics.tools.robot.identified_results import read_results
from multibody_dynamics.validation.recordings import Recording
from multibody_dynamics.validation.settings import load_robot
from multibody_dynamics.validation.trajectory_files import read_points

ARM = examples.config("robots", "planar_two_link.urdf")


def refusal(read, *arguments) -> str:
    """The message of a refusal; warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(dyn.DynamicsError) as caught:
            read(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_side_that_is_a_list():
    entry = {"unit": "N m/rad", "side": ["motor"]}
    gear = Gear(1.0, {"motor": "revolute", "link": "revolute"})
    message = refusal(to_link_side, entry, "spring", "stiffness", gear)
    assert message.endswith("must be motor or link, got ['motor']")


def test_a_mass_that_is_too_large_to_compute_with():
    message = refusal(spatial_inertia, 1e300, [1e10, 0.0, 0.0], np.eye(3))
    assert message.startswith("a mass of 1e+300 kg")


def test_a_trajectory_at_an_impossible_time(tmp_path):
    file = tmp_path / "motion.yaml"
    file.write_text(examples.ROWS.replace("0.5, 1.0]", "0.5, 1e20]", 1))
    assert "t reaches 1e+20: expected seconds" in refusal(read_points, file)


def test_a_bag_of_a_rigid_robot_is_read(tmp_path):
    """Its topics are all those with joint states; looking for none of them failed."""
    states = [each for each in examples.messages() if each[0] == "/joint_states"]
    bag = examples.write_bag(tmp_path / "states", states)
    run = read_run(bag, examples.arm(), elastic=False)
    np.testing.assert_allclose(run.q, examples.recorded().q[::2], atol=1e-9)


def test_metadata_of_other_types_and_of_several_lines(tmp_path):
    bag = examples.write_bag(tmp_path / "bag", examples.messages())
    file = bag / "metadata.yaml"
    text = file.read_text()
    file.write_text(text + "...\n [\n")
    assert "not a readable recording" in refusal(lambda: Recording(bag).overview)
    counted = text.replace("message_count: 120", "message_count: [1]")  # of no consequence
    assert counted != text
    file.write_text(counted)
    assert set(Recording(bag).overview.topics.values()) == {120}


def test_names_of_joints_without_a_dimension(tmp_path):
    file = tmp_path / "motion.npz"
    np.savez(file, **(examples.arrays() | {"joint_names": "shoulder"}))
    assert "expected numbers" in refusal(read_motion, file)


@pytest.mark.parametrize(
    "change", [{"cutoff": [1.0, 2.0]}, {"joint_names": "a"}, {"rms": 1.0}, {"format": [1, 1]}]
)
def test_a_learned_correction_of_other_shapes(tmp_path, change):
    file = tmp_path / "learned.npz"
    np.savez(file, **(_learned() | change))
    assert "not a learned correction: " in refusal(IterativeLearning.load, file)


@pytest.mark.parametrize(
    "change", [{"links": [1, 2]}, {"names": "a"}, {"values": "x"}, {"values": [1j, 0]}]
)
def test_a_covariance_of_other_shapes(tmp_path, change):
    arrays = {"names": ["a", "b"], "values": np.ones(2), "covariance": np.eye(2), "links": 1}
    np.savez(tmp_path / "covariance.npz", **(arrays | change))
    refusal(IdentifiedCovariance.read, tmp_path)


@pytest.mark.parametrize(
    "change",
    [{"segment": np.zeros(3)}, {"segment": np.zeros(9, complex)}, {"x": 1.0}, {"facts": "[]"}],
)
def test_a_memory_of_drift_node_of_other_shapes(tmp_path, change):
    file = tmp_path / "drift.npz"
    np.savez(file, **(_drift() | change))
    watch = _watch()
    assert refusal(watch.load, file).startswith(f"{file}: ")
    assert watch.stamp == 0


def test_identified_values_of_other_types(tmp_path):
    file = tmp_path / "identified.json"
    content = json.loads(examples.identified())
    value = content["joints"]["elbow"]["viscous"]
    for wrong in (value | {"standard error": []}, value | {"value": 10**400}, 3.0):
        content["joints"]["elbow"]["viscous"] = wrong
        file.write_text(json.dumps(content))
        assert "joints.elbow.viscous" in refusal(read_results, file)
    content["joints"] = value
    file.write_text(json.dumps(content))
    assert "joints: expected a mapping" in refusal(read_results, file)
    file.write_text("[" * 100_000)
    assert "not a JSON file: nested too deeply" in refusal(read_results, file)


def test_springs_and_data_of_other_types(tmp_path):
    file = tmp_path / "springs.yaml"
    file.write_text("joints: {elbow: [1, 2]}")
    assert "joints.elbow: expected a mapping" in refusal(read_results, file)
    file.write_text("1.5: x\nfrictions: y\n")
    assert "['1.5', 'frictions']" in refusal(load_robot, ARM, file)


def test_a_folder_of_a_demo_with_other_files(tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text("a: 1")
    assert "expected the parameters of nodes" in refusal(read_parameters, file)
    np.savez(tmp_path / "full.npz", facts="{}")
    assert "not a recording of the demo" in refusal(DemoRecording.load, tmp_path / "full.npz")


def test_a_file_that_is_quoted_in_a_message():
    message = str(InputError(f"a.yaml: got {list(range(10_000))}: expected one number"))
    assert len(message) < 1000
    assert message.startswith("a.yaml: got [0, 1, 2")
    assert message.endswith("expected one number")
