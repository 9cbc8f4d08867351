# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Held-out recordings: the identified model explains them, the data sheet does not."""

from dataclasses import replace

import numpy as np
import pytest

from identified_arms import NOISE, planar_arm, recording
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools.proof.held_out import compare_held_out, overall
from multibody_dynamics.tools.proof.known_robots import load_known
from multibody_dynamics.validation.settings import Robot


def test_the_identified_model_leaves_only_noise():
    known = load_known(planar_arm().files)
    (held,) = compare_held_out([planar_arm().held_out], planar_arm().files, known)
    assert held.before.cutoff == held.after.cutoff
    before, after = overall([held])
    np.testing.assert_allclose((before, after), held.rms)
    assert (after < 0.5 * before).all()
    assert (after < 3.0 * NOISE).all()
    both = overall([held, held])
    np.testing.assert_allclose(both, (before, after))


def test_damped_springs_are_compared_at_their_settled_deflections(tmp_path):
    """The motors of a damped arm are explained better by its own springs than by undamped ones."""
    model, actuators = planar_arm().model, planar_arm().actuators
    dampers = tuple(replace(each, damping=20.0) for each in actuators.actuators)
    damped = replace(actuators, actuators=dampers)
    file = tmp_path / "damped.npz"
    recording(model, damped, 1.5, 3).write(file, damped)
    friction = dyn.identification.JointFriction.none(2)
    with_dampers, without = (Robot(model, friction, each) for each in (damped, actuators))
    known = replace(load_known(planar_arm().files), sheet=without, identified=with_dampers)
    (held,) = compare_held_out([file], planar_arm().files, known, cutoff=5.0)
    before, after = held.rms
    assert (after < 0.98 * before).all()  # dampers only shift the acceleration of the motors
    assert (held.normalized[1] < 0.04).all()


def test_a_recording_that_does_not_exist_is_refused_by_name(tmp_path):
    known = load_known(planar_arm().files)
    with pytest.raises(dyn.InputError, match="none"):
        compare_held_out([tmp_path / "none.npz"], planar_arm().files, known)
