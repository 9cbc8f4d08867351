# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What the flatness controller creates when it is configured: the arm with its laws, designed and
judged, and the publishers."""

from dataclasses import replace

from ...dynamics.control import (
    NO_DESIGN,
    DesiredMotion,
    FlatnessSettings,
    LearnedMotion,
    Sample,
    position_checks,
)
from ...dynamics.core import InputError
from ...dynamics.motion import joint_turns
from ..base.runtime import ManagedNode
from .controlled_arm import make_arm, stop_report
from .controlled_robot import ControlledRobot
from .controller_outputs import ControllerOutputs
from .flatness_controller_parameters import FlatnessControllerParameters
from .law_judgement import check_at, prepare_laws
from .live_laws import LiveLaws
from .trajectory_learner import learner_of


class ControllerSetup:
    """The parts of the node that last from its configuration until it is cleaned up.

    Attributes: `robot`; `arm`; `laws`, which law is in force; `learner`, None without a learning
    file; `position_checks` of links and motors; `outputs`.
    """

    def __init__(
        self, node: ManagedNode[FlatnessControllerParameters], robot: ControlledRobot
    ) -> None:
        self._node, self.robot = node, robot
        p, log = node.parameters, node.get_logger()
        model = robot.model
        joints = model.joint_names, robot.soft_limits
        motion = DesiredMotion(*joints, joint_turns(model))
        self.learner = learner_of(p, model, log)
        if self.learner is not None:
            node.configuration.callback(self.learner.close)
            motion = LearnedMotion(*joints, self.learner, joint_turns(model))
        self.arm, judged, self._designed_for = prepare_laws(
            lambda values: make_arm(robot, values, motion), p, log
        )
        self._filter_bandwidth = judged.filter_bandwidth
        self.laws = LiveLaws(
            self.arm, judged, self._designed_for, logger=log, defer=node.defer, restore=node.restore
        )
        node.configuration.callback(self.laws.close)
        infos, warnings = stop_report(self.arm, p)
        for line in infos:
            log.info(line)
        for line in warnings:
            log.warning(line)
        self.position_checks = position_checks(model, robot.actuators)
        self.outputs = ControllerOutputs(
            node, robot, detects=self.arm.measured.detector is not None
        )
        self.reconfigure(p)
        log.info(f"configured for {model.name}: {', '.join(model.joint_names)}")

    def check(self, p: FlatnessControllerParameters) -> None:
        """Raise InputError for parameters that the law in force cannot take."""
        self.laws.check(self._settings(p))

    def reconfigure(self, p: FlatnessControllerParameters) -> None:
        """Take over live parameters."""
        arm = self.arm
        self.laws.choose(p, self._settings(p), lambda: arm.choose_law(self.laws.in_force))
        # the node rejects positions that leap as they arrive, before their stamps count
        arm.change(replace(p.arm_settings(), state_speed_factor=0.0))
        arm.laws.adapt(p.adapt)
        arm.second.torque_scale = p.torque_limit_scale
        for check in self.position_checks.values():
            check.factor = p.state_speed_factor
        if arm.measured.detector is not None:
            arm.measured.detector.scale = p.collision_threshold_scale
        if self.learner is not None:
            self.learner.learns = p.learn

    def check_first(self, sample: Sample) -> bool:
        """Judge the law in force at the first measured position, for which the estimator is
        designed; False, with a fault, if the law is unstable there."""
        arm, law = self.arm, self.laws.in_force
        if arm.supervisor.is_final:
            return False
        arm.measure(sample)
        q = arm.measured.estimator.state.q.copy()
        try:
            arm.measured.estimator.design(q)
            check_at(arm.laws, self._node.parameters, law, self._designed_for, q)
        except InputError as error:
            names = arm.model.joint_names
            where = ", ".join(f"{name} {x:.3g}" for name, x in zip(names, q, strict=True))
            remedy = "Move the arm or set design_position"
            arm.fail(NO_DESIGN, f"{error}; measured position: {where}. {remedy}")
            return False
        arm.restart()
        return True

    def _settings(self, p: FlatnessControllerParameters) -> FlatnessSettings:
        """The settings of the laws, with the filter for which they were judged."""
        judged = replace(p, filter_bandwidth=self._filter_bandwidth)
        return judged.settings(self.arm.settings.collisions)
