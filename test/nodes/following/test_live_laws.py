"""Laws chosen while the node runs: which parameters are in effect when a verdict arrives."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from queue import Queue
from types import SimpleNamespace

import numpy as np
import pytest

from elastic_arms import linear_arm
from multibody_dynamics.dynamics.control import (
    FlatnessLaw,
    JudgingProcess,
    LoopJudgement,
    Verdict,
)
from multibody_dynamics.nodes.base.diagnostics import ERROR, OK
from multibody_dynamics.nodes.following import controller_report as report
from multibody_dynamics.nodes.following import live_laws
from multibody_dynamics.nodes.following.flatness_controller_parameters import (
    FlatnessControllerParameters,
)
from multibody_dynamics.nodes.following.live_laws import LiveLaws

PATIENCE = 60.0  # s, for a thread on a busy computer


def judgement(growth: float) -> LoopJudgement:
    row = np.array([growth])
    return LoopJudgement(np.zeros((1, 1)), row, growth, 0.001, 0.0, complex(growth), "joint")


class Bench:
    """LiveLaws with a process whose verdicts are given by the test."""

    def __init__(self, monkeypatch, **judged: LoopJudgement) -> None:
        self.requests: Queue[Future[Verdict]] = Queue()
        self.deferred: Queue = Queue()
        self.restored: list[tuple[str, object]] = []
        self.accepted: list[FlatnessControllerParameters] = []
        process = SimpleNamespace(submit=self._submit, close=lambda: None)
        process.give_way = JudgingProcess.give_way
        fake = lambda: process  # noqa: E731
        fake.give_way = JudgingProcess.give_way
        monkeypatch.setattr(live_laws, "JudgingProcess", fake)
        arm = linear_arm()
        law = FlatnessLaw(arm.model, arm.actuators)
        law.judgements = {"motor_pd": judgement(-1.0), **judged}
        self.errors: list[str] = []
        log = SimpleNamespace(info=print, warning=print, error=self.errors.append)
        self.laws = LiveLaws(
            law,
            FlatnessControllerParameters(),
            arm.rest,
            logger=log,
            defer=self.deferred.put,
            restore=lambda name, value: self.restored.append((name, value)),
        )

    def _submit(self, request) -> Future[Verdict]:
        future: Future[Verdict] = Future()
        future.set_running_or_notify_cancel()
        self.requests.put(future)
        return future

    def choose(self, **changes) -> FlatnessControllerParameters:
        p = replace(FlatnessControllerParameters(), **changes)
        self.laws.choose(p, self.laws._law.settings, lambda: self.accepted.append(p))
        return p

    def verdict(self, name: str, growth: float = -1.0) -> None:
        asked = self.requests.get(timeout=PATIENCE)
        asked.set_result(Verdict(name, judgement(growth), {}))
        self.deferred.get(timeout=PATIENCE)()


@pytest.fixture
def bench(monkeypatch):
    made = Bench(monkeypatch)
    yield made
    made.laws.close()


def test_the_parameters_of_the_verdict_come_into_force_not_those_of_the_choice(bench):
    """A stiffness that was set meanwhile must not return to its old value."""
    bench.choose(law="esp")
    newest = bench.choose(law="esp", link_stiffness=(20.0,), impedance_damping=0.5)
    bench.verdict("esp")
    assert bench.accepted == [newest]
    assert bench.laws.in_force == "esp"
    assert bench.laws.damping == 0.5
    assert bench.requests.empty()  # neither changes the loop of esp: judged once


def test_other_conditions_while_a_law_is_judged_are_judged(bench):
    bench.choose(law="esp")
    newest = bench.choose(law="esp", judged_delay=0.003)
    first = bench.requests.get(timeout=PATIENCE)
    first.set_result(Verdict("esp", judgement(-1.0), {}))
    bench.deferred.get(timeout=PATIENCE)()
    assert bench.laws.in_force == "motor_pd"  # that verdict is for another delay
    bench.verdict("esp")
    assert bench.accepted == [newest]


def test_a_law_that_was_refused_at_configuration_is_judged_when_it_is_chosen(monkeypatch):
    bench = Bench(monkeypatch, joint_impedance=judgement(1.0))
    try:
        bench.choose(law="joint_impedance")
        assert bench.laws.in_force == "motor_pd"
        bench.verdict("joint_impedance", growth=1.0)
        assert bench.restored == [("law", "motor_pd")]
        assert not bench.accepted
    finally:
        bench.laws.close()


def test_only_the_newest_of_several_choices_is_judged(bench):
    bench.choose(law="esp")
    running = bench.requests.get(timeout=PATIENCE)
    bench.choose(law="computed_torque")
    bench.choose(law="cartesian_impedance")
    running.set_result(Verdict("esp", judgement(-1.0), {}))
    bench.verdict("cartesian_impedance")
    while bench.laws.in_force == "motor_pd":
        bench.deferred.get(timeout=PATIENCE)()
    assert bench.laws.in_force == "cartesian_impedance"
    assert bench.requests.empty()


def test_a_law_in_force_that_delays_make_unstable_remains_in_force_and_says_so(bench):
    laws, law = bench.laws, bench.laws._law
    controller = SimpleNamespace(judgements=law.judgements, lowered={}, transfer=law.transfer)
    controller.name, controller.impedance = "motor_pd", None

    def shown() -> tuple[bytes, str]:
        return report.law(controller, laws, is_silent=False)[:2]

    late = {"command_delay": 0.004, "predict_state": False}
    assert not laws.is_unstable
    bench.choose(**late)
    bench.verdict("motor_pd", growth=3.0)
    assert laws.is_unstable
    assert law.judgements["motor_pd"].growth_at_design == 3.0  # the new judgement, not the old one
    assert laws.in_force == "motor_pd"
    assert not bench.restored
    assert shown() == (ERROR, "motor_pd, unstable with these delays")
    (error,) = bench.errors
    assert error.startswith(
        "law 'motor_pd' is in force, but unstable now: unstable at 1 of 1 poses"
    )
    assert "at [0.00]" in error
    assert "reduce the delay, or choose another law" in error
    bench.choose(**late, transfer_time=1.0)  # not judged again for what does not concern it
    assert not laws.judging

    bench.choose()  # delays as before: judged again, since the last judgement is for others
    bench.verdict("motor_pd")
    assert not laws.is_unstable
    assert shown() == (OK, "motor_pd")


def test_another_law_ends_the_report_and_the_unstable_one_is_judged_before_it_returns(bench):
    late = {"command_delay": 0.004, "predict_state": False}
    bench.choose(**late)
    bench.verdict("motor_pd", growth=3.0)
    bench.choose(law="esp", **late)
    assert bench.laws.is_unstable  # until the other law is accepted
    bench.verdict("esp")
    assert (bench.laws.in_force, bench.laws.is_unstable) == ("esp", False)
    bench.choose(law="motor_pd", **late)
    assert bench.laws.in_force == "esp"
    bench.verdict("motor_pd", growth=3.0)
    assert bench.restored == [("law", "esp")]
    assert not bench.laws.is_unstable
