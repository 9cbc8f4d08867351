# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Install the package; name and version come from package.xml, as ROS tools expect."""

from pathlib import Path
from xml.etree import ElementTree

from setuptools import Distribution, find_packages, setup

manifest = ElementTree.parse("package.xml").getroot()
name = manifest.findtext("name")
maintainer = manifest.find("maintainer")
share = f"share/{name}"


def folders_with_files(*tops):
    """Pairs (folder in share/, its files) that reproduce all folders below `tops`."""
    files = [f for top in tops for f in sorted(Path(top).rglob("*")) if f.is_file()]
    files = [f.as_posix() for f in files if "__pycache__" not in f.parts]
    folders = sorted({f.rpartition("/")[0] for f in files})
    return [
        (f"{share}/{folder}", [f for f in files if f.rpartition("/")[0] == folder])
        for folder in folders
    ]


class DistributionWithData(Distribution):
    """Makes `pip install -e` install the data files as well.

    setuptools looks for a method `has_data`, which its own Distribution does not define.
    """

    has_data = Distribution.has_data_files


setup(
    name=name,
    distclass=DistributionWithData,
    version=manifest.findtext("version"),
    description=manifest.findtext("description"),
    license=manifest.findtext("license"),
    maintainer=maintainer.text,
    maintainer_email=maintainer.get("email"),
    packages=find_packages(include=[name, f"{name}.*"]),
    package_data={
        name: [
            "py.typed",
            "reporting/templates/*",
            "tools/robot/templates/*",
            "tools/view/templates/*",
            "tools/robot/controller_templates/*.*",
            "tools/robot/controller_templates/ros2_control/*",
        ]
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{name}"]),
        (share, ["package.xml"]),
        *folders_with_files("launch", "config"),
    ],
    python_requires=">=3.10",
    # The lower bounds are the versions that Ubuntu 24.04 ships with ROS 2 Jazzy.
    install_requires=[
        "jinja2>=3.1",
        "matplotlib>=3.6",
        "numba>=0.58",
        "numpy>=1.26",
        "pyyaml>=6.0",
        "rosbags>=0.11",
        "scipy>=1.11",
        "tqdm>=4.66",
        "urdfdom-py>=1.2",
    ],
    extras_require={
        # ROS 2 itself, if it is not installed: unofficial wheels for Linux on x86-64.
        "ros": [
            "ros-jazzy-builtin-interfaces~=2.0",
            "ros-jazzy-diagnostic-msgs~=5.3",
            "ros-jazzy-geometry-msgs~=5.3",
            "ros-jazzy-lifecycle-msgs~=2.0",
            "ros-jazzy-nav-msgs~=5.3",
            "ros-jazzy-rcl-interfaces~=2.0",
            "ros-jazzy-rclpy[fastrtps]~=7.1",
            "ros-jazzy-rosgraph-msgs~=2.0",
            "ros-jazzy-sensor-msgs~=5.3",
            "ros-jazzy-std-msgs~=5.3",
            "ros-jazzy-std-srvs~=5.3",
            "ros-jazzy-trajectory-msgs~=5.3",
        ],
        # For comparing many recordings on a cluster: `multibody_dynamics validate --dask`.
        "dask": ["dask[distributed]>=2024.1"],
        # An independent plant for the simulator; it has no rosdep key.
        "mujoco": ["mujoco>=3.3,<4"],
        # For `multibody_dynamics view`, a robot in the browser; they have no rosdep keys.
        # pycollada reads the meshes of many robots.
        "view": ["pycollada>=0.7", "trimesh>=4.0", "viser>=1.0.10"],
        # For episodes of LeRobot: `multibody_dynamics stream FILE.parquet`; it has no rosdep key.
        "parquet": ["pyarrow>=14"],
        # For building the documentation site with `make docs`; ROS tools do not install it.
        "docs": [
            "furo>=2023.9",
            "ipykernel>=6.29",
            "latex2mathml>=3.75",
            "myst-nb>=1.1",  # notebooks; with myst-parser
            "sphinx>=7.2",
        ],
        # The reference for the tests. Its wheels need NumPy 2, so an installed ROS 2 (NumPy 1.26)
        # uses the ROS package instead.
        "pinocchio": ["pin>=4.0"],
        "test": [
            "casadi>=3.6",
            "catkin-pkg>=1.0",
            "colcon-common-extensions>=0.3",
            "coverage>=7.10",  # measures processes that tests start
            "hypothesis>=6.98",
            "ipykernel>=6.29",
            "import-linter>=2.5",
            "jax>=0.4.30",  # with jaxlib for processors alone
            "mpmath>=1.2",
            "mypy>=1.9",
            "nbclient>=0.10",
            "nbformat>=5.10",
            "pytest>=7.4",
            "pytest-timeout>=2.2",
            "pytest-xdist>=3.4",
            "rerun-sdk>=0.30",
            "ruff>=0.9",
            "setuptools>=70.1,<80",  # builds wheels without `wheel`; still supports colcon
            "websockets>=13.1",  # drives a browser; viser needs it, too
        ],
    },
    entry_points={
        "console_scripts": [
            f"{name} = {name}.tools.cli:main",
            f"elastic_robot_simulator_node = {name}.nodes.elastic_robot_simulator_node:main",
            f"series_joints_node = {name}.nodes.series_joints_node:main",
            f"feedforward_node = {name}.nodes.feedforward_node:main",
            f"flatness_controller_node = {name}.nodes.flatness_controller_node:main",
            f"task_space_node = {name}.nodes.task_space_node:main",
            f"trajectory_node = {name}.nodes.trajectory_node:main",
            f"validation_node = {name}.nodes.validation_node:main",
            f"drift_node = {name}.nodes.drift_node:main",
        ],
    },
)
