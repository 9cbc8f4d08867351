# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Every command and YAML block in README and docs is run, or checked against its reader.

`multibody_dynamics ...` is run if it takes seconds; otherwise its options are parsed. For
`ros2 ...` and other programs that need an installed ROS 2, names are looked up: executables, launch
arguments, topics, parameters, messages. Commands without a check fail.
"""

import argparse
import re
import shlex
import shutil
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from operator import itemgetter

import numpy as np
import pytest
import yaml

from bag_files import messages_of, motion, write_bag
from identified_arms import planar_arm
from launch_files import EXECUTABLES, accepted
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.nodes.base.parameters import ParameterServer
from multibody_dynamics.resources import NAME
from multibody_dynamics.tools import cli
from multibody_dynamics.validation.settings import load_robot
from page_scripts import reference
from pages import PAGES, ROOT, page_id

PAGES = [*PAGES, ROOT / "CONTRIBUTING.md"]
PEERS = {"dynibo", "casadi"}  # of the benchmark, which compares with them if installed
# These need minutes, nodes, a cluster or another bag, and are tested elsewhere.
NOT_RUN = {"demo", "study", "task-demo", "compose", "monitor", "record"}
NOT_RUN |= {"identify", "prove", "loop", "send-pose", "view", "stream"}
NOT_RUN |= {"--live", "--dask", "--processes", "--identify", "--limit", "--prefix", "--seconds"}
# Programs of other projects.
ELSEWHERE = {"colcon", "plotjuggler", "rosdep", "rviz2", "source", "sudo", "xacro"}
OURS = {"make", "multibody_dynamics", "pip", "ros2", "scripts/environment.sh"}


def commands(page):
    """The words of all commands, in indented blocks and in the text."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\\\n +", "", text)
    lines = re.findall(r"^    (\S.*)$", text, re.MULTILINE)
    for line in lines + re.findall(r"`([^`]+)`", text):
        words = shlex.split(line, comments=True) if line.split()[0] in OURS | ELSEWHERE else []
        if len(words) > 1:
            yield words


def yaml_blocks(page):
    return re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)


def topics(node):
    """Types by absolute name, from the table on the node's page."""
    text = (ROOT / "docs" / f"{node}.md").read_text()
    rows = re.findall(r"^\| (`.+?`) \| (\w+/\w+) \|", text, re.MULTILINE)
    names = ((name, kind) for cell, kind in rows for name in re.findall(r"`([^`]+)`", cell))
    return {absolute(name, node): kind for name, kind in names}


def absolute(name, node):
    return "/" + name.replace("~", node).lstrip("/")


def parameters(node):
    module = import_module(f"multibody_dynamics.nodes.{node}")
    return getattr(module, reference.NODES[node])


# Checks of a command, by its first word


def of_multibody_dynamics(words, run):
    ros = words.index("--ros-args") if "--ros-args" in words else len(words)
    if len(words) == 1 and words[0] not in NOT_RUN:  # only mentioned
        words = [*words, "--help"]
    if words[-1] == "--help":
        with pytest.raises(SystemExit) as left:
            cli.make_parser().parse_args(words)
        assert left.value.code == 0
        return
    options = cli.make_parser().parse_args(words[:ros])
    if ros < len(words):
        check_ros_arguments(words[ros:], options.nodes)
    if run and not NOT_RUN & set(words):
        assert cli.main(words) == 0


def check_ros_arguments(words, nodes):
    """ROS can parse the arguments and their parameter files, and remapped topics exist."""
    import rclpy

    context = rclpy.Context()
    rclpy.init(args=["documented", *words], context=context)
    context.shutdown()
    known = {name for node in nodes for name in topics(node)}
    for rule in (new for flag, new in pairwise(words) if flag == "-r"):
        name = rule.split(":=")[0]
        assert name == "__ns" or known & {absolute(name, node) for node in nodes}, rule


def of_ros2(words, run):
    verb, *words = words
    if len(words) > 1 or verb == "bag":  # else only mentioned
        globals()[f"of_ros2_{verb}"](*words)


def of_ros2_run(package, executable, *words):
    if package == NAME:
        assert executable in EXECUTABLES
        if executable == package:
            of_multibody_dynamics(words, run=False)
        else:
            check_ros_arguments(words, [executable])
    else:
        assert (package, executable) == ("controller_manager", "spawner")
        files = (ROOT / "config" / "ros2_control").glob("*.yaml")
        named = {
            key for file in files for key in re.findall(r"^ *([\w/*]+):", file.read_text(), re.M)
        }
        assert {word for word in words if word.endswith(("_controller", "_broadcaster"))} <= named


def of_ros2_launch(package, file, *words):
    if package == NAME:
        declared = accepted(file)
        for word in words:
            name, value = word.split(":=", 1)
            assert name in declared, f"{file} has no argument {name}"
            choices = declared[name].get("choices")
            assert choices is None or value in choices


def of_ros2_topic(verb, *words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--once", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("-r")
    parser.add_argument("-t")
    parser.add_argument("topic")
    parser.add_argument("kind", nargs="?", default="")
    parser.add_argument("values", nargs="?", default="{}")
    given = parser.parse_args(words)
    name = absolute(given.topic, "")
    kinds = {topics(node)[name] for node in reference.NODES if name in topics(node)}
    assert kinds
    if verb == "pub":
        package, _, kind = given.kind.partition("/msg/")
        assert kinds == {f"{package}/{kind}"}
        fill(getattr(import_module(f"{package}.msg"), kind)(), yaml.safe_load(given.values))


def fill(message, values):
    """Set the fields of a message; unknown fields and values of other types raise."""
    for field, value in values.items():
        if isinstance(value, dict):
            fill(getattr(message, field), value)
        else:
            setattr(message, field, value)


def of_ros2_param(verb, node, name, value):
    field = parameters(node.strip("/")).__dataclass_fields__[name]
    assert (verb, field.metadata["live"]) == ("set", True)
    assert isinstance(yaml.safe_load(value), type(field.default))


def of_ros2_lifecycle(verb, node, transition):
    assert (verb, transition) == ("set", "configure")


def of_ros2_security(verb, *words):
    """sros2 is not among the wheels; its files are those of test_security_policy.py."""
    assert verb in ("create_keystore", "generate_artifacts")
    for file in re.findall(rf"{NAME}\)/(\S+)", " ".join(words)):
        assert (ROOT / file).is_file(), file


def of_ros2_bag(verb="play", *bags):
    assert verb == "play"


def of_make(words, run):
    target, *settings = words
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for setting in settings:
        assert setting[:5] == "ARGS="
        if target == "benchmark":
            program = (ROOT / "benchmark" / "__main__.py").read_text()
            assert all(f'"{word}"' in program for word in shlex.split(setting[5:]))
        else:
            assert target == "demo"
            of_multibody_dynamics(["demo", *shlex.split(setting[5:])], run)


def of_environment(words, run):
    """Check the command that scripts/environment.sh runs."""
    command, *words = words
    if command == "multibody_dynamics":
        of_multibody_dynamics(words, run)
    elif command in reference.NODES:
        check_ros_arguments(words, [command])
    elif command == "pip":
        of_pip(words, run)
    elif words[:1] == ["-m"]:
        assert find_spec(words[1])
    else:
        assert command in ("bash", "python", "pytest", "COMMAND")
        files = words[:1] if command == "python" else words  # the rest is for the program
        assert all((ROOT / word).is_file() for word in files if word != "--help")


def of_pip(words, run):
    extras = re.findall(r'^        "(\w+)": \[', (ROOT / "setup.py").read_text(), re.MULTILINE)
    assert words[0] == "install"
    for word in words[1:]:
        own = {".", "-e", *(f"multibody_dynamics[{extra}]" for extra in extras)}
        assert word in own | PEERS


CHECKS = {
    "make": of_make,
    "multibody_dynamics": of_multibody_dynamics,
    "pip": of_pip,
    "ros2": of_ros2,
    "scripts/environment.sh": of_environment,
}


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    """A folder with the files named by the commands, for a two-link arm."""
    folder = tmp_path_factory.mktemp("workshop")
    robot = (ROOT / "config" / "robots" / "planar_two_link.urdf").read_text()
    springs = ROOT / "config" / "elastic_joints" / "planar_two_link.yaml"
    for name in ("ROBOT.urdf", "robot.urdf", "ROBOT"):
        (folder / name).write_text(robot)

    for name in ("SPRINGS.yaml", "springs.yaml", "motors.yaml"):
        (folder / name).write_text(springs.read_text())
    (folder / "config").symlink_to(ROOT / "config")

    model = dyn.load_urdf(folder / "ROBOT.urdf")
    joints = model.joint_names
    t, rows = motion(model, 2000, noise=1e-5)
    q, qd, tau = np.moveaxis(rows, 1, 0)
    theta = q + tau / [500.0, 250.0]  # N m/rad, as in that file
    motors = np.stack((theta, qd, tau), axis=1)
    (folder / "recording_1").mkdir()
    states = messages_of(t, rows, joints)
    both = sorted(states + messages_of(t, motors, joints, "/motor_states"), key=itemgetter(1))
    write_bag(folder / "BAG", both)
    write_bag(folder / "recording_1" / "states", states)
    names = [f"{what} {joint}" for what in ("q", "theta", "Q", "tau") for joint in joints]
    table = np.column_stack((t, q, theta, tau, tau))
    header = ",".join(["t", *names])
    np.savetxt(folder / "motion.csv", table, delimiter=",", comments="", header=header)
    np.savez(folder / "motion.npz", t=t, q=q, theta=theta, Q=tau, joint_names=joints)
    shutil.copytree(planar_arm().files.identified, folder / "identified")  # of the same arm
    (folder / "plan").mkdir()
    for node in reference.NODES:
        blocks = yaml_blocks(ROOT / "docs" / f"{node}.md")
        (block,) = (each for each in blocks if each.startswith(node))
        (folder / f"{node.removesuffix('_node')}.yaml").write_text(block)
    (folder / "elastic_robot_simulator.yaml").rename(folder / "simulator.yaml")
    (folder / "plan" / "fourier.yaml").write_text((folder / "trajectory.yaml").read_text())
    (folder / "ROBOT.yaml").write_text((folder / "simulator.yaml").read_text())
    return folder


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_documented_commands_work(page, workshop, monkeypatch):
    monkeypatch.chdir(workshop)
    for first, *words in commands(page):
        if first in OURS:
            CHECKS[first](words, run=True)


def test_yaml_blocks_can_be_read(tmp_path, ros_domain_id):
    import rclpy
    from rclpy.node import Node

    file = tmp_path / "block.yaml"
    for page in PAGES:
        for block in yaml_blocks(page):
            file.write_text(block)
            content = yaml.safe_load(block)
            if content.keys() & {"friction", "payload"}:
                load_robot(ROOT / "config" / "robots" / "panda.urdf", file)
            elif content.keys() & {"couplings", "transmission"}:
                assert len(content) == 1
                assert dyn.model.load_couplings(file)
            elif "loops" in content:
                arms = dyn.model_from_screws(
                    [-1, 0, -1, 2], [dyn.revolute((0, 0, 1))] * 4, [np.eye(4)] * 4, [np.eye(6)] * 4,
                    joint_names=("left", "left_elbow", "right", "right_elbow"),
                    body_names=("left_arm", "left_rod", "right_arm", "right_rod"),
                )  # fmt: skip
                assert dyn.mechanisms.load_mechanism(file, arms).constraints
            elif "effects" in content:
                dyn.plant.load_effects(file)
            elif "bodies" in content:
                dyn.integration.load_system(file)
            elif "moveit_controller_manager" in content:  # MoveIt's configuration for our nodes
                controllers = content["moveit_simple_controller_manager"]
                assert set(controllers["controller_names"]) <= set(reference.NODES)
                assert controllers.keys() == {"controller_names", *controllers["controller_names"]}
            else:
                for name, entry in content.items():
                    context = rclpy.Context()
                    arguments = ["--ros-args", "--params-file", str(file)]
                    rclpy.init(args=arguments, context=context, domain_id=ros_domain_id)
                    node = Node(name, context=context)
                    ParameterServer(node, parameters(name))
                    missing = {p for p in entry["ros__parameters"] if not node.has_parameter(p)}
                    assert not missing, f"{page.name}: {name} has no parameter {missing}"
                    node.destroy_node()
                    context.shutdown()
