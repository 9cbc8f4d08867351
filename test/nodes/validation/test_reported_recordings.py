# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recordings: their folders, and their content after the disk was full."""

import resource

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from multibody_dynamics.nodes.validation.reported_recordings import StateRecorder
from multibody_dynamics.validation.recordings import Recording
from rejections import assert_rejected

ENOUGH = 50_000  # messages


@pytest.fixture
def files_are_small():
    """As if the disk were full after the first 300 kB of every file; call it to free space."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def free():
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, before[1]))
    yield free
    free()


def test_a_full_disk_is_reported_and_the_messages_so_far_are_kept(tmp_path, files_are_small):
    recorder = StateRecorder(tmp_path, "/joint_states")
    message = JointState(name=["elbow"], position=[0.0], effort=[1.0])

    def fill():
        for k in range(ENOUGH):
            message.header.stamp.sec = k
            recorder.add(message)

    assert_rejected((lambda: fill(), "too large"), error=OSError)
    assert 0 < recorder.messages < ENOUGH
    assert_rejected((lambda: recorder.close(), "too large"), error=OSError)
    files_are_small()
    recorder.close()
    stamps = np.concatenate([part.stamp for part in Recording(recorder.bag).read()])
    assert np.array_equal(stamps[: recorder.messages], 10**9 * np.arange(recorder.messages))


def test_recordings_do_not_overwrite_each_other(tmp_path):
    recorders = [StateRecorder(tmp_path / "new", "/joint_states") for _ in range(3)]
    assert [each.folder.name for each in recorders] == [f"recording_{k}" for k in (1, 2, 3)]
    recorders[1].discard()
    assert not recorders[1].folder.exists()
    assert recorders[0].folder.exists()
    for each in recorders[::2]:
        each.close()
