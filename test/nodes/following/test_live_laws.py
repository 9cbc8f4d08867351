# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Laws chosen while the node runs: which parameters are in effect when a verdict arrives."""

from concurrent.futures import Future
from dataclasses import replace
from queue import Queue
from types import SimpleNamespace

import numpy as np
import pytest

from elastic_arms import linear_arm
from multibody_dynamics.dynamics.control import (
    Arm,
    JudgingProcess,
    JudgingRequest,
    LoopJudgement,
    Sample,
    Verdict,
)
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.nodes.base.diagnostics import ERROR, OK
from multibody_dynamics.nodes.following import controller_report as report
from multibody_dynamics.nodes.following import live_laws
from multibody_dynamics.nodes.following.flatness_controller_parameters import (
    FlatnessControllerParameters,
)
from multibody_dynamics.nodes.following.live_laws import LiveLaws
from rejections import assert_rejected

PATIENCE = 60.0  # s, for a thread on a busy computer


def judgement(growth: float) -> LoopJudgement:
    row = np.array([growth])
    return LoopJudgement(np.zeros((1, 1)), row, growth, 0.001, 0.0, complex(growth), "joint")


class Bench:
    """LiveLaws with a process whose verdicts are given by the test."""

    def __init__(self, monkeypatch, in_force="motor_pd", **judged: LoopJudgement) -> None:
        self.requests: Queue[Future[Verdict]] = Queue()
        self.asked: list[JudgingRequest] = []
        self.deferred: Queue = Queue()
        self.restored: list[tuple[str, object]] = []
        self.accepted: list[FlatnessControllerParameters] = []
        process = SimpleNamespace(submit=self._submit, close=lambda: None)
        process.drop_realtime_priority = JudgingProcess.drop_realtime_priority
        fake = lambda: process  # noqa: E731
        fake.drop_realtime_priority = JudgingProcess.drop_realtime_priority
        monkeypatch.setattr(live_laws, "JudgingProcess", fake)
        arm = linear_arm()
        law = Arm(arm.model, arm.actuators, FlatnessControllerParameters().settings())
        law.design(arm.rest)
        law.laws.judgements = {in_force: judgement(-1.0), **judged}
        self.errors: list[str] = []
        log = SimpleNamespace(info=print, warning=print, error=self.errors.append)
        self.laws = LiveLaws(
            law,
            FlatnessControllerParameters(law=in_force),
            arm.rest,
            logger=log,
            defer=self.deferred.put,
            restore=lambda name, value: self.restored.append((name, value)),
        )

    def _submit(self, request) -> Future[Verdict]:
        future: Future[Verdict] = Future()
        future.set_running_or_notify_cancel()
        self.asked.append(request)
        self.requests.put(future)
        return future

    def choose(self, **changes) -> FlatnessControllerParameters:
        p = replace(FlatnessControllerParameters(), **changes)
        self.laws.choose(p, p.settings(), lambda: self.accepted.append(p))
        return p

    def verdict(self, name: str, growth: float | LoopJudgement = -1.0, **here) -> JudgingRequest:
        """Answer the oldest request; returns it."""
        answered = self.requests.get(timeout=PATIENCE)
        found = growth if isinstance(growth, LoopJudgement) else judgement(growth)
        answered.set_result(Verdict(name, found, {}, **here))
        self.deferred.get(timeout=PATIENCE)()
        while not self.deferred.empty():
            self.deferred.get()()
        return self.asked[-1]


def stable_at_some() -> LoopJudgement:
    """Unstable at one of two poses, but not at the design pose."""
    row = np.array([-1.0, 1.0])
    return LoopJudgement(np.zeros((2, 2)), row, -1.0, 0.001, 0.1, 1.0 + 0j, "joint")


@pytest.fixture
def make_bench(monkeypatch):
    made = []

    def make(*in_force: str, **judged: LoopJudgement) -> Bench:
        made.append(Bench(monkeypatch, *in_force, **judged))
        return made[-1]

    yield make
    for each in made:
        each.laws.close()


@pytest.fixture
def bench(make_bench):
    return make_bench()


def test_the_parameters_of_the_verdict_come_into_force_not_those_of_the_choice(bench):
    """A stiffness that was set meanwhile must not return to its old value."""
    bench.choose(law="esp")
    newest = bench.choose(law="esp", link_stiffness=(20.0,), impedance_damping=0.5)
    bench.verdict("esp")
    assert len(bench.accepted) == 1  # what is called then takes the parameters of that time
    assert bench.laws._accepted is newest
    assert bench.laws.in_force == "esp"
    impedance = bench.laws._laws.live_impedance("joint_impedance")
    assert impedance.aimed == ((20.0, 20.0), 0.5)
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


def test_a_law_that_was_refused_at_configuration_is_judged_when_it_is_chosen(make_bench):
    bench = make_bench(joint_impedance=judgement(1.0))
    bench.choose(law="joint_impedance")
    assert bench.laws.in_force == "motor_pd"
    bench.verdict("joint_impedance", growth=1.0)
    assert bench.restored == [("law", "motor_pd")]
    assert not bench.accepted


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
    judged = SimpleNamespace(judgements=law.laws.judgements, lowered={})
    controller = SimpleNamespace(laws=judged, transfer=law.transfer, supervisor=law.supervisor)
    controller.name, controller.impedance = "motor_pd", None

    def shown() -> tuple[bytes, str]:
        return report.law(controller, laws)[1:3]

    late = {"command_delay": 0.004, "predict_state": False}
    assert not laws.is_unstable
    bench.choose(**late)
    bench.verdict("motor_pd", growth=3.0)
    assert laws.is_unstable
    assert law.laws.judgements["motor_pd"].growth_at_design == 3.0  # that of the new judgement
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

    bench.choose()  # delays as before, with which the law was judged
    assert not laws.is_unstable
    assert law.laws.judgements["motor_pd"].growth_at_design == -1.0
    assert shown() == (OK, "motor_pd")
    bench.choose(command_delay=0.002, predict_state=False)
    bench.verdict("motor_pd")
    assert not laws.is_unstable


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


def test_another_law_together_with_other_delays_while_the_law_in_force_is_unstable(bench):
    """As the report advises: "reduce the delay, or choose another law"."""
    bench.choose(command_delay=0.004, predict_state=False)
    bench.verdict("motor_pd", growth=3.0)
    assert bench.laws.is_unstable
    bench.choose(law="esp", command_delay=0.002, predict_state=False)
    bench.verdict("esp")
    assert (bench.laws.in_force, bench.laws.is_unstable) == ("esp", False)


def test_the_law_that_stops_the_arm_is_judged_again_too(make_bench):
    bench = make_bench(hold=judgement(-1.0))
    bench.choose(command_delay=0.004)  # predicted for motor_pd, but not for a stop
    request = bench.verdict("hold", growth=2.0)
    assert request.conditions["delay"] == pytest.approx(0.005)
    assert request.lowers
    assert "it stops the arm after a fault all the same" in bench.errors[-1]
    assert not bench.laws.is_unstable  # that is of the law in force
    bench.choose(command_delay=0.004, transfer_time=1.0)
    assert not bench.laws.judging


def test_a_law_that_is_unstable_somewhere_is_judged_where_it_is_chosen_each_time(bench):
    law, report = bench.laws._law, {"unstable_poses": "report"}
    q, motors = np.array([0.3, -0.2]), law.motors_at_rest(np.array([0.3, -0.2]))
    for k in range(400):
        signals = {"link_position": q, "motor_position": motors}
        law.measure(Sample(1_000_000_000 + 1_000_000 * k, signals))
    assert law.measured.is_settled
    bench.choose(law="esp", **report)
    request = bench.verdict("esp", stable_at_some(), here=judgement(-1.0))
    np.testing.assert_allclose(request.here, q)
    assert bench.laws.in_force == "esp"
    bench.choose(**report)  # stable at all poses: at once
    assert bench.laws.in_force == "motor_pd"
    bench.choose(law="esp", **report)
    assert bench.laws.in_force == "motor_pd"
    bench.verdict("esp", stable_at_some(), here=judgement(2.0))
    assert bench.laws.in_force == "motor_pd"
    assert bench.restored == [("law", "motor_pd")]
    assert "law 'esp' is refused: unstable at 1 of 1 poses" in bench.errors[-1]
    bench.choose(law="esp", **report)
    bench.verdict("esp", stable_at_some(), here=judgement(-2.0))
    assert bench.laws.in_force == "esp"
    assert bench.requests.empty()


@pytest.mark.parametrize(("response", "accepted"), [("accept", "esp"), ("reject", "motor_pd")])
def test_at_the_present_position_a_law_is_refused_unless_all_are_accepted(
    bench, response, accepted
):
    bench.choose(law="esp", unstable_poses=response)
    bench.verdict("esp", here=judgement(2.0))
    assert bench.laws.in_force == accepted


def test_a_position_that_was_never_measured_is_not_judged(bench):
    bench.choose(law="esp", unstable_poses="report")
    assert bench.verdict("esp", stable_at_some()).here is None
    assert bench.laws.in_force == "esp"


@pytest.fixture
def impedance(make_bench):
    """joint_impedance, long in force, with the parameters with which it was configured."""
    made = make_bench("joint_impedance")
    made.law = made.laws._law
    made.live = made.law.laws.live_impedance("joint_impedance")
    made.ends = []
    return made


def tune(bench, **values):
    bench.laws.tune(values, 0.5, bench.ends.append)


def test_stiffness_that_was_judged_comes_into_force_at_once_and_softer_after_its_judgement(
    impedance,
):
    live, (stiffness, ratio) = impedance.live, impedance.live.aimed
    less = 0.9 * stiffness[1]
    tune(impedance, elbow=less)
    assert live.aimed == ((stiffness[0], less), ratio)
    assert impedance.ends == [""]
    tune(impedance, elbow=0.5)  # gravity alone could tip the link over
    assert live.aimed.stiffness[1] == less
    assert impedance.laws.judging == "joint_impedance"
    request = impedance.verdict("joint_impedance")
    assert request.lowered["joint_impedance"]["link_stiffness"] == (stiffness[0], 0.5)
    assert not request.lowers
    assert live.aimed.stiffness == (stiffness[0], 0.5)
    assert impedance.ends == ["", ""]
    tune(impedance, elbow=less)
    tune(impedance, elbow=0.5)  # judged before
    assert impedance.ends == [""] * 4
    assert impedance.requests.empty()


@pytest.mark.parametrize("ratio", [0.3, 1.2])
def test_damping_by_topic_is_judged_below_and_above_that_of_the_parameter(impedance, ratio):
    stiffness = impedance.live.aimed.stiffness
    tune(impedance, damping_ratio=ratio)
    assert impedance.live.damping_ratio == 0.7
    impedance.verdict("joint_impedance", growth=1.0)
    assert impedance.live.aimed == (stiffness, 0.7)
    (refusal,) = impedance.ends
    assert refusal.startswith("law 'joint_impedance' is refused: unstable at 1 of 1 poses")
    assert impedance.law.laws.judgements["joint_impedance"].growth_at_design == -1.0
    assert not impedance.laws.is_unstable
    tune(impedance, damping_ratio=ratio)  # once more: judged once more
    request = impedance.verdict("joint_impedance")
    assert request.lowered["joint_impedance"]["damping_ratio"] == ratio
    assert impedance.live.aimed == (stiffness, ratio)
    assert impedance.live._present_ratio == 0.7  # approached within the ramp
    assert impedance.ends[1] == ""


def test_values_that_the_law_cannot_take_are_refused_at_once_and_change_nothing(impedance):
    before = impedance.live.aimed
    for values, text in (({"elbow": 1e5}, "at most"), ({"knee": 1.0}, "unknown name 'knee'")):
        with pytest.raises(InputError, match=text):
            tune(impedance, **values)
    stiff = FlatnessControllerParameters(law="joint_impedance", link_stiffness=(1e5,)).settings()
    assert_rejected((lambda: impedance.laws.check(stiff), "at most"))
    assert impedance.live.aimed == before
    assert not impedance.ends
    assert impedance.requests.empty()


def test_a_refused_parameter_returns_to_its_value_and_an_accepted_one_stays(impedance):
    chosen = {"law": "joint_impedance", "impedance_damping": 0.2}
    impedance.choose(**chosen)
    impedance.verdict("joint_impedance", growth=1.0)
    assert impedance.restored == [("impedance_damping", 0.7)]
    assert impedance.live.damping_ratio == 0.7
    impedance.choose(law="joint_impedance")  # what the node then does
    assert impedance.live.aimed == impedance.law.laws.own_impedance("joint_impedance")
    impedance.choose(**chosen, link_stiffness=(0.5,))
    impedance.verdict("joint_impedance")
    assert impedance.live.aimed == ((0.5, 0.5), 0.2)
    impedance.choose(**chosen)  # empty: the default stiffness
    impedance.verdict("joint_impedance")
    assert impedance.live.aimed.stiffness[0] > 0.5
    assert len(impedance.restored) == 1
    assert impedance.requests.empty()


def test_what_came_by_topic_lasts_until_the_law_is_chosen_again_or_renewed(impedance):
    before = impedance.live.aimed
    tune(impedance, elbow=0.9 * before.stiffness[1])
    impedance.law.laws.renew()
    impedance.laws.renew()
    assert impedance.live.aimed == before
    tune(impedance, elbow=0.9 * before.stiffness[1])
    impedance.choose(law="esp")
    impedance.verdict("esp")
    impedance.choose(law="joint_impedance")
    assert impedance.laws.in_force == "joint_impedance"
    assert impedance.live.aimed == before


def test_stiffness_and_damping_of_esp_impedance_are_judged_as_they_are(make_bench):
    bench = make_bench("esp_impedance")
    live = bench.laws._laws.live_impedance("esp_impedance")
    stiffness = live.aimed.stiffness
    bench.choose(law="esp_impedance", esp_damping=0.2)
    request = bench.verdict("esp_impedance")
    wanted = {"damping_ratio": 0.2, "link_stiffness": stiffness}
    assert request.lowered["esp_impedance"] == wanted
    assert live.aimed == (stiffness, 0.2)
    bench.choose(law="esp_impedance", esp_damping=0.2, link_stiffness=(30.0, 20.0))
    request = bench.verdict("esp_impedance", growth=1.0)
    assert request.lowered["esp_impedance"]["link_stiffness"] == (30.0, 20.0)
    assert live.aimed == (stiffness, 0.2)
    assert bench.restored == [("link_stiffness", ())]


def test_another_law_is_judged_with_the_parameters_and_ends_a_change_of_the_first(impedance):
    tune(impedance, damping_ratio=0.3)
    impedance.choose(law="esp_impedance", link_stiffness=(30.0,))
    first = impedance.requests.get(timeout=PATIENCE)
    first.set_result(Verdict("joint_impedance", judgement(-1.0), {}))
    impedance.deferred.get(timeout=PATIENCE)()  # came too late
    assert impedance.laws.in_force == "joint_impedance"
    request = impedance.verdict("esp_impedance")
    assert request.settings.controllers["esp_impedance"].link_stiffness == 30.0
    assert impedance.laws.in_force == "esp_impedance"
    assert impedance.ends == ["another law was accepted"]
