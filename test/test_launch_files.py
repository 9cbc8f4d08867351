"""Launch files: everything that they name must exist. `ros2 launch` itself is not on PyPI.

They are checked as text and then run with stand-ins for `launch` and `launch_ros`.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import runpy
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from launch_files import (
    EXECUTABLES,
    FILES,
    HELPER,
    arguments,
    calls,
    parsed,
    shared_arguments,
    text,
)
from multibody_dynamics.dynamics.control import LAWS
from multibody_dynamics.nodes.base.parameters import NodeParameters
from multibody_dynamics.nodes.base.robot import chosen_robot
from multibody_dynamics.resources import NAME, share_directory
from multibody_dynamics.tools import reference

NODES = {name for name in EXECUTABLES if name.endswith("_node")}
# Executables of other packages that launch/gazebo.launch.py starts; docs/gazebo.md names sources.
OTHERS = {
    "controller_manager": {"spawner"},
    "robot_state_publisher": {"robot_state_publisher"},
    "ros_gz_bridge": {"parameter_bridge"},
    "ros_gz_sim": {"create"},
}
PARAMETERS_OF_OTHERS = {"config_file", "robot_description", "gz_args", "on_exit_shutdown"}


@pytest.fixture(params=FILES, ids=lambda file: file.name)
def file(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def tree(file: Path) -> ast.Module:
    return parsed(file)


def values_used(tree: ast.AST) -> set[str]:
    """The launch arguments whose values are read, directly or by a function of the helper."""
    found = calls(tree, "LaunchConfiguration", "value", "value.flag", "value.items")
    used = {text(args[0]) for args, _ in found} - {""}
    for function in HELPER.body:
        if isinstance(function, ast.FunctionDef) and any(calls(tree, function.name)):
            used |= values_used(function)
    return used


def only_includes(tree: ast.Module) -> bool:
    return any(calls(tree, "IncludeLaunchDescription")) and not any(calls(tree, "own_node"))


def test_there_are_launch_files():
    assert {file.name for file in FILES} >= {"demo.launch.py", "feedforward.launch.py"}
    assert NODES


def test_it_compiles_and_returns_a_launch_description(file, tree):
    compile(tree, file.name, "exec")
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert not functions["generate_launch_description"].args.args


def test_its_docstring_shows_how_to_call_it(file, tree):
    assert f"ros2 launch {NAME} {file.name}" in (ast.get_docstring(tree) or "")


def test_no_command_gives_an_empty_argument():
    """`ros2 launch` rejects NAME:='', which the shell reduces to NAME:=."""
    pages = [*FILES, *(share_directory() / "docs").glob("*.md"), share_directory() / "README.md"]
    assert [page.name for page in pages if re.search(r":=(''|\"\")", page.read_text())] == []


def test_every_argument_has_a_description_and_a_default(tree):
    assert arguments(tree)
    for name, options in arguments(tree).items():
        assert text(options.get("description")), name
        assert "default_value" in options, name


def test_a_default_is_one_of_the_choices(tree):
    for name, options in arguments(tree).items():
        if "choices" in options:
            assert text(options["default_value"]) in ast.literal_eval(options["choices"]), name


def test_every_law_may_be_chosen():
    tree = parsed(next(file for file in FILES if file.name == "elastic_joint.launch.py"))
    assert ast.literal_eval(arguments(tree)["law"]["choices"]) == list(LAWS)


def test_arguments_used_are_those_declared(tree):
    assert values_used(tree) == set(arguments(tree))


def test_every_shared_argument_is_shared():
    declared = [text(args[0]) for file in FILES for args, _ in calls(parsed(file), "argument")]
    assert all(declared.count(name) > 1 for name in shared_arguments())


def test_a_shared_description_is_not_repeated(tree):
    shared = {text(options["description"]) for options in shared_arguments().values()}
    assert not shared & {text(options.get("description")) for _, options in calls(tree, "argument")}


def test_executables_exist(tree):
    named = [o for _, o in calls(tree, "Node", "LifecycleNode", "ExecutableInPackage")]
    own = [text(args[0]) for args, _ in calls(tree, "own_node")]
    assert named or own or only_includes(tree)
    assert {name for name in own if name} <= NODES
    for options in named:
        package, executable = text(options["package"]), text(options["executable"])
        if package != NAME:
            assert executable in OTHERS[package]
        elif executable:
            assert executable in EXECUTABLES


def test_words_that_end_in_node_name_nodes(tree):
    words = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    assert {w for w in words if re.fullmatch(r"\w+_node", str(w))} <= NODES


def test_files_named_exist(tree):
    for node in ast.walk(tree):
        assert not (isinstance(node, ast.List) and "config" in map(text, node.elts))
    for parts, _ in calls(tree, "share"):
        path = share_directory().joinpath(*map(text, parts))
        assert path.is_file(), path


def test_parameters_set_are_parameters(tree):
    """Dictionaries with constant keys, and keys assigned later, set the parameters of nodes."""
    known = {"use_sim_time"} | PARAMETERS_OF_OTHERS
    for name in NODES:
        for value in vars(import_module(f"{NAME}.nodes.{name}")).values():
            if isinstance(value, type) and issubclass(value, NodeParameters):
                known |= {field.name for field in dataclasses.fields(value)}
    keys = [k for node in ast.walk(tree) if isinstance(node, ast.Dict) for k in node.keys]
    keys += [n.slice for n in ast.walk(tree) if isinstance(n, ast.Subscript)]
    named = {text(key) for key in keys} - {""}
    assert named or only_includes(tree)
    assert named <= known


# run with stand-ins for launch and launch_ros


class StandIn:
    """An instance of any class of launch, which keeps the arguments of its constructor."""

    def __init__(self, *args, **options):
        self.args, self.options = args, options

    def perform(self, context):
        kind = type(self).__name__
        if kind == "LaunchConfiguration":
            return context[self.args[0]]
        parts = [x.perform(context) if isinstance(x, StandIn) else x for x in self.args[0]]
        if kind == "Command":
            return COMMANDS["".join(parts)]
        return "/".join(parts)


class FindPackageShare(StandIn):
    def perform(self, context):
        assert self.args == (NAME,)
        return str(share_directory())


class StandInModule(ModuleType):
    """A stand-in for a module: has any class that is requested."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        known = {"FindPackageShare": FindPackageShare}
        return known.get(name) or type(name, (StandIn,), {})


COMMANDS = {
    "xacro 'arm.urdf.xacro' prefix:=left_": (
        share_directory() / "config" / "robots" / "planar_two_link.urdf"
    ).read_text()
}
WITH_XACRO = [file for file in FILES if "xacro_arguments" in arguments(parsed(file))]


@pytest.fixture
def launched(monkeypatch, file):
    """Run a launch file with some arguments; return its actions and the context with all values."""
    modules = ["launch", "launch_ros"]
    for node in (*ast.walk(parsed(file)), *ast.walk(HELPER)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("launch"):
            modules.append(node.module)
    for name in modules:
        monkeypatch.setitem(sys.modules, name, StandInModule(name))
    monkeypatch.delitem(sys.modules, f"{NAME}.tools.launch_arguments", raising=False)

    def run(**given):
        description = runpy.run_path(str(file))["generate_launch_description"]()
        *declared, last = description.args[0]
        context = {}
        for each in declared:
            default = each.options["default_value"]
            context[each.args[0]] = default.perform({}) if isinstance(default, StandIn) else default
        assert given.keys() <= context.keys()
        context |= given
        assert set(context) == set(arguments(parsed(file)))
        if type(last).__name__ == "IncludeLaunchDescription":
            return [last], context
        return last.options["function"](context), context

    yield run
    sys.modules.pop(f"{NAME}.tools.launch_arguments", None)


def nodes_of(actions):
    """For each node of this package: its name, and the parameters set in addition to a file."""
    nodes = [action.options for action in actions if type(action).__name__ == "LifecycleNode"]
    assert all(node["package"] == NAME for node in nodes)
    tables = [[p for p in node["parameters"] if isinstance(p, dict)] for node in nodes]
    return {
        node["executable"]: {k: v for table in own for k, v in table.items()}
        for node, own in zip(nodes, tables, strict=True)
    }


def test_it_runs_with_its_defaults(launched, tmp_path, file):
    folder = {"output": str(tmp_path / "out")} if "output" in arguments(parsed(file)) else {}
    actions, _ = launched(**folder)
    assert actions
    for name, parameters in nodes_of(actions).items():
        table = getattr(import_module(f"{NAME}.nodes.{name}"), reference.NODES[name])
        known = {field.name for field in dataclasses.fields(table)} | {"use_sim_time"}
        assert parameters.keys() <= known, name


@pytest.mark.parametrize("file", WITH_XACRO, indirect=True, ids=lambda file: file.name)
def test_the_output_of_xacro_is_passed_on_unchanged(launched):
    actions, _ = launched(robot="arm.urdf.xacro", xacro_arguments="prefix:=left_")
    assert nodes_of(actions)
    for parameters in nodes_of(actions).values():
        assert parameters["robot_file"] == ""
        assert parameters["robot_description"].args == tuple(COMMANDS.values())
        assert parameters["robot_description"].options == {"value_type": str}


LIVE = [file for file in FILES if "live" in arguments(parsed(file))]


@pytest.mark.parametrize("file", LIVE, indirect=True, ids=lambda file: file.name)
def test_validation_of_a_bag_that_is_played(launched):
    actions, _ = launched(live="true", bag="a_bag", robot="arm.urdf")
    assert nodes_of(actions)["validation_node"]["robot_file"] == "arm.urdf"
    assert [type(action).__name__ for action in actions] == [
        "RegisterEventHandler",
        "LifecycleNode",
    ]


# the robot that the arguments select

OWN = str(share_directory() / "config" / "elastic_joint.yaml")


def test_every_node_knows_the_parameters_in_the_file():
    """A node warns about unknown parameters."""
    sections = yaml.safe_load(Path(OWN).read_text())
    everybody = sections.pop("/**")["ros__parameters"]
    assert len(sections) == 3
    for key, section in sections.items():
        name = key.removeprefix("/**/")
        table = getattr(import_module(f"{NAME}.nodes.{name}"), reference.NODES[name])
        known = {field.name for field in dataclasses.fields(table)}
        assert everybody.keys() | section["ros__parameters"].keys() <= known


def test_without_a_robot_the_parameters_file_decides():
    assert chosen_robot(OWN) == ({}, {}, {})


@pytest.mark.parametrize("own", ["elastic_joint", "feedforward", "task_space"])
@pytest.mark.parametrize(
    ("robot", "springs", "motors"),
    [
        ("planar_two_link", "planar_two_link", ["shoulder", "elbow"]),
        ("antagonistic_elbow", "antagonistic", ["shoulder", "elbow_agonist", "elbow_antagonist"]),
    ],
)
def test_another_robot_keeps_none_of_the_data_of_the_panda(own, robot, springs, motors):
    files = f"config/robots/{robot}.urdf", f"config/elastic_joints/{springs}.yaml"
    own = str(share_directory() / "config" / f"{own}.yaml")
    assert chosen_robot(own, *files) == (
        {"robot_file": files[0]},
        {"elastic_joints_file": files[1], "command_joints": motors},
        {"initial_positions": [0.0, 0.0]},
    )
    given = chosen_robot(own, *files, motors[:1], [-0.3, 0.2])
    assert given[1]["command_joints"] == motors[:1]
    assert given[2] == {"initial_positions": [-0.3, 0.2]}


def test_another_robot_without_springs_does_not_get_those_of_the_panda():
    _, motors, _ = chosen_robot(OWN, "config/robots/planar_two_link.urdf")
    assert motors == {"elastic_joints_file": "", "command_joints": ["shoulder", "elbow"]}


def test_a_copy_of_the_parameters_file_counts_as_the_original(tmp_path):
    """`ros2 launch` uses the copy in the share folder of the installation."""
    (tmp_path / "copy.yaml").write_text(Path(OWN).read_text())
    assert chosen_robot(str(tmp_path / "copy.yaml"), "config/robots/planar_two_link.urdf")[1]


def test_the_output_of_xacro_replaces_the_robot_file():
    text = (share_directory() / "config" / "robots" / "planar_two_link.urdf").read_text()
    links, motors, _ = chosen_robot(OWN, "two_link.urdf.xacro", robot_description=text)
    assert links == {"robot_file": "", "robot_description": text}
    assert motors["command_joints"] == ["shoulder", "elbow"]


def test_a_parameters_file_of_the_user_is_left_alone(tmp_path):
    own = tmp_path / "own.yaml"
    own.touch()
    robot = "config/robots/planar_two_link.urdf"
    assert chosen_robot(str(own), robot) == ({"robot_file": robot}, {}, {})
