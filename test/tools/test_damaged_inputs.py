# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Damaged files and wrong arguments are refused in one line, within bounds of time and memory.

With MULTIBODY_DYNAMICS_DAMAGED=100 in the environment, a hundred times as many are tried, which
differ from run to run.
"""

import contextlib
import copy
import io
import json
import os
import re
import resource
import time
import warnings
from collections.abc import Iterator
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rosbags.rosbag2 import CompressionMode, StoragePlugin

import valid_files as valid
from bag_files import write_bag
from damage import NUMBERS, OF_BYTES, WORDS, damaged, damaged_npz, damaged_tree, damaged_yaml
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import IterativeLearning, load_collision_thresholds
from multibody_dynamics.dynamics.core import DynamicsError, InputError, parse_yaml
from multibody_dynamics.dynamics.core.quantities import Gear, to_link_side
from multibody_dynamics.dynamics.identification import IdentifiedCovariance
from multibody_dynamics.dynamics.integration import load_system
from multibody_dynamics.dynamics.model import parse_urdf
from multibody_dynamics.dynamics.model.inertia import spatial_inertia
from multibody_dynamics.tools import cli
from multibody_dynamics.tools.base.node_parameters import read_parameters
from multibody_dynamics.tools.base.recording import Recording as DemoRecording
from multibody_dynamics.tools.motions.demo_motion import demo_motion
from multibody_dynamics.tools.recordings.identification_recordings import read_run
from multibody_dynamics.tools.recordings.spring_recordings import read_motion
from multibody_dynamics.tools.robot.identified_results import read_results
from multibody_dynamics.tools.streams.stream_files import read_stream
from multibody_dynamics.tools.view.viewed_motion import read_view
from multibody_dynamics.validation.recordings import Recording
from multibody_dynamics.validation.settings import load_robot
from multibody_dynamics.validation.trajectory_files import read_points, write_points
from robots import CONFIG

MORE = int(os.environ.get("MULTIBODY_DYNAMICS_DAMAGED", "1"))
BOUNDED = partial(
    settings,
    derandomize=MORE == 1,
    phases=[Phase.generate],  # shrinking may take minutes
    suppress_health_check=list(HealthCheck),
)
MEMORY = 2**30  # bytes more than the process has
LONGEST = 2000  # characters of a refusal
USAGE = re.compile(r"^usage: .*?(?=^\S+.*?: error: )", re.DOTALL | re.MULTILINE)


@contextlib.contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Limits memory and CPU time, and rejects numerical warnings, which mean wrong results."""
    pages, before = int(Path("/proc/self/statm").read_text().split()[0]), time.process_time()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, limits[1]))
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert [str(each) for each in caught if issubclass(each.category, RuntimeWarning)] == []
    assert time.process_time() - before < seconds


def refusal(read, *arguments) -> str:
    """The message of a refusal in one line; "" if everything was read."""
    try:
        with bounded(5.0):
            read(*arguments)
    except DynamicsError as error:
        message = str(error)
        assert len(message.splitlines()) == 1
        assert 0 < len(message.strip()) < LONGEST
        return message
    return ""


# Readers of damaged files: each writes one into a folder, and returns what reads it


def _write(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def _config(data, folder: str, pattern: str) -> Path:
    return data.draw(st.sampled_from(sorted((CONFIG / folder).glob(pattern))))


def urdf(data, folder):
    text = data.draw(damaged(_config(data, "robots", "*.urdf").read_bytes()))

    def read():
        model = dyn.load_urdf(_write(folder, "robot.urdf", text))
        model.describe()
        for kind in ("sum_of_sines", "rest_to_rest"):
            demo_motion(model, kind, 5.0)

    as_text = partial(parse_urdf, text.decode("utf-8", "surrogateescape"), strict=True)
    return data.draw(st.sampled_from((read, as_text)))


def springs(data, folder):
    file = _config(data, "elastic_joints", "*.yaml")
    joints = tuple(yaml.safe_load(file.read_text())["joints"])
    path = _write(folder, "springs.yaml", data.draw(damaged_yaml(file.read_bytes())))
    types = valid.arm().joint_types if file.stem == "planar_two_link" else None
    couplings = partial(dyn.model.load_couplings, path)
    return data.draw(st.sampled_from((partial(dyn.load_actuators, path, joints, types), couplings)))


def systems(data, folder):
    text = data.draw(damaged_yaml(_config(data, "systems", "*.yaml").read_bytes()))
    return partial(load_system, _write(folder, "system.yaml", text))


def results(data, folder):
    """Files beside those of the robot: friction, thresholds, identified values."""
    arm, what = valid.arm(), data.draw(st.sampled_from(("data", "thresholds", "springs", "json")))
    if what == "json":
        tree = data.draw(damaged_tree(json.loads(valid.identified())))
        text = data.draw(st.just(json.dumps(tree).encode()) | damaged(valid.identified()))
        return partial(read_results, _write(folder, "identified.json", text))
    text = {"data": valid.DATA, "thresholds": valid.thresholds()}.get(what)
    text = data.draw(damaged_yaml(text or valid.SPRINGS.read_bytes()))
    path = _write(folder, f"{what}.yaml", text)
    if what == "data":
        return partial(load_robot, valid.URDF, path)
    if what == "thresholds":
        return partial(load_collision_thresholds, path, arm.joint_names, arm.joint_types)
    return partial(read_results, path)


def effects(data, folder):
    text = data.draw(damaged_yaml(b"effects: {link_coulomb: [3.0, 1.0], backlash: 1.0e-3}"))
    path = _write(folder, "effects.yaml", text)
    return lambda: dyn.plant.load_effects(path).row("link_coulomb", valid.arm().joint_names)


def streams(data, folder):
    text = data.draw(damaged(valid.table("q", "qd", every=8)))
    return partial(read_stream, _write(folder, "stream.csv", text))


def trajectories(data, folder):
    suffix, text = data.draw(
        st.tuples(st.just("csv"), damaged(valid.table("q", "qd", every=8)))
        | st.tuples(st.just("yaml"), damaged_yaml(valid.ROWS) | damaged_yaml(valid.POINTS))
    )
    return of_trajectory(_write(folder, f"motion.{suffix}", text))


def tables(data, folder):
    text = data.draw(damaged(valid.table("q", "qd", "theta", "Q", "tau")))
    return of_recording(data, _write(folder, "motion.csv", text))


def archives(data, folder):
    arrays, read = data.draw(
        st.sampled_from(
            (
                (valid.arrays(), None),
                (valid.learned(), IterativeLearning.load),
                (valid.covariance(), IdentifiedCovariance.read),
                (valid.drift(), valid.drift_watch().load),
            )
        )
    )
    path = _write(folder, "motion.npz", data.draw(damaged_npz(arrays)))
    return partial(read, path) if read else of_recording(data, path)


def bags(data, folder):
    plugin = data.draw(st.sampled_from(StoragePlugin))
    modes = [CompressionMode.NONE, *[CompressionMode.FILE] * (plugin == StoragePlugin.SQLITE3)]
    states = valid.messages()
    for k in data.draw(st.lists(st.integers(0, len(states) - 1), max_size=3)):
        topic, at, raw = states[k]
        states[k] = topic, at, data.draw(damaged(raw, OF_BYTES))
    mode = data.draw(st.sampled_from(modes))
    bag = write_bag(folder / "bag", states, plugin=plugin, mode=mode)
    metadata = bag / "metadata.yaml"
    content = next(file for file in sorted(bag.iterdir()) if file != metadata)
    what = data.draw(st.sampled_from(("messages", "metadata", "content", "missing")))
    if what == "metadata":
        metadata.write_bytes(data.draw(damaged_yaml(metadata.read_bytes())))
    elif what == "content":
        content.write_bytes(data.draw(damaged(content.read_bytes(), OF_BYTES)))
    elif what == "missing":
        data.draw(st.sampled_from((metadata, content))).unlink()
    path = data.draw(st.sampled_from([bag, *[content] * content.is_file()]))
    return of_trajectory(path) if data.draw(st.booleans()) else of_recording(data, path)


def of_recording(data, path):
    arm, side = valid.arm(), data.draw(st.sampled_from(("joint", "motor")))

    def stream():
        recording = Recording(path, side)
        recording.overview.require(path)
        for _ in recording.read():
            pass

    runs = [partial(read_run, path, arm, elastic=elastic) for elastic in (True, False)]
    motions = [partial(read_motion, path, arm), partial(read_motion, path)]
    view = partial(read_view, path, arm)
    return data.draw(st.sampled_from([stream, view, *motions, *runs]))


def of_trajectory(path):
    def read():
        points = read_points(path)
        with TemporaryDirectory() as folder:
            write_points(points.slower(2.0), Path(folder))

    return read


KINDS = {urdf: 150, springs: 80, systems: 60, results: 150, effects: 50, streams: 50,
         trajectories: 100, tables: 120, archives: 200, bags: 30}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore")
def test_damaged_files_are_read_or_refused_in_one_line(kind):
    outcomes = set()

    @BOUNDED(max_examples=MORE * KINDS[kind])
    @given(st.data())
    def try_one(data):
        with TemporaryDirectory() as folder:
            read = kind(data, Path(folder))
            outcomes.add(bool(refusal(read)))

    try_one()
    assert outcomes == {True, False}  # some are refused and some are not


# Command lines


COMMANDS = (
    "inspect robot.urdf --no-timing",
    "inspect robot.urdf --no-timing --elastic-joints springs.yaml --rate 500 --tables",
    "plot robot.urdf -o out.png --configuration 0.1,0.2",
    "torque-report robot.urdf --elastic-joints springs.yaml --bandwidth 20 --position 0,0.5",
    "gazebo robot.urdf --elastic-joints springs.yaml --initial 0,0 --prefix left_ -o out",
    "generate robot.urdf -o out --order 1 --payload forearm --name arm --gravity 9.81",
    "trajectory robot.urdf --trajectory rest_to_rest --duration 3 --csv out.csv",
    "trajectory robot.urdf --duration 5",
    "scale-time trajectory.csv --urdf robot.urdf --elastic-joints springs.yaml -o out",
    "scale-time trajectory.yaml --urdf robot.urdf --springs springs.yaml --limit joint_speed=1",
    "validate motion.csv --urdf robot.urdf --data data.yaml -o out --cutoff 10 --max-nrms 0.5",
    "validate motion.csv --urdf robot.urdf --identify friction --train 0.5 -o out",
    "identify-springs motion.csv --urdf robot.urdf --elastic-joints springs.yaml --window 0.05",
    "identify-springs motion.csv --law cubic --rate 50 --robust -o out",
    "write-back springs.yaml --urdf robot.urdf --elastic-joints springs.yaml -o out",
    "report out",
)  # fmt: skip
OPTIONS = ("--help", "--version", "--gravity", "--prefix", "--hold", "-o", "--urdf", "--nonsense")
FORMS = ("{}", "0,{}", "{0},{0}", "x={}", "elbow={}", "../{}", "-{}")
FILES = {
    "robot.urdf": valid.URDF.read_bytes(),
    "springs.yaml": valid.SPRINGS.read_bytes(),
    "data.yaml": valid.DATA,
    "motion.csv": valid.table("q", "qd", "theta", "Q", "tau"),
    "trajectory.csv": valid.table("q", "qd", every=8),
    "trajectory.yaml": valid.ROWS,
}


@st.composite
def command_lines(draw) -> tuple[list[str], dict[str, bytes]]:
    """The words of a command and its files, some of them changed."""
    words, files = draw(st.sampled_from(COMMANDS)).split(), dict(FILES)
    text = st.sampled_from([word for word in (*NUMBERS, *WORDS) if "\x00" not in word])
    for _ in range(draw(st.integers(0, 2))):
        at, new = draw(st.integers(1, len(words) - 1)), draw(text)
        what = draw(st.sampled_from(("replace", "replace", "remove", "option")))
        words[at : at + (what != "option")] = {
            "replace": [draw(st.sampled_from(FORMS)).format(new)],
            "remove": [],
            "option": [draw(st.sampled_from(OPTIONS)), new],
        }[what]
        words += ["robot.urdf"] * (len(words) == 1)
    if draw(st.booleans()):
        name = draw(st.sampled_from(sorted(files)))
        files[name] = draw(damaged(files[name]))
    return words, files


@pytest.mark.filterwarnings("ignore")
@BOUNDED(max_examples=12 * MORE)
@given(command_lines())
def test_wrong_commands_end_with_one_line(line):
    words, files = line
    with TemporaryDirectory() as outer:
        folder = Path(outer, "of", "one", "command")  # some write to ../..
        folder.mkdir(parents=True)
        for name, content in files.items():
            _write(folder, name, content)
        status, printed = run(words, folder)
    assert status in (0, 1, 2)
    if status == 2:
        assert len(printed) == 1


def run(words: list[str], folder: Path) -> tuple[object, list[str]]:
    """Exit status of a command, and its lines on standard error without usage and warnings."""
    error, before = io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(error),
            bounded(60.0),
        ):
            status: object = cli.main(words)
    except SystemExit as end:
        status = end.code
    finally:
        os.chdir(before)
    notes = ("multibody_dynamics: warning: ", "multibody_dynamics: compil")
    lines = USAGE.sub("", error.getvalue()).splitlines()
    return status, [line for line in lines if not line.startswith(notes)]


def test_a_word_that_breaks_a_line_is_printed_in_one(tmp_path):
    status, printed = run(["plot", "no\nsuch\nfile.urdf"], tmp_path)
    assert status == 2
    assert len(printed) == 1


# Inputs that once ended otherwise


def changed(arrays, **change):
    """A reader of a .npz file with some arrays changed."""
    return lambda read, folder: _npz(read, folder, arrays() | change)


def _npz(read, folder, arrays):
    file = folder / "saved.npz"
    np.savez(file, **arrays)
    return refusal(read, file)


def text(content: str, name: str = "springs.yaml"):
    return lambda read, folder: refusal(read, _write(folder, name, content.encode()))


def value(wrong) -> str:
    tree = json.loads(valid.identified())
    tree["joints"]["elbow"]["viscous"] |= wrong
    return json.dumps(tree)


def metadata(change):
    """The overview of a bag with changed metadata."""

    def read_changed(read, folder):
        bag = write_bag(folder / "bag", valid.messages())
        before = (bag / "metadata.yaml").read_text()
        (bag / "metadata.yaml").write_text(change(before))
        assert (bag / "metadata.yaml").read_text() != before
        return refusal(lambda: Recording(bag).overview)

    return read_changed


LEARNED, COVARIANCE = IterativeLearning.load, IdentifiedCovariance.read
WATCH = lambda file: valid.drift_watch().load(file)  # noqa: E731
ROBOT = partial(load_robot, valid.URDF)


@pytest.mark.parametrize(
    ("read", "make", "says"),
    [
        (read_points, text(valid.ROWS.decode().replace("0.5, 1.0]", "0.5, 1e300]", 1)),
         "too large to compute with"),
        (None, metadata(lambda before: before + "...\n [\n"), "not a readable recording"),
        (read_motion, changed(valid.arrays, joint_names="shoulder"), "expected numbers"),
        *((LEARNED, changed(valid.learned, **change), "not a learned correction") for change in
          ({"cutoff": [1.0, 2.0]}, {"joint_names": "a"}, {"rms": 1.0}, {"format": [1, 1]})),
        *((COVARIANCE, changed(valid.covariance, **change), "saved.npz") for change in
          ({"links": [1, 2]}, {"names": "a"}, {"values": "x"}, {"values": [1j, 0]})),
        *((WATCH, changed(valid.drift, **change), "saved.npz: ") for change in
          ({"segment": np.zeros(3)}, {"segment": np.zeros(9, complex)}, {"x": 1.0},
           {"facts": "[]"})),
        (read_results, text(value({"standard error": []}), "identified.json"),
         "joints.elbow.viscous"),
        (read_results, text(value({"value": 10**400}), "identified.json"), "joints.elbow.viscous"),
        (read_results, text('{"links": {}, "joints": {"value": 1}}', "identified.json"),
         "joints"),
        (read_results, text("[" * 100_000, "identified.json"), "not a JSON file"),
        (read_results, text("joints: {elbow: [1, 2]}"), "joints.elbow: expected a mapping"),
        (ROBOT, text("1.5: x\nfrictions: y\n"), "['1.5', 'frictions']"),
        (read_parameters, text("a: 1"), "expected the parameters of nodes"),
        (DemoRecording.load, changed(dict, facts="{}"), "not a recording of the demo"),
    ],
)  # fmt: skip
def test_inputs_that_once_failed(read, make, says, tmp_path):
    assert says in make(read, tmp_path)


def leaves(node, where=()):
    """The places of the numbers in a tree."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(value, dict | list):
            yield from leaves(value, (*where, key))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield *where, key


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("motion.yaml", valid.ROWS, read_points),
        ("motion.yaml", valid.POINTS, read_points),
        ("data.yaml", valid.DATA, partial(load_robot, valid.URDF)),
        ("identified.json", valid.identified(), read_results),
        ("effects.yaml", b"effects: {link_coulomb: [3.0, 1.0], backlash: 1.0e-3}",
         dyn.plant.load_effects),
        ("thresholds.yaml", valid.thresholds(),
         lambda file: load_collision_thresholds(file, valid.arm().joint_names)),
        *(("springs.yaml", (CONFIG / "elastic_joints" / f"{name}.yaml").read_bytes(),
           lambda file: dyn.load_actuators(file, tuple(yaml.safe_load(file.read_text())["joints"])))
          for name in ("every_kind", "antagonistic")),
        ("system.yaml", (CONFIG / "systems" / "slider_crank.yaml").read_bytes(), load_system),
    ],
)  # fmt: skip
def test_booleans_are_no_numbers(name, text, read, tmp_path):
    """`sec: true` was one second, and a list with one boolean was one of numbers."""
    tree = parse_yaml(text.decode())
    write = json.dumps if name.endswith(".json") else yaml.safe_dump
    places = list(leaves(tree))
    assert places
    for *above, last in places:
        wrong = copy.deepcopy(tree)
        reduce(getitem, above, wrong)[last] = True
        assert name in refusal(read, _write(tmp_path, name, write(wrong).encode())), [*above, last]


def test_numbers_and_sides_that_once_failed():
    entry = {"unit": "N m/rad", "side": ["motor"]}
    gear = Gear(1.0, {"motor": "revolute", "link": "revolute"})
    message = refusal(to_link_side, entry, "spring", "stiffness", gear)
    assert message.endswith("must be motor or link, got ['motor']")
    geared = Gear(1e300, {"motor": "revolute", "link": "revolute"})
    entry = {"unit": "kg m^2", "side": "motor"}
    message = refusal(to_link_side, entry, "motor.inertia", "inertia", geared)
    assert message == "motor.inertia: a gear ratio of 1e+300 is too large"
    message = refusal(spatial_inertia, 1e300, [1e10, 0.0, 0.0], np.eye(3))
    assert message.startswith("a mass of 1e+300 kg")


def test_a_bag_of_a_rigid_robot_is_read(tmp_path):
    """Its topics are all those with joint states; looking for none of them failed."""
    states = [each for each in valid.messages() if each[0] == "/joint_states"]
    found = read_run(write_bag(tmp_path / "states", states), valid.arm(), elastic=False)
    np.testing.assert_allclose(found.q, valid.recorded()["q"][::2], atol=1e-9)


def test_errors_of_the_package_are_always_one_short_line():
    for kind in (DynamicsError, InputError):
        assert str(kind("a.yaml:\n  bad\x0b\nvalue\n")) == "a.yaml: bad value"
        assert len(str(kind("a" * 5000))) < 1000
        assert str(kind("a  b")) == "a  b"
    message = str(InputError(f"a.yaml: got {list(range(10_000))}: expected one number"))
    assert message.startswith("a.yaml: got [0, 1, 2")
    assert message.endswith("expected one number")
