# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Parameters from the first part of a recording explain the rest of it."""

from dataclasses import replace

import numpy as np
import pytest

from bag_files import motion
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.validation.comparison import validate
from multibody_dynamics.validation.identify import identify
from multibody_dynamics.validation.settings import Settings, load_robot
from recorded_arm import ARM, FRICTION, MODEL, NAMES, RATE, SPRINGS, driven, written


def test_identified_friction_explains_the_rest_of_the_recording(tmp_path):
    data = tmp_path / "data.yaml"
    data.write_text(FRICTION)
    robot = load_robot(ARM, data)
    t, rows = motion(MODEL, 6000, RATE, noise=1e-3)
    rows[:, 2] += robot.friction.torque(rows[:, 1])
    path = written(tmp_path / "bag", rows, t)
    settings = Settings(ARM, identify=("friction",), cutoff=4.0)
    bare = load_robot(ARM)
    found = identify(validate(path, settings), bare, settings)
    assert (found.after.normalized < 0.4 * found.before.normalized).all()
    assert found.robot.friction.viscous[0] == pytest.approx(0.4, abs=0.05)
    assert found.robot.friction.amplitude[0] / 2 == pytest.approx(0.8, abs=0.05)
    data.write_text(found.yaml)
    again = load_robot(ARM, data)
    assert np.allclose(again.friction.viscous, found.robot.friction.viscous)
    with pytest.raises(InputError, match="train"):
        identify(validate(path, settings), bare, replace(settings, train=1.0))


def test_an_identified_payload_is_read_back(tmp_path):
    body = MODEL.body_names[-1]
    loaded = MODEL.with_payload(body, 0.8, [0.1, 0.0, 0.0], 1e-3 * np.eye(3))
    t, rows = motion(loaded, 4000, RATE)
    path = written(tmp_path / "bag", rows, t)
    settings = Settings(ARM, identify=("payload",), cutoff=10.0)
    found = identify(validate(path, settings), load_robot(ARM), settings)
    assert (found.after.normalized < 0.01).all()
    assert (found.before.normalized > 0.05).all()
    data = tmp_path / "data.yaml"
    data.write_text(found.yaml)
    assert validate(path, Settings(ARM, data, cutoff=10.0)).worst < 0.01


def test_friction_that_is_known_is_kept_when_a_payload_is_identified(tmp_path):
    data = tmp_path / "data.yaml"
    data.write_text(FRICTION)
    known = load_robot(ARM, data)
    body = MODEL.body_names[-1]
    loaded = MODEL.with_payload(body, 0.8, [0.1, 0.0, 0.0], 1e-3 * np.eye(3))
    t, rows = motion(loaded, 4000, RATE)
    rows[:, 2] += known.friction.torque(rows[:, 1])
    path = written(tmp_path / "bag", rows, t)
    settings = Settings(ARM, data, identify=("payload",), cutoff=10.0)
    found = identify(validate(path, settings), known, settings)
    mass = found.estimates[f"{body}.mass"]
    assert mass.determined
    assert mass.value == pytest.approx(0.8, abs=0.01)
    assert not any(name.startswith("shoulder") for name in found.estimates)
    assert (found.after.normalized < 0.01).all()


def test_rotors_that_are_known_stay_when_only_friction_is_identified(tmp_path):
    data = tmp_path / "data.yaml"
    data.write_text("rotor_inertia: {elbow: 0.3}\n")
    known = load_robot(ARM, data)
    t, rows = motion(known.model, 4000, RATE)
    rows[:, 2] += load_robot(ARM, friction_file(tmp_path)).friction.torque(rows[:, 1])
    path = written(tmp_path / "bag", rows, t)
    settings = Settings(ARM, data, identify=("friction",), cutoff=10.0)
    found = identify(validate(path, settings), known, settings)
    assert found.robot.model.reflected_inertia.tolist() == [0.0, 0.3]
    assert found.estimates["shoulder.viscous"].value == pytest.approx(0.4, abs=0.02)
    data.write_text(found.yaml)
    assert validate(path, Settings(ARM, data, cutoff=10.0)).worst < 0.02


def friction_file(folder):
    file = folder / "friction.yaml"
    file.write_text(FRICTION)
    return file


def motor_recording(folder, noise=0.02):
    """A bag with the torques of the motors behind springs, and offsets of 0.3 N m."""
    actuators = dyn.load_actuators(SPRINGS, NAMES)
    stronger = tuple(
        replace(each, motor=replace(each.motor, viscous=0.9, coulomb=0.7, coulomb_velocity=0.1))
        for each in actuators.actuators
    )
    t = np.arange(8000) / RATE
    state = np.zeros((5, len(t), 2))
    for size, w, phase in ((0.6, 1.5, 0.0), (0.3, 4.0, 1.0), (0.1, 9.0, 2.0)):
        for j, shift in enumerate((0.0, 0.7)):
            for order in range(5):
                angle = w * t + phase + shift + order * np.pi / 2.0
                state[order, :, j] += size * w**order * np.sin(angle)
    moved = driven(state, dyn.elastic.Actuators(NAMES, stronger))
    rng = np.random.default_rng(3)
    torque = moved.torque + 0.3 + noise * rng.normal(size=moved.torque.shape)
    rows = np.stack([state[0], state[1], torque], axis=1)
    return written(folder / "bag", rows, t)


def test_friction_of_motors_behind_springs(tmp_path):
    path = motor_recording(tmp_path)
    options = {"elastic_joints": SPRINGS, "effort": "motor", "cutoff": 10.0}
    settings = Settings(ARM, identify=("friction",), **options)
    found = identify(validate(path, settings), settings.robot(), settings)
    for joint in NAMES:
        for name, true in (("viscous", 0.9), ("coulomb", 0.7), ("offset", 0.3)):
            value, error, determined = found.estimates[f"motor {joint}.{name}"]
            assert determined, (joint, name)
            assert abs(value - true) < max(4.0 * error, 0.02), (joint, name)
    # The comparison filters the measured torque, but not the Coulomb friction that it predicts.
    assert (found.after.rms < 0.08).all()
    assert (found.before.rms > 0.2).all()
    motors = found.robot.actuators.motors
    assert [each.viscous for each in motors] == pytest.approx([0.9, 0.9], abs=0.05)
    both = replace(settings, identify=("friction", "inertia"))
    every = identify(validate(path, both), both.robot(), both)
    assert (every.after.rms < 0.08).all()
    rotor = every.estimates["motor elbow.inertia"]
    assert abs(rotor.value - motors[1].inertia) < 0.1 * motors[1].inertia


def test_joints_that_were_held_are_left_out(tmp_path):
    data = friction_file(tmp_path)
    friction = load_robot(ARM, data).friction
    t, rows = motion(MODEL, 4000, RATE)
    rows[:, 0, 1], rows[:, 1, 1] = 0.3, 0.0
    q, qd = rows[:, 0], rows[:, 1]
    qdd = np.gradient(qd, 1 / RATE, axis=0)
    rows[:, 2] = dyn.inverse_dynamics(MODEL, q, qd, qdd).tau + friction.torque(qd)
    path = written(tmp_path / "bag", rows[:, :, :1], t, NAMES[:1])
    settings = Settings(ARM, held={"elbow": 0.3}, identify=("friction",), cutoff=10.0)
    found = identify(validate(path, settings), settings.robot(), settings)
    assert set(found.estimates) == {
        f"shoulder.{kind}" for kind in ("viscous", "coulomb", "coulomb_velocity", "offset")
    }
    assert found.estimates["shoulder.viscous"].value == pytest.approx(0.4, abs=0.02)
    assert found.after.normalized < 0.1 * found.before.normalized


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"identify": ("gravity",)}, "kinds"),
        ({"identify": ("payload", "inertia")}, "cannot distinguish"),
        ({"identify": ("payload",), "payload_body": "hand"}, "hand"),
    ],
)
def test_invalid_choices_of_parameters(tmp_path, options, message):
    t, rows = motion(MODEL, 2000, RATE)
    path = written(tmp_path / "bag", rows, t)
    settings = Settings(ARM, cutoff=10.0, **options)
    with pytest.raises(InputError, match=message):
        identify(validate(path, settings), load_robot(ARM), settings)
