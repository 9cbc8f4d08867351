"""Launch files, without ros2 launch, which is not on PyPI: what they name must be there."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from multibody_dynamics.nodes.base.parameters import NodeParameters
from multibody_dynamics.nodes.base.robot import chosen_robot
from multibody_dynamics.resources import NAME, share_directory
from multibody_dynamics.tools import reference

FILES = sorted((share_directory() / "launch").glob("*.launch.py"))
SETUP = (Path(__file__).parents[1] / "setup.py").read_text().replace("{name}", NAME)
EXECUTABLES = set(re.findall(r'"(\w+) = [\w.]+:main"', SETUP))
NODES = {name for name in EXECUTABLES if name.endswith("_node")}
# What launch/gazebo.launch.py starts of others, by the sources that docs/gazebo.md names.
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
    return ast.parse(file.read_text(), file.name)


def calls(tree: ast.Module, *names: str) -> Iterator[tuple[list[ast.expr], dict[str, ast.expr]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node.args, {keyword.arg: keyword.value for keyword in node.keywords}


def text(node: ast.expr | None) -> str:
    """A string constant, or the constant of that name in the package's own launch files."""
    if isinstance(node, ast.Name) and node.id == "PACKAGE":
        return NAME
    return str(node.value) if isinstance(node, ast.Constant) else ""


def arguments(tree: ast.Module) -> dict[str, dict[str, ast.expr]]:
    return {text(args[0]): options for args, options in calls(tree, "DeclareLaunchArgument")}


def accepted(name: str) -> dict[str, dict[str, ast.expr]]:
    """The arguments of one of our launch files, and of those of ours that it includes."""
    tree = ast.parse((share_directory() / "launch" / name).read_text())
    included = {text(node) for node in ast.walk(tree)} & {file.name for file in FILES}
    return {k: v for other in included for k, v in accepted(other).items()} | arguments(tree)


def only_includes(tree: ast.Module) -> bool:
    return any(calls(tree, "IncludeLaunchDescription")) and not any(calls(tree, "LifecycleNode"))


def test_there_are_launch_files():
    assert {file.name for file in FILES} >= {"demo.launch.py", "feedforward.launch.py"}
    assert NODES


def test_it_compiles_and_makes_a_description(file, tree):
    compile(tree, file.name, "exec")
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert not functions["generate_launch_description"].args.args


def test_it_says_what_it_is_for_and_how_to_call_it(file, tree):
    assert f"ros2 launch {NAME} {file.name}" in (ast.get_docstring(tree) or "")


def test_no_command_gives_an_empty_argument():
    """`ros2 launch` refuses NAME:='', of which the shell leaves NAME:=."""
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


def test_arguments_used_are_those_declared(tree):
    used = {text(args[0]) for args, _ in calls(tree, "LaunchConfiguration", "value")} - {""}
    assert used == set(arguments(tree))


def test_executables_are_there(tree):
    named = [o for _, o in calls(tree, "Node", "LifecycleNode", "ExecutableInPackage")]
    assert named or only_includes(tree)
    for options in named:
        package, executable = text(options["package"]), text(options["executable"])
        if package != NAME:
            assert executable in OTHERS[package]
        elif executable:
            assert executable in EXECUTABLES


def test_words_that_name_nodes_name_nodes(tree):
    words = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    assert {w for w in words if re.fullmatch(r"\w+_node", str(w))} <= NODES


def test_files_named_are_there(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.List):
            parts = [text(item) for item in node.elts]
            if "config" in parts:
                path = share_directory().joinpath(*parts[parts.index("config") :])
                assert path.is_file(), path


def test_parameters_set_are_parameters(tree):
    """Dictionaries with constant keys, and keys assigned later, set parameters of a node."""
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


OWN = str(share_directory() / "config" / "elastic_joint.yaml")


def test_every_node_knows_what_the_parameters_file_tells_it():
    """It warns of the rest."""
    sections = yaml.safe_load(Path(OWN).read_text())
    everybody = sections.pop("/**")["ros__parameters"]
    assert len(sections) == 3
    for key, section in sections.items():
        name = key.removeprefix("/**/")
        table = getattr(import_module(f"{NAME}.nodes.{name}"), reference.NODES[name])
        known = {field.name for field in dataclasses.fields(table)}
        assert everybody.keys() | section["ros__parameters"].keys() <= known


def test_the_panda_is_left_to_the_parameters_file():
    assert chosen_robot(OWN) == ({}, {}, {})


@pytest.mark.parametrize("own", ["elastic_joint", "feedforward", "task_space"])
@pytest.mark.parametrize(
    ("robot", "springs", "motors"),
    [
        ("planar_two_link", "planar_two_link", ["shoulder", "elbow"]),
        ("antagonistic_elbow", "antagonistic", ["shoulder", "elbow_agonist", "elbow_antagonist"]),
    ],
)
def test_another_robot_keeps_nothing_of_the_panda(own, robot, springs, motors):
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


def test_another_robot_without_springs_is_not_given_those_of_the_panda():
    _, motors, _ = chosen_robot(OWN, "config/robots/planar_two_link.urdf")
    assert motors == {"elastic_joints_file": "", "command_joints": ["shoulder", "elbow"]}


def test_a_copy_of_the_parameters_file_is_as_good(tmp_path):
    """As of ros2 launch from a checkout, whose share folder is elsewhere."""
    (tmp_path / "copy.yaml").write_text(Path(OWN).read_text())
    assert chosen_robot(str(tmp_path / "copy.yaml"), "config/robots/planar_two_link.urdf")[1]


def test_a_robot_in_xacro_is_handed_over_as_text():
    text = (share_directory() / "config" / "robots" / "planar_two_link.urdf").read_text()
    links, motors, _ = chosen_robot(OWN, "two_link.urdf.xacro", robot_description=text)
    assert links == {"robot_file": "", "robot_description": text}
    assert motors["command_joints"] == ["shoulder", "elbow"]


def test_a_parameters_file_of_ones_own_is_left_alone(tmp_path):
    own = tmp_path / "own.yaml"
    own.touch()
    robot = "config/robots/planar_two_link.urdf"
    assert chosen_robot(str(own), robot) == ({"robot_file": robot}, {}, {})
