# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What nodes load when they start, loaded by importing this module: their imports, message types,
and the machine code of an arm. Forked processes then share it, instead of half a second each."""

import gc
import pkgutil
from contextlib import suppress
from importlib import import_module

import numpy as np
import pytest  # noqa: F401 - for programs that are test files
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters
from rclpy.logging import LoggingSeverity, get_logger
from rclpy.type_support import check_for_type_support
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from multibody_dynamics import dynamics as dyn
from multibody_dynamics import nodes
from multibody_dynamics.dynamics.control import Arm, FeedforwardLaw
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.nodes.following.controlled_arm import stop_report
from multibody_dynamics.nodes.following.flatness_controller_parameters import (
    FlatnessControllerParameters,
)
from multibody_dynamics.nodes.following.law_judgement import prepare_laws
from multibody_dynamics.resources import share_directory

TYPES = (
    ChangeState, Clock, DiagnosticArray, Float64MultiArray, JointState, JointTrajectory, SetBool,
    SetParameters, String, WrenchStamped,
)  # fmt: skip


def _import_all() -> None:
    """Every module of the nodes but those that run as __main__."""
    for each in pkgutil.walk_packages(nodes.__path__, f"{nodes.__name__}."):
        if each.name.count(".") > 2:  # those in folders
            import_module(each.name)


def _load_machine_code() -> None:
    config, q = share_directory() / "config", np.full(2, -0.4)
    model = dyn.load_urdf(config / "robots" / "planar_two_link.urdf")
    springs = config / "elastic_joints" / "planar_two_link.yaml"
    actuators = dyn.load_actuators(springs, model.joint_names)
    plant = ElasticRobot(model, actuators, step=1e-3)
    plant.reset(q)
    plant.step(np.zeros(2), 2e-3)
    FeedforwardLaw(model, actuators).update()
    parameters = FlatnessControllerParameters(judged_poses=1)
    make = lambda p: Arm(model, actuators, p.settings(), p.arm_settings())  # noqa: E731
    logger = get_logger("warmed_nodes")
    logger.set_level(LoggingSeverity.WARN)
    law, parameters, _ = prepare_laws(make, parameters, logger)
    stop_report(law, parameters)


with suppress(Exception):  # what fails here fails in the tests as well, where it is shown
    _import_all()
    for kind in TYPES:
        check_for_type_support(kind)
    _load_machine_code()
gc.collect()
gc.freeze()  # garbage collection in a fork would copy every page of this
