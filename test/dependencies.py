# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Names of all dependencies: as imported, as rosdep keys in package.xml, and on PyPI."""

from typing import NamedTuple


class Dependency(NamedTuple):
    rosdep: str | None  # None: no key; only pip installs it, as an extra
    pypi: str | None  # None: not on PyPI, only in a real ROS 2


IMPORTS = {
    # libraries
    "casadi": Dependency(None, "casadi"),
    "distributed": Dependency(None, "dask"),
    "hypothesis": Dependency("python3-hypothesis", "hypothesis"),
    "jax": Dependency(None, "jax"),
    "jinja2": Dependency("python3-jinja2", "jinja2"),
    "llvmlite": Dependency("python3-numba", "numba"),  # installed with Numba, matching it
    "matplotlib": Dependency("python3-matplotlib", "matplotlib"),
    "mpmath": Dependency("python3-sympy", "mpmath"),  # no key of its own; comes with SymPy
    "mujoco": Dependency(None, "mujoco"),
    "nbclient": Dependency(None, "nbclient"),
    "nbformat": Dependency(None, "nbformat"),
    "numba": Dependency("python3-numba", "numba"),
    "numpy": Dependency("python3-numpy", "numpy"),
    "pinocchio": Dependency("pinocchio", "pin"),
    "pyarrow": Dependency(None, "pyarrow"),
    "rosbags": Dependency(None, "rosbags"),  # optional: its only key is one for pip
    "scipy": Dependency("python3-scipy", "scipy"),
    "tqdm": Dependency("python3-tqdm", "tqdm"),
    "trimesh": Dependency(None, "trimesh"),
    "urdf_parser_py": Dependency("urdfdom_py", "urdfdom-py"),
    "viser": Dependency(None, "viser"),
    "websockets": Dependency(None, "websockets"),
    "yaml": Dependency("python3-yaml", "pyyaml"),
    # packaging and testing
    "catkin_pkg": Dependency("python3-catkin-pkg", "catkin-pkg"),
    "pytest": Dependency("python3-pytest", "pytest"),
    "setuptools": Dependency("python3-setuptools", "setuptools"),
    # ROS 2
    "builtin_interfaces": Dependency("builtin_interfaces", "ros-jazzy-builtin-interfaces"),
    "control_msgs": Dependency("control_msgs", None),
    "diagnostic_msgs": Dependency("diagnostic_msgs", "ros-jazzy-diagnostic-msgs"),
    "geometry_msgs": Dependency("geometry_msgs", "ros-jazzy-geometry-msgs"),
    "launch": Dependency("launch", None),
    "launch_ros": Dependency("launch_ros", None),
    "lifecycle_msgs": Dependency("lifecycle_msgs", "ros-jazzy-lifecycle-msgs"),
    "nav_msgs": Dependency("nav_msgs", "ros-jazzy-nav-msgs"),
    "rcl_interfaces": Dependency("rcl_interfaces", "ros-jazzy-rcl-interfaces"),
    "rclpy": Dependency("rclpy", "ros-jazzy-rclpy"),
    "rosgraph_msgs": Dependency("rosgraph_msgs", "ros-jazzy-rosgraph-msgs"),
    "sensor_msgs": Dependency("sensor_msgs", "ros-jazzy-sensor-msgs"),
    "std_msgs": Dependency("std_msgs", "ros-jazzy-std-msgs"),
    "std_srvs": Dependency("std_srvs", "ros-jazzy-std-srvs"),
    "trajectory_msgs": Dependency("trajectory_msgs", "ros-jazzy-trajectory-msgs"),
}

# In setup.py's extra `test`, but not imported by name, with the reason.
COMMANDS = {
    "colcon-common-extensions": "test_installation.py builds with `python -m colcon`",
    "coverage": "`make coverage`",
    "import-linter": "`make lint`",
    "ipykernel": "test_notebooks.py runs notebooks in it",
    "mypy": "`make lint`",
    "pytest-timeout": "`make test` ends a test that hangs",
    "pytest-xdist": "`make test` uses two processors",
    "rerun-sdk": "test_bags_of_runs.py loads a bag with its program",
    "ruff": "`make lint`",
}
