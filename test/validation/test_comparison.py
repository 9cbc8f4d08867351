# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Complete comparisons with recordings of a robot whose torques are known, and their errors."""

from dataclasses import replace

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin

from bag_files import BEGIN, messages_of, motion, write_bag
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core.errors import InputError
from multibody_dynamics.validation.alignment import MIDDLE
from multibody_dynamics.validation.comparison import Comparison, validate
from multibody_dynamics.validation.recordings import Recording
from multibody_dynamics.validation.recordings.mcap_chunks import chunks_of
from multibody_dynamics.validation.settings import Settings, load_robot
from multibody_dynamics.validation.survey import LOOK, survey
from recorded_arm import ARM, FRICTION, MODEL, NAMES, RATE, SPRINGS, driven, written


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    t, rows = motion(MODEL, 4000, RATE)
    return written(tmp_path_factory.mktemp("bags") / "bag", rows, t)


def test_without_noise_the_model_explains_everything(bag):
    found = validate(bag, Settings(ARM, cutoff=10.0))
    assert found.joint_names == NAMES
    assert found.rate == pytest.approx(RATE)
    assert found.compared_rate == pytest.approx(100.0)
    assert found.messages == 4000
    assert found.coverage > 0.9
    assert not found.problems
    assert not found.notes
    for residual, limit in zip(found.residuals, (1e-3, 2e-3, 1e-2), strict=True):
        assert (residual.normalized < limit).all()
    assert found.origin == BEGIN
    positions = validate(bag, Settings(ARM, cutoff=10.0, from_positions=True))
    assert (positions.residuals[0].normalized < 1e-3).all()


@pytest.mark.parametrize(  # test_doubtful_signals.py has every change on every joint
    ("change", "text", "wrong"),
    [
        (lambda rows: 0.0 * rows[:, 1], "are all zero", (0, 1)),
        (lambda rows: 0.0 * rows[:, 1] + 0.2, "are all 0.2", (0,)),
        (lambda rows: np.degrees(rows[:, 1]), "in degrees/s?", (1,)),
        (lambda rows: 3.0 * rows[:, 0], "are proportional to the positions", (0, 1)),
    ],
)
def test_velocities_that_contradict_the_positions_are_not_used(tmp_path, change, text, wrong):
    """Of all joints or of one; the law is that of a recording without velocities."""
    t, rows = motion(MODEL, 4000, RATE)
    false = rows.copy()
    false[:, 1, list(wrong)] = change(rows)[:, list(wrong)]
    found = validate(written(tmp_path / "bag", false, t), Settings(ARM, cutoff=10.0))
    notes = [note for note in found.notes if "its velocities" in note]
    assert [note.split(":")[0] for note in notes] == [NAMES[j] for j in wrong]
    assert all(text in note and "positions are differentiated" in note for note in notes)
    assert (found.residuals[0].normalized < 1e-3).all()
    assert found.velocity == (len(wrong) == 1)


def test_identification_does_not_use_them_either(tmp_path):
    t, rows = motion(MODEL, 4000, RATE)
    rows[:, 1, 1] = 0.0
    path = written(tmp_path / "bag", rows, t)
    run = validate(path, Settings(ARM, cutoff=10.0, identify=("friction",))).recorded.run
    assert run.has("qd").tolist() == [True, False]


def test_efforts_and_positions_that_are_not_those_of_this_robot_have_a_likely_cause(tmp_path):
    t, rows = motion(MODEL, 4000, RATE)
    signed = rows.copy()
    signed[:, 2, 1] *= -1.0
    degrees = rows.copy()
    degrees[:, :2] = np.degrees(rows[:, :2])
    currents = rows.copy()
    currents[:, 2] /= 12.0
    for name, false, text in (
        ("signed", signed, "elbow: its efforts are -1 times those of the model: the other sign?"),
        ("degrees", degrees, "outside of its limits"),
        ("currents", currents, "0.0833 times those of the model: currents"),
    ):
        notes = validate(written(tmp_path / name, false, t), Settings(ARM, cutoff=10.0)).notes
        assert any(text in note for note in notes), notes


def test_efforts_that_are_late_or_clipped_are_named(tmp_path):
    t, rows = motion(MODEL, 4000, RATE)
    late, clipped = rows.copy(), rows.copy()
    delay = round(0.02 * RATE)
    late[delay:, 2] = rows[:-delay, 2]
    clipped[:, 2, 0] = np.clip(rows[:, 2, 0], None, np.quantile(rows[:, 2, 0], 0.8))
    of_late, of_clipped = (
        validate(written(tmp_path / name, wrong, t), Settings(ARM, cutoff=10.0)).notes
        for name, wrong in (("late", late), ("clipped", clipped))
    )
    assert "the efforts lag behind those of the model by 20 ms" in of_late
    (note,) = of_clipped
    assert note.startswith(f"{NAMES[0]}: its efforts are ")
    assert "in 20% of the samples: were they clipped?" in note


def test_the_cut_off_comes_from_the_data(tmp_path, bag):
    t, rows = motion(MODEL, 4000, RATE, noise=2e-3)
    noisy = validate(written(tmp_path / "bag", rows, t), Settings(ARM))
    clear = validate(bag, Settings(ARM))
    assert 0.3 < noisy.cutoff < 3.0 < clear.cutoff <= 25.0
    assert (noisy.residuals[0].rms < 0.05).all()


def test_friction_rotors_and_payload_are_modelled(tmp_path):
    data = tmp_path / "data.yaml"
    data.write_text(
        FRICTION + "rotor_inertia: {elbow: 0.3}\n"
        f"payload: {{{MODEL.body_names[-1]}: {{mass: 0.7, com: [0.1, 0, 0.02]}}}}\n"
    )
    robot = load_robot(ARM, data)
    assert robot.model.reflected_inertia.tolist() == [0.0, 0.3]
    t, rows = motion(robot.model, 4000, RATE)
    rows[:, 2] += robot.friction.torque(rows[:, 1])
    path = written(tmp_path / "bag", rows, t)
    with_all, without = validate(path, Settings(ARM, data)), validate(path, Settings(ARM))
    assert with_all.worst < 0.02 < 0.1 < without.worst


def waves(t):
    """The motion and four derivatives, (5, k, 2)."""
    w = 1.0 + 0.5 * np.arange(2)
    return np.stack(
        [0.4 * w**k * np.sin(np.outer(t, w) + np.arange(2) + k * np.pi / 2) for k in range(5)]
    )


def test_motor_efforts_behind_springs(tmp_path):
    t, rows = motion(MODEL, 2000, RATE)
    state = waves(t)
    state[0] = rows[:, 0]
    rows[:, 2] = driven(state).torque
    path = written(tmp_path / "bag", rows, t)
    options = {"elastic_joints": SPRINGS, "cutoff": 10.0}
    behind = validate(path, Settings(ARM, effort="motor", **options))
    before = validate(path, Settings(ARM, effort="joint", **options))
    assert behind.quantities == ("Q",)
    assert behind.worst < 5e-3 < before.worst
    with pytest.raises(InputError, match="--elastic-joints"):
        validate(path, Settings(ARM, effort="motor"))


def test_motor_efforts_on_a_separate_topic(tmp_path):
    t, later = np.arange(2000) / RATE, 0.0031 + np.arange(1, 3900) / (2.0 * RATE)
    links = np.full((2000, 3, 2), np.nan)
    links[:, :2] = waves(t)[:2].transpose(1, 0, 2)
    motion = driven(waves(later))
    motors = np.stack([motion.position, motion.velocity, motion.torque], axis=1)[..., ::-1].copy()

    def recorded(name, topic="/arm/motor_states", **options):
        messages = messages_of(t, links, NAMES) + messages_of(
            later, motors, NAMES[::-1], topic, **options
        )
        return write_bag(tmp_path / name, sorted(messages, key=lambda x: x[1]))

    settings = Settings(ARM, elastic_joints=SPRINGS, effort="motor", cutoff=10.0)
    found = validate(recorded("bag"), settings)
    assert found.worst < 5e-3
    assert found.velocity
    assert [(each.topic, each.messages) for each in found.qualities] == [
        ("/joint_states", 2000),
        ("/arm/motor_states", 3899),
    ]
    assert found.notes == (
        "positions of /joint_states and efforts of /arm/motor_states, paired by their stamps",
    )
    with pytest.raises(InputError, match="nothing to compare: the filter needs"):
        validate(recorded("apart", begin=BEGIN + 20_000_000_000), settings)
    drives = recorded("unknown", "/drives")
    with pytest.raises(InputError, match=r"choose one topic with --topic, .* --motor-topic"):
        validate(drives, settings)
    for topics in ((), ("/joint_states",)):
        again = validate(drives, replace(settings, topics=topics, motor_topic="/drives"))
        assert np.array_equal(again.residuals[0].rms, found.residuals[0].rms)
    with pytest.raises(InputError, match=r"no joint states on /motors; .*/drives, /joint_states"):
        validate(drives, replace(settings, motor_topic="/motors"))


def test_gaps_nan_and_unknown_joints_are_reported(tmp_path):
    t, rows = motion(MODEL, 4000, RATE)
    rows[1000:1100, 2, 1] = np.nan
    keep = np.ones(4000, dtype=bool)
    keep[2500:2600] = False
    wide = np.concatenate([rows, np.zeros((4000, 3, 1))], axis=2)
    path = written(tmp_path / "bag", wide[keep], t[keep], (*NAMES, "finger"))
    found = validate(path, Settings(ARM, cutoff=10.0))
    assert found.worst < 1e-3
    notes = " ".join(found.notes)
    assert "2 gaps" in notes  # the stretch of NaN is one, too
    assert "100 messages with NaN" in notes
    assert "not part of this robot: finger" in notes


def test_a_damaged_chunk_does_not_end_the_survey(tmp_path):
    t, rows = motion(MODEL, 15_000, RATE)
    messages = messages_of(t, rows, NAMES)
    path = write_bag(tmp_path / "bag", messages, plugin=StoragePlugin.MCAP)
    file = path / "bag.mcap"
    first, *others = chunks_of(file, {})
    assert others
    assert first.last - first.first > LOOK
    raw = bytearray(file.read_bytes())
    raw[first.place] = 0  # a chunk is a 6
    file.write_bytes(raw)
    found = validate(path, Settings(ARM, cutoff=10.0))
    assert "the chunk at byte" in found.problems[0]
    assert found.messages == sum(first.last < at for _, at, _ in messages)
    assert found.worst < 1e-3


def error_of(path, settings):
    with pytest.raises(InputError) as caught:
        validate(path, settings)
    return str(caught.value)


def test_errors_state_what_the_recording_lacks(tmp_path):
    t, rows = motion(MODEL, 400, RATE)
    settings = Settings(ARM)
    silent = rows.copy()
    silent[:, 2, 0] = 0.0
    half_silent = written(tmp_path / "half_zero", silent, t)
    notes = validate(half_silent, replace(settings, cutoff=20.0)).notes
    assert "the efforts of shoulder are all zero: were they measured?" in notes
    silent[:, 2] = 0.0
    assert "all efforts are zero" in error_of(written(tmp_path / "zero", silent, t), settings)
    silent[:, 2] = np.nan
    assert "no effort was recorded for shoulder, elbow" in error_of(
        written(tmp_path / "silent", silent, t), settings
    )
    other = written(tmp_path / "other", rows, t, ("wheel", "lid"))
    assert "missing on /joint_states: shoulder, elbow; recorded: lid, wheel" in error_of(
        other, settings
    )
    half = written(tmp_path / "half", rows[:, :, :1], t, NAMES[:1])
    text = error_of(half, settings)
    assert "elbow; recorded: shoulder; hold a joint that did not move with --hold elbow=" in text
    motors = ("shoulder", "elbow_agonist", "elbow_antagonist")
    text = error_of(written(tmp_path / "two", rows.take([0, 1, 1], axis=2), t, motors), settings)
    assert "elbow_agonist, elbow_antagonist are motors of a joint that has several" in text
    assert "its own position is needed as well" in text
    everything = {name: 0.0 for name in NAMES}
    assert "all joints of the robot are held" in error_of(half, replace(settings, held=everything))
    prefixed = written(tmp_path / "prefixed", rows, t, [f"left_{name}" for name in NAMES])
    assert "all joints match with --prefix 'left_'" in error_of(prefixed, settings)
    assert validate(prefixed, Settings(ARM, prefix="left_", cutoff=20.0)).worst < 0.01
    short = written(tmp_path / "short", rows[:40], t[:40])
    assert "40 samples" in error_of(short, settings)
    slow = written(tmp_path / "slow", rows[:100], t[:100])
    assert "a higher --cutoff" in error_of(slow, Settings(ARM, cutoff=1.0))
    cut = written(tmp_path / "cut", rows, t + np.arange(400) // 60)
    text = error_of(cut, Settings(ARM, cutoff=5.0))
    assert "the filter needs 1.45 s without a gap" in text
    assert "/joint_states: 6 gaps, the longest 1.005 s" in text
    nothing = write_bag(tmp_path / "no", [], kinds={"/js": "sensor_msgs/msg/JointState"})
    assert "no message" in error_of(nothing, settings)


def test_two_robots_in_one_bag(tmp_path):
    t, rows = motion(MODEL, 1000, RATE)
    messages = [
        *messages_of(t, rows, NAMES, "/left/joint_states"),
        *messages_of(t, -rows, NAMES, "/right/joint_states"),
    ]
    path = write_bag(tmp_path / "bag", sorted(messages, key=lambda x: x[1]))
    text = error_of(path, Settings(ARM))
    assert "/left/joint_states, /right/joint_states" in text
    assert "choose one topic with --topic" in text
    found = validate(path, Settings(ARM, topics=("/left/joint_states",), cutoff=20.0))
    assert found.worst < 0.01


def test_outputs_of_our_nodes_are_ignored(tmp_path):
    t, rows = motion(MODEL, 1000, RATE)
    others = ("/motor_states", "/flatness_controller/tracking_error")
    messages = messages_of(t, rows, NAMES)
    for topic in others:
        messages += messages_of(t, -rows, NAMES, topic)
    path = write_bag(tmp_path / "bag", sorted(messages, key=lambda x: x[1]))
    found = validate(path, Settings(ARM, cutoff=20.0))
    assert found.worst < 0.01
    assert [each.topic for each in found.qualities] == ["/joint_states"]
    ignored = f"{others[1]}, {others[0]}"
    assert f"/joint_states is used; outputs of our nodes are ignored: {ignored}" in found.notes
    by_motor = {"elastic_joints": SPRINGS, "effort": "motor"}
    both = validate(path, Settings(ARM, cutoff=20.0, **by_motor))
    assert [each.topic for each in both.qualities] == ["/joint_states", "/motor_states"]
    assert f"outputs of our nodes are ignored: {others[1]}" in both.notes[0]
    motors = Settings(ARM, topics=("/motor_states",), **by_motor)
    assert "/motor_states has the positions of the motors" in error_of(path, motors)
    as_joints = validate(path, Settings(ARM, topics=("/motor_states",), cutoff=20.0))
    assert any("/motor_states: used as positions" in note for note in as_joints.notes)
    chosen = Settings(ARM, topics=("/joint_states", "/motor_states"))
    assert "or be an output of these nodes" in error_of(path, chosen)


def test_a_joint_at_rest_may_be_held(tmp_path):
    t, rows = motion(MODEL, 1000, RATE)
    rows[:, 0, 1], rows[:, 1, 1] = 0.3, 0.0
    q, qd = rows[:, 0], rows[:, 1]
    qdd = np.gradient(qd, 1 / RATE, axis=0)
    rows[:, 2] = dyn.inverse_dynamics(MODEL, q, qd, qdd).tau
    path = written(tmp_path / "bag", rows[:, :, :1], t, NAMES[:1])
    found = validate(path, Settings(ARM, held={"elbow": 0.3}, cutoff=20.0))
    assert found.joint_names == ("shoulder",)
    assert found.worst < 0.01
    assert "held at the stated positions, not recorded: elbow" in found.notes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("frictions: {}", "frictions"),
        ("friction: 3", "expected a mapping"),
        ("friction: {knee: {}}", "knee"),
        ("payload: {hand: {mass: 1}}", "hand"),
        ("rotor_inertia: {elbow: heavy}", "heavy"),
        ("links: {elbow: {com: [0, 0, 0]}}", "elbow"),
        ("[", "not valid YAML"),
    ],
)
def test_malformed_data_raise(tmp_path, text, expected):
    file = tmp_path / "data.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=expected) as caught:
        load_robot(ARM, file)
    assert "data.yaml" in str(caught.value)


def test_results_do_not_depend_on_the_size_of_pieces(bag):
    settings = Settings(ARM, cutoff=5.0)
    robot = settings.robot()
    look = survey(Recording(bag), robot.model, cutoff=5.0)
    t, rows = motion(MODEL, 4000, RATE)
    keys = MIDDLE + np.arange(len(t))

    def compared(size):
        comparison = Comparison(robot, look, settings)
        parts = [
            found
            for k in range(0, len(t), size)
            for found in comparison.push(keys[k : k + size], rows[k : k + size])
        ]
        return [np.concatenate([p[i] for p in parts], axis=min(i, 1)) for i in range(4)]

    whole = compared(len(t))
    for size in (37, 800):
        for one, other in zip(compared(size), whole, strict=True):
            scale = np.abs(other).max(axis=(-2, -1), keepdims=True) if other.ndim > 1 else 1.0
            assert np.abs((one - other) / scale).max() < 1e-9
