# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A robot for Gazebo, tested without Gazebo: the same mechanics as ours, and consistent names."""

import re
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model.inertia import decompose
from multibody_dynamics.nodes.base.parameters import NodeParameters
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.robot import gazebo
from rejections import assert_rejected
from robots import panda

CONFIG = share_directory() / "config"
LAUNCH = (share_directory() / "launch" / "gazebo.launch.py").read_text()
SPRINGS = CONFIG / "elastic_joints" / "panda.yaml"
ONE = """<robot name="one"><link name="base"/><link name="arm"><inertial>
<origin xyz="0.2 0.1 -0.3" rpy="0.1 0.2 0.3"/><mass value="2"/>
<inertia ixx="0.03" iyy="0.04" izz="0.05" ixy="0.001" ixz="0.002" iyz="-0.003"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.1"/><limit lower="-2" upper="2" effort="50" velocity="3"/>
</joint></robot>"""


def springs(stiffness=400.0, inertia=0.2, **motor):
    actuator = dyn.elastic.SeriesElastic(
        dyn.elastic.Motor(inertia, **motor), dyn.elastic.LinearSpring(stiffness)
    )
    return dyn.Actuators(("j",), (actuator,))


@pytest.fixture
def one(tmp_path):
    file = tmp_path / "one.urdf"
    file.write_text(ONE)
    return file


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return gazebo.prepare(tmp_path_factory.mktemp("robot"), prefix="left_", namespace="left")


def urdf(text):
    """The robot of a URDF text without the joint losses, which only Gazebo uses."""
    return dyn.parse_urdf(re.sub("<dynamics.*?/>", "", text))


def test_one_elastic_joint_moves_as_in_our_simulation(one):
    """M q'' + g = K (theta - q), J theta'' + K (theta - q) = tau, computed in two ways.

    The base is fixed, and the rotor's spin therefore couples with no other motion.
    """
    K, J = 400.0, 0.2
    made = gazebo.convert(one, springs(K, J), controllers="c.yaml")
    plant = urdf(made.plant)
    assert plant.joint_names == ("j_motor", "j_spring")
    q, qd, theta, thetad, tau = 0.4, 0.7, 0.45, -0.2, 3.0
    Q = K * (theta - q)
    accelerations = dyn.forward_dynamics(plant, [theta, q - theta], [thetad, qd - thetad], [tau, Q])
    qdd = dyn.forward_dynamics(dyn.load_urdf(one), [q], [qd], [Q])[0]
    np.testing.assert_allclose(accelerations, [(tau - Q) / J, qdd - (tau - Q) / J], rtol=1e-9)


def test_the_panda_rests_in_its_initial_pose(files):
    """The springs carry the weight of the controller's links; the motors hold the springs."""
    plant, links = urdf(files.plant.read_text()), urdf(files.links.read_text())
    initial = {
        joint.get("name"): float(joint.find("state_interface/param").text)
        for joint in ElementTree.parse(files.plant).getroot().iter("joint")
        if joint.find("state_interface") is not None
    }
    x = np.array([initial[name] for name in plant.joint_names])
    rest = np.zeros_like(x)
    tau = dyn.inverse_dynamics(plant, x, rest, rest).tau
    stiffness = {
        gz.get("reference"): float(gz.find("springStiffness").text)
        for gz in ElementTree.parse(files.plant).getroot().findall("gazebo")
        if gz.get("reference")
    }
    for j, joint in enumerate(plant.joint_names):
        if joint in stiffness:
            assert tau[j] == pytest.approx(-stiffness[joint] * x[j], abs=1e-6)
    q = x[::2] + x[1::2]
    np.testing.assert_allclose(q, gazebo.READY, atol=1e-9)
    held = dyn.inverse_dynamics(links, q, np.zeros(7), np.zeros(7)).tau
    np.testing.assert_allclose(held, tau[1::2], atol=1e-9)


def test_rotors_load_the_links_as_in_gazebo(files):
    """With rigid springs and each rotor fixed to the link that carries it, the kinetic energy is
    that of the controller's links, except for the spin; at the last joint nothing else turns."""
    plant, links = urdf(files.plant.read_text()), urdf(files.links.read_text())
    q = np.linspace(-1.0, 1.0, 7)
    M = dyn.mass_matrix(plant, np.column_stack([q, 0.0 * q]).ravel())
    expected = dyn.mass_matrix(links, q)
    inertia = dyn.load_actuators(files.springs, links.joint_names).motor_inertia
    assert M[-1, -1] == pytest.approx(expected[-1, -1])
    assert M[0, 0] == pytest.approx(expected[0, 0] + inertia[0])


def test_inertias_are_physically_possible(files):
    for body, M in zip((m := urdf(files.plant.read_text())).body_names, m.inertias, strict=True):
        mass, _, about_com = decompose(M)
        a, b, c = np.linalg.eigvalsh(about_com)
        assert mass > 0.0, body
        assert a > 0.0, body
        assert a + b >= c * (1.0 - 1e-9), body


def test_gazebo_keeps_the_base_and_all_links(files, one):
    """sdformat leaves out a link without mass that is fixed to the world or moved by a joint, and
    the joints to its children then have no parent."""
    plants = [files.plant.read_text()]
    own_world = ONE.replace(
        "</robot>",
        """<link name="world"/><joint name="mount" type="fixed">
    <parent link="world"/><child link="base"/><origin xyz="0 0 1"/></joint></robot>""",
    )
    for text in (ONE, own_world):
        one.write_text(text)
        plants.append(gazebo.convert(one, springs(), controllers="").plant)
    for plant in plants:
        root = ElementTree.fromstring(plant)
        kept = [
            joint.find("child").get("link")
            for joint in root.findall("joint")
            if joint.get("type") != "fixed" or joint.find("parent").get("link") == "world"
        ]
        masses = {
            link.get("name"): float(link.find("inertial/mass").get("value"))
            for link in root.findall("link")
            if link.find("inertial") is not None
        }
        assert len(kept) in (3, 15)
        assert all(masses.get(link, 0.0) > 0.0 for link in kept)


def test_a_moving_link_without_mass_is_rejected(one):
    """sdformat would leave it out with only a warning, as well as all links behind it."""
    elbow = """<link name="cross"/><joint name="elbow" type="revolute"><parent link="cross"/>
    <child link="arm"/><axis xyz="1 0 0"/><limit lower="-2" upper="2" effort="50" velocity="3"/>
    </joint></robot>"""
    one.write_text(
        ONE.replace('<child link="arm"/>', '<child link="cross"/>').replace("</robot>", elbow)
    )
    series = springs().actuators[0]
    with pytest.raises(dyn.InputError, match="link 'cross' has no mass"):
        gazebo.convert(one, dyn.Actuators(("j", "elbow"), (series, series)), controllers="")


def test_unsupported_joints_are_rejected(one, tmp_path):
    motor, linear = dyn.elastic.Motor(0.1), dyn.elastic.LinearSpring(100.0)
    rail = tmp_path / "rail.urdf"
    rail.write_text(ONE.replace("revolute", "prismatic"))

    def converted(*actuator, file=one, **options):
        actuators = dyn.Actuators(("j",), actuator) if actuator else springs()
        return lambda: gazebo.convert(file, actuators, controllers="", **options)

    assert_rejected(
        (converted(dyn.elastic.Rigid(motor)), "joint 'j'"),
        (converted(dyn.elastic.SeriesElastic(motor, linear, damping=1.0)), "joint 'j'"),
        (
            converted(dyn.elastic.SeriesElastic(motor, dyn.elastic.CubicSpring(100.0, 10.0))),
            "joint 'j'",
        ),
        (converted(initial=[1.0, 2.0]), "expected 1 positions"),
        (converted(file=rail), "'j' is prismatic"),
        (lambda: gazebo.prepare(tmp_path, robot=str(rail)), "springs are missing"),
        (lambda: gazebo.prepare(tmp_path, initial="0,x"), "not a comma-separated list of numbers"),
    )


def test_locked_joints_and_what_follows_them_are_fixed(tmp_path):
    """A gripper with a mimic on the arm, locked: the links of both files are where ours are."""
    finger = (
        '<joint name="{0}" type="prismatic"><parent link="arm"/><child link="{0}_link"/>'
        '<axis xyz="0 {1} 0"/><origin xyz="0.4 0.1 0" rpy="0.2 0.3 -0.1"/>'
        '<limit lower="0" upper="0.04" effort="9" velocity="1"/>{2}</joint><link name="{0}_link"/>'
    )
    fingers = finger.format("left", 1, "") + finger.format(
        "right", -1, '<mimic joint="left" multiplier="0.5" offset="0.01"/>'
    )
    file = tmp_path / "gripper.urdf"
    file.write_text(ONE.replace("</robot>", fingers + "</robot>"))
    described = yaml.safe_load(SPRINGS.read_text())
    springs_file = tmp_path / "springs.yaml"
    springs_file.write_text(yaml.safe_dump({"joints": {"j": described["joints"]["panda_joint1"]}}))
    words = dict(robot=str(file), elastic_joints=str(springs_file))
    made = gazebo.prepare(tmp_path / "made", lock="left=0.02", **words)
    assert made.joints == ["j"]
    own = dyn.load_urdf(file, lock={"left": 0.02})
    links = dyn.load_urdf(made.links)
    for name in ("left_link", "right_link"):
        wanted = dyn.frame_pose(own, [0.3], name)
        np.testing.assert_allclose(dyn.frame_pose(links, [0.3], name), wanted, atol=1e-12)
    plant = urdf(made.plant.read_text())
    assert plant.joint_names == ("j_motor", "j_spring")
    np.testing.assert_allclose(dyn.frame_pose(plant, [0.2, 0.1], "right_link"), wanted, atol=1e-12)
    assert_rejected(
        (lambda: gazebo.prepare(tmp_path, **words), "joint right depend --lock MuJoCo"),
        (lambda: gazebo.prepare(tmp_path, lock="left=open", **words), "lock: 'left=open' finger="),
        (lambda: gazebo.prepare(tmp_path, lock="thumb=0", **words), "thumb", dyn.DynamicsError),
    )


def test_every_name_has_the_prefix(files):
    for file in (files.plant, files.links):
        root = ElementTree.parse(file).getroot()
        names = [e.get("name") for tag in ("link", "joint") for e in root.iter(tag)]
        assert {n for n in names if not n.startswith("left_")} <= {"world"}
        assert urdf(file.read_text()).n == {files.plant: 14, files.links: 7}[file]


# The names of Gazebo and ros2_control in their sources, of the versions in docs/gazebo.md


def test_plugin_and_interfaces_are_those_of_gz_ros2_control(files):
    root = ElementTree.parse(files.plant).getroot()
    assert root.findtext("ros2_control/hardware/plugin") == "gz_ros2_control/GazeboSimSystem"
    plugin = root.find("gazebo/plugin")
    assert plugin.get("filename") == "gz_ros2_control-system"
    assert plugin.get("name") == "gz_ros2_control::GazeboSimROS2ControlPlugin"
    assert Path(plugin.findtext("parameters")) == files.controllers
    assert plugin.findtext("ros/namespace") == "left"
    joints = {joint.get("name") for joint in root.findall("joint")}
    for joint in root.findall("ros2_control/joint"):
        assert joint.get("name") in joints
        commands = [c.get("name") for c in joint.findall("command_interface")]
        assert commands == (["effort"] if joint.get("name").endswith("_motor") else [])
        assert [s.get("name") for s in joint.findall("state_interface")] == ["position", "velocity"]


def test_controllers_have_the_motors_in_our_order(files):
    made = yaml.safe_load(files.controllers.read_text())
    manager = made["/**/controller_manager"]["ros__parameters"]
    controller = made["/**/effort_controller"]["ros__parameters"]
    kind = "forward_command_controller/ForwardCommandController"
    assert manager["effort_controller"]["type"] == controller["type"] == kind
    assert controller["interface_name"] == "effort"
    assert controller["joints"] == [joint + "_motor" for joint in files.joints]
    assert dyn.load_actuators(files.springs, files.joints).n == 7


def test_the_world_is_sdf_with_the_step_of_the_controllers():
    root = ElementTree.parse(CONFIG / "gazebo" / "world.sdf").getroot()
    assert root.tag == "sdf"
    step = float(root.findtext("world/physics/max_step_size"))
    manager = yaml.safe_load((CONFIG / "gazebo" / "controllers.yaml").read_text())
    assert step * manager["/**/controller_manager"]["ros__parameters"]["update_rate"] == 1.0
    gravity = [float(x) for x in root.findtext("world/gravity").split()]
    np.testing.assert_array_equal(gravity, panda().gravity)
    plugins = {plugin.get("name"): plugin.get("filename") for plugin in root.iter("plugin")}
    assert plugins == {
        "gz::sim::systems::Physics": "gz-sim-physics-system",
        "gz::sim::systems::UserCommands": "gz-sim-user-commands-system",
        "gz::sim::systems::SceneBroadcaster": "gz-sim-scene-broadcaster-system",
    }


def test_bridged_topics_have_message_types():
    for line in yaml.safe_load((CONFIG / "gazebo" / "bridge.yaml").read_text()):
        assert set(line) == {
            *("ros_topic_name", "gz_topic_name", "ros_type_name", "gz_type_name", "direction")
        }
        package, _, name = line["ros_type_name"].split("/")
        assert hasattr(import_module(f"{package}.msg"), name)
        assert line["gz_type_name"] == f"gz.msgs.{name}"
        assert line["direction"] in ("GZ_TO_ROS", "ROS_TO_GZ", "BIDIRECTIONAL")


def test_the_topics_of_the_launch_are_those_of_the_nodes():
    """Remappings lead from names of our nodes to names of the controllers in the YAML file."""
    controllers = yaml.safe_load((CONFIG / "gazebo" / "controllers.yaml").read_text())
    manager = controllers["/**/controller_manager"]["ros__parameters"]
    for topic in re.findall(r'^[A-Z]+ = "(\w+/\w+)"', LAUNCH, re.MULTILINE):
        assert topic.split("/")[0] in manager
    assert controllers["/**/joint_state_broadcaster"]["ros__parameters"]["use_local_topics"]
    nodes = Path(gazebo.__file__).parents[2] / "nodes"
    assert '"series_joint_states"' in (nodes / "series_joints_node.py").read_text()
    for outputs in ("controller_outputs", "feedforward_setup"):
        assert '"~/commands"' in (nodes / "following" / f"{outputs}.py").read_text()


def test_the_nodes_of_gazebo_have_the_parameters_of_the_file():
    for name, values in yaml.safe_load((CONFIG / "gazebo" / "nodes.yaml").read_text()).items():
        check(name.removeprefix("/**/"), values["ros__parameters"])


# config/ros2_control

# Controllers and those of their parameters that we set, as the sources have them.
CONTROLLERS = {
    "joint_state_broadcaster/JointStateBroadcaster": {
        *("use_local_topics", "joints", "interfaces", "map_interface_to_joint_state")
    },
    "forward_command_controller/ForwardCommandController": {"joints", "interface_name"},
    "joint_trajectory_controller/JointTrajectoryController": {
        *("joints", "command_interfaces", "state_interfaces", "interpolation_method"),
        *("interpolate_from_desired_state", "allow_nonzero_velocity_at_trajectory_end", "gains"),
    },
}
EXAMPLES = sorted((CONFIG / "ros2_control").glob("*_effort.yaml"))


def check(node, values):
    """Raises for unknown parameters of our node, and for values out of bounds."""
    module = import_module(f"multibody_dynamics.nodes.{node}")
    tables = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, NodeParameters)
    ]
    own = max(tables, key=lambda table: len(table.__mro__))  # the others are its bases
    own(**values).check()


@pytest.mark.parametrize("file", [*EXAMPLES, CONFIG / "gazebo" / "controllers.yaml"])
def test_controllers_and_their_parameters_have_the_names_of_the_sources(file):
    made = {
        name.removeprefix("/**/"): values["ros__parameters"]
        for name, values in yaml.safe_load(file.read_text()).items()
    }
    for name, values in made.pop("controller_manager").items():
        if name in ("update_rate", "use_sim_time"):
            continue
        own = made.pop(name)
        assert own.pop("type") == values["type"]  # where the spawner reads it
        assert set(own) <= CONTROLLERS[values["type"]]
    for node, values in made.items():  # the rest is ours
        check(node, values)


def test_a_point_arrives_before_it_is_due_and_is_due_before_the_next():
    """joint_trajectory_controller rejects a point in the past, and drops one that is not due within
    the cycle that receives it, which is the first or the second after that of the state."""
    made = yaml.safe_load((CONFIG / "ros2_control" / "trajectory_effort.yaml").read_text())
    period = 1.0 / made["/**/controller_manager"]["ros__parameters"]["update_rate"]
    lookahead = made["/**/feedforward_node"]["ros__parameters"]["lookahead"]
    assert period < lookahead < 2.0 * period
    assert made["/**/joint_trajectory_controller"]["ros__parameters"][
        "interpolate_from_desired_state"
    ]


def test_examples_of_ros2_control_are_consistent():
    joints = list(panda().joint_names)
    for file in EXAMPLES:
        content = yaml.safe_load(file.read_text())
        made = {name.removeprefix("/**/"): entry for name, entry in content.items()}
        made.pop("feedforward_node", None)
        manager = made.pop("controller_manager")["ros__parameters"]
        assert all(name in manager for name in made)
        made.pop("joint_state_broadcaster")
        for controller in made.values():
            assert controller["ros__parameters"]["joints"] == joints
            gains = controller["ros__parameters"].get("gains", {})
            assert list(gains) in ([], joints)


def test_the_franka_example_has_our_parameters():
    from multibody_dynamics.nodes.following.following_parameters import FeedforwardParameters

    made = yaml.safe_load((CONFIG / "ros2_control" / "franka_feedforward.yaml").read_text())
    values = {
        k: tuple(v) if isinstance(v, list) else v for k, v in made["/**"]["ros__parameters"].items()
    }
    parameters = FeedforwardParameters(**values)
    parameters.check()
    assert parameters.gravity_compensated_by_robot
    assert max(parameters.torque_rate_limits) < 1000.0  # franka::kMaxTorqueRate
