# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motions to be shown agree with the motions from which files were made."""

import numpy as np
import pytest

from bag_files import STORE, messages_of, write_bag
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.motion import sum_of_sines
from multibody_dynamics.tools.view.viewed_motion import LONGEST, RobotState, planned, read_view
from multibody_dynamics.validation.recordings import JointSelection, write_columns
from recorded_arm import ARM, MODEL, NAMES, SPRINGS, driven
from rejections import assert_rejected

ACTUATORS = dyn.load_actuators(SPRINGS, NAMES, MODEL.joint_types)
STIFFNESS = np.array([500.0, 250.0])  # N m/rad, as in that file
T = np.arange(0.0, 6.0, 0.005)
W = 2.0 * np.pi * 0.4  # rad/s
STATE = np.stack(
    [np.outer(np.sin(W * T + k * np.pi / 2), [0.5 * W**k, 0.3 * W**k]) for k in range(5)]
)
Q = np.stack(dyn.inverse_dynamics(MODEL, *STATE), axis=1)
INSIDE = slice(200, -200)


def test_a_planned_motion_has_exact_torques_and_motors():
    rows = np.array([[0.1, 0.2]])
    motion = sum_of_sines(NAMES, rows[0], 0.2 * np.ones((2, 2)), rows.repeat(2, 0).T, 0.5,
                          duration=4.0, ramp=1.0)  # fmt: skip
    seen = planned("motion", motion, MODEL, ACTUATORS)
    state = motion.sample(motion.start_time + seen.t)
    exact = np.stack(dyn.inverse_dynamics(MODEL, *np.moveaxis(state, 1, 0)), axis=1)
    assert np.array_equal(seen.torque, exact)
    assert np.allclose(seen.motor, state[:, 0] + exact[:, 0] / STIFFNESS, atol=1e-12)
    assert seen.t[0] == 0.0
    assert seen.duration == pytest.approx(motion.duration)


def test_a_bag_gives_positions_motors_torques_and_wrenches(tmp_path):
    motors = driven(STATE).position
    zero = np.zeros_like(motors)
    links = messages_of(T, np.stack([STATE[0], STATE[1], Q[:, 0]], axis=1), NAMES)
    sides = messages_of(T, np.stack([motors, zero, zero], axis=1), NAMES, "/motor_states")
    error = np.stack([zero + 0.25, zero, zero], axis=1)
    errors = messages_of(T, error, NAMES, "/flatness_controller_node/tracking_error")
    messages = sorted([*links, *sides, *errors], key=lambda message: message[1])
    seen = read_view(write_bag(tmp_path / "bag", messages), MODEL, ACTUATORS)
    assert np.allclose(seen.q, STATE[0])
    assert np.allclose(seen.motor, motors)
    assert np.allclose(seen.torque[:, 0], Q[:, 0])
    assert np.allclose(seen.torque[INSIDE, 1], Q[INSIDE, 1], atol=1e-3 * np.abs(Q[:, 1]).max())
    assert np.allclose(seen.torque[INSIDE, 2], Q[INSIDE, 2], atol=1e-2 * np.abs(Q[:, 2]).max())
    assert (seen.error == 0.25).all()
    assert np.isnan(seen.external).all()
    assert seen.notes


@pytest.mark.parametrize("signals", [("q",), ("q", "Q")])
def test_times_in_milliseconds_are_noticed(signals, tmp_path):
    rows = {"q": STATE[0], "Q": Q[:, 0]}
    columns = {
        f"{each} {name}": rows[each][:, j] for each in signals for j, name in enumerate(NAMES)
    }
    for unit, noticed in ((1.0, False), (1e3, True)):
        write_columns(tmp_path / "motion.csv", {"t": unit * T, **columns})
        seen = read_view(tmp_path / "motion.csv", MODEL)
        assert any("in ms?" in note for note in seen.notes) == noticed
        assert len(seen.t) <= LONGEST + 1


def test_a_gap_of_a_day_is_not_filled_with_samples(tmp_path):
    def table(t):
        columns = {"q": STATE[0], "Q": Q[:, 0]}
        named = {f"{each} {name}": rows[:, j] for each, rows in columns.items()
                 for j, name in enumerate(NAMES)}  # fmt: skip
        write_columns(tmp_path / "motion.csv", {"t": t, **named})
        return read_view(tmp_path / "motion.csv", MODEL)

    gap = np.where(T < 3.0, T, T + 86_400.0)
    whole, parted = table(T), table(gap)
    assert np.allclose(parted.t, gap, atol=1e-9, rtol=0.0)
    for part in (slice(200, 400), slice(800, 1000)):
        assert np.allclose(parted.torque[part], whole.torque[part], rtol=1e-3, atol=1e-2)


def test_a_wrench_acts_on_its_link_for_a_tenth_of_a_second(tmp_path):
    kind, types = "geometry_msgs/msg/WrenchStamped", STORE.types
    messages = messages_of(T, np.stack([STATE[0], STATE[1], Q[:, 0]], axis=1), NAMES)
    at = messages[100][1]
    time = types["builtin_interfaces/msg/Time"](*divmod(at, 1_000_000_000))
    header = types["std_msgs/msg/Header"](time, MODEL.body_names[1])
    vector = types["geometry_msgs/msg/Vector3"]
    wrench = types["geometry_msgs/msg/Wrench"](vector(4.0, 5.0, 6.0), vector(1.0, 2.0, 3.0))
    push = bytes(STORE.serialize_cdr(types[kind](header, wrench), kind))
    messages.insert(101, ("/external_wrench", at, push))
    bag = write_bag(tmp_path / "bag", messages, kinds={"/external_wrench": kind})
    seen = read_view(bag, MODEL)
    assert seen.at(T[99]).wrenches == ()
    ((link, wrench),) = seen.at(T[102]).wrenches
    assert link == MODEL.body_names[1]
    assert wrench.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]  # moment first
    assert seen.at(T[130]).wrenches == ()
    assert np.isnan(seen.motor).all()


@pytest.mark.parametrize("with_torque", [True, False])
def test_a_table_is_a_recording_if_torques_were_measured_and_else_a_trajectory(
    tmp_path, with_torque
):
    columns = {"t": T[::20]} | {f"q {joint}": STATE[0, ::20, i] for i, joint in enumerate(NAMES)}
    if with_torque:
        columns |= {f"Q {joint}": Q[::20, 0, i] + 7.0 for i, joint in enumerate(NAMES)}
    write_columns(tmp_path / "table.csv", columns)
    seen = read_view(tmp_path / "table.csv", MODEL, ACTUATORS)
    assert bool(seen.notes) is with_torque
    k = len(seen.t) // 2
    i = int(np.argmin(np.abs(T - seen.t[k])))
    assert seen.q[k] == pytest.approx(STATE[0, i], abs=2e-3)
    assert seen.torque[k, 0] == pytest.approx(Q[i, 0] + 7.0 * with_torque, rel=0.02, abs=0.3)


def test_at_rest_the_motors_carry_gravity():
    q = np.array([0.4, -0.7])
    state = RobotState.at_rest(MODEL, ACTUATORS, q)
    gravity = dyn.gravity_forces(MODEL, q)
    assert np.array_equal(state.torque, [gravity, [0, 0], [0, 0]])
    assert np.allclose(state.motor, q + gravity / STIFFNESS)


def test_problems_are_named(tmp_path):
    assert_rejected((lambda: read_view(tmp_path / "nothing.csv", MODEL), "no such file"))
    write_columns(tmp_path / "one.csv", {"t": T, "q shoulder": T, "Q shoulder": T})
    with pytest.raises(InputError, match=r"no positions of elbow; .*--hold elbow=VALUE"):
        read_view(tmp_path / "one.csv", MODEL)
    seen = read_view(tmp_path / "one.csv", MODEL, selection=JointSelection(held={"elbow": 0.5}))
    assert (seen.q[:, 1] == 0.5).all()
    assert ARM.is_file()
