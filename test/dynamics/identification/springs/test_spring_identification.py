# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Springs from samples: exact laws, noise within the stated errors, invalid input; the plant."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from multibody_dynamics.dynamics.elastic import (
    CubicSpring,
    Motor,
    PolynomialSpring,
    TableSpring,
    load_actuators,
)
from multibody_dynamics.dynamics.identification import SpringFit, identify_spring, motor_side_torque
from multibody_dynamics.dynamics.identification.springs.spring_identification import (
    correlation_time,
)
from rejections import assert_rejected

TIMES = np.arange(0.0, 5.0, 3e-3)


def deflections(offset: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    w = np.array([3.0, 11.0])
    waves = np.outer(TIMES, w) + np.array([0.0, 1.0])
    return offset + np.sin(waves) @ [0.05, 0.02], np.cos(waves) @ (w * [0.05, 0.02])


def samples(law, damping=0.0, noise=0.05, seed=0, offset=0.0):
    phi, rate = deflections(offset)
    rng = np.random.default_rng(seed)
    return phi, law(phi) + damping * rate + 0.2 + noise * rng.normal(size=len(phi)), rate


def within(fit: SpringFit, sigmas: float = 3.0, **expected: float) -> None:
    found = {each.name: each for each in fit.parameters}
    for name, value in expected.items():
        assert abs(found[name].value - value) < sigmas * found[name].error, found[name]
        assert found[name].error < 0.1 * abs(value), found[name]


@pytest.mark.parametrize(
    ("law", "damping", "says", "expected"),
    [
        (lambda x: 400 * x, 0.0, "linear", {"K": 400.0, "bias": 0.2}),
        (lambda x: 400 * x, 3.0, "linear, damped", {"K": 400.0, "damping": 3.0}),
        (lambda x: 300 * x + 4e4 * x**3, 0.0, "cubic", {"K": 300.0, "K3": 4e4}),
        (lambda x: 300 * x + 4e4 * x**3, 2.0, "cubic, damped", {"K3": 4e4, "damping": 2.0}),
        (lambda x: 300 * x + 1500 * x**2, 0.0, "polynomial of degree 2", {"c1": 300, "c2": 1500}),
    ],
)
def test_the_law_that_made_the_samples_is_found_within_its_errors(law, damping, says, expected):
    fit = identify_spring(*samples(law, damping))
    assert fit.law == says
    within(fit, **expected)
    assert fit.rms == pytest.approx(0.05, rel=0.05)
    assert fit.independent == fit.count == len(TIMES)
    assert not fit.hysteresis[0] > 3.5 * fit.hysteresis[1]
    assert fit.describe().startswith(f"joint: {says}\n")


def test_stated_errors_are_those_that_occur():
    found = [
        identify_spring(*samples(lambda x: 400 * x, 3.0, seed=seed), law="linear", damping=True)
        for seed in range(40)
    ]
    for k in range(3):
        values = np.array([fit.parameters[k].value for fit in found])
        assert values.std() == pytest.approx(found[0].parameters[k].error, rel=0.3)


def test_stated_errors_of_filtered_noise_count_independent_samples_only():
    phi, rate = deflections()
    values, errors, ratios = [], [], []
    for seed in range(40):
        noise = np.convolve(np.random.default_rng(seed).normal(size=len(phi)), np.ones(20), "same")
        fit = identify_spring(phi, 400 * phi + 0.02 * noise, rate, law="linear", damping=False)
        values.append(fit.parameters[0].value)
        errors.append(fit.parameters[0].error)
        ratios.append(fit.count / fit.independent)
    assert 14 < np.median(ratios) < 25
    assert 0.6 < np.mean(errors) / np.std(values) < 2.0
    assert correlation_time(np.random.default_rng(0).normal(size=5000)) < 1.2


def test_a_law_that_no_polynomial_fits_becomes_a_table():
    def law(x):
        return 10 * np.tanh(30 * x) + 50 * x

    fit = identify_spring(*samples(law))
    assert fit.law.startswith("table of ")
    assert isinstance(fit.spring, TableSpring)
    x = np.linspace(*fit.covered, 100)
    np.testing.assert_allclose(fit.torque(x), law(x) + 0.2, atol=0.03)
    points = [each for each in fit.parameters if each.name.startswith("s(")]
    assert len(points) == len(fit.spring.deflections)
    assert all(0.0 <= each.error < 0.02 for each in points)
    pulled = identify_spring(*samples(lambda x: law(x) - law(0.1), offset=0.2), law="table")
    assert pulled.bias == 0.0  # without zero deflection it is inseparable from the law


def test_a_chosen_law_without_rates_bias_and_damping():
    phi, Q, rate = samples(lambda x: 400 * x)
    fit = identify_spring(phi, Q - 0.2, law="linear", bias=False)
    assert [each.name for each in fit.parameters] == ["K"]
    assert fit.hysteresis[0] < 3.5 * fit.hysteresis[1]
    assert fit.slip is None
    assert isinstance(identify_spring(phi, Q, law="polynomial").spring, PolynomialSpring)
    assert identify_spring(phi, Q, rate, law="linear", damping=False).law == "linear"


def test_outliers_are_left_out_on_request():
    phi, Q, rate = samples(lambda x: 400 * x)
    hit = np.random.default_rng(1).choice(len(Q), 40, replace=False)
    Q[hit] += np.where(phi[hit] > 0, 20.0, 0.0)
    robust = identify_spring(phi, Q, rate, robust=True)
    within(robust, K=400.0)
    assert robust.outliers == (phi[hit] > 0).sum()
    plain = identify_spring(phi, Q, rate, law="linear")
    assert abs(plain.parameters[0].value - 400.0) > 5.0


@pytest.mark.parametrize("period", [3.0, 40.0])
@pytest.mark.parametrize("with_rate", [True, False])
def test_a_slip_element_is_found_with_the_law(period, with_rate):
    """A play operator of another form, limits that follow the deflection, and a noisy rate that
    tells nothing of the direction on slow ramps."""
    t = np.arange(0.0, 2.0 * period, 0.01)
    phi = 0.05 * 2.0 / np.pi * np.arcsin(np.sin(2.0 * np.pi * t / period))
    stiffness, torque = 150.0, 0.36
    place = np.zeros(len(t))
    for k in range(1, len(t)):
        reach = torque / stiffness
        place[k] = min(max(place[k - 1], phi[k] - reach), phi[k] + reach)
    rng = np.random.default_rng(3)
    Q = 200.0 * phi + stiffness * (phi - place) + rng.normal(scale=0.05, size=len(t))
    noisy = phi + rng.normal(scale=2e-5, size=len(t))
    fit = identify_spring(noisy, Q, np.gradient(noisy, t) if with_rate else None)
    width, error = fit.hysteresis
    assert width == pytest.approx(2.0 * torque, rel=0.05)
    assert error < 0.05 * width
    assert fit.slip is not None
    assert fit.slip.stiffness == pytest.approx(stiffness, rel=0.2)
    assert fit.law == "linear"
    assert fit.damping == 0.0
    assert float(fit.spring.stiffness(0.0)) == pytest.approx(200.0, rel=0.01)
    assert "hysteresis: [{stiffness: {value:" in fit.to_yaml()
    straight = identify_spring(noisy, 200.0 * phi + rng.normal(scale=0.05, size=len(t)))
    assert straight.slip is None
    assert "hysteresis" not in straight.to_yaml()


def test_hysteresis_is_reported():
    phi, Q, rate = samples(lambda x: 400 * x)
    fit = identify_spring(phi, Q + 0.3 * np.sign(rate), rate, law="linear", damping=False)
    assert fit.hysteresis[0] == pytest.approx(
        0.6, rel=0.2
    )  # without a reach, it is no slip element
    assert "hysteresis 0." in fit.describe()


def test_softening_by_noise_of_the_deflection_is_reported():
    phi, Q, _ = samples(lambda x: 400 * x)
    noisy = phi + np.random.default_rng(2).normal(0.0, 0.012, len(phi))
    fit = identify_spring(noisy, Q, law="linear")
    K = fit.parameters[0].value
    assert K < 390.0
    assert K / fit.r_squared == pytest.approx(400.0, rel=0.03)
    assert "times too soft" in fit.describe()


def test_samples_that_determine_no_spring_are_rejected_with_the_reason():
    phi, Q, rate = samples(lambda x: 400 * x)

    def fitted(phi=phi, Q=Q, rate=rate):
        return lambda: identify_spring(phi, Q, rate, joint="knee")

    assert_rejected(
        (fitted(phi[:20], Q[:20], rate[:20]), "knee': 20 samples"),
        (fitted(0 * phi), "knee': the deflection hardly changed"),
        (fitted(np.round(phi, 1)), "hardly changed distinct values"),
        (fitted(Q=9 + 0 * Q), "do not determine the stiffness"),
        (fitted(Q=np.sin(1e4 * phi[::-1])), "not determine the stiffness"),
        (fitted(-phi), "torque falls with the deflection"),
        (fitted(Q=Q[1:]), "of equal length"),
        (fitted(Q=np.where(Q > 0, np.nan, Q)), "torque nan"),
    )


def test_wrong_choices_are_named():
    phi, Q, _ = samples(lambda x: 400 * x)
    soft = 400 * phi - 1e4 * phi**3
    assert_rejected(
        (lambda: identify_spring(phi, Q, law="quartic"), "law 'quartic' auto linear"),
        (lambda: identify_spring(phi, Q, damping=True), "damping requires the rate"),
        (lambda: identify_spring(phi, soft, law="cubic"), "no spring law fits: cubic stiffness"),
    )
    assert identify_spring(phi, soft).law == "polynomial of degree 3"


@pytest.mark.parametrize("law", ["linear", "cubic", "polynomial", "table"])
def test_the_yaml_is_read_as_an_actuator(law):
    fit = identify_spring(*samples(lambda x: 300 * x + 4e4 * x**3, 2.0), law=law, damping=True)
    motor = {"gear_ratio": 50.0, "inertia": {"value": 0.2, "unit": "kg m^2", "side": "link"}}
    entry = {"motor": motor, **yaml.safe_load(fit.to_yaml())}
    loaded = load_actuators({"joints": {"knee": entry}}, ["knee"]).actuators[0]
    x = np.linspace(*fit.covered, 50)[1:-1]
    np.testing.assert_allclose(loaded.spring.torque(x), fit.spring.torque(x), rtol=1e-5, atol=1e-4)
    assert loaded.damping == pytest.approx(fit.damping, rel=1e-5)


def test_torque_at_the_motor():
    motor = Motor(0.3, viscous=2.0, coulomb=0.5, coulomb_velocity=0.1)
    v, a = np.array([0.2, -0.4]), np.array([1.0, 3.0])
    tau = 0.3 * a + 2.0 * v + 0.5 * np.tanh(v / 0.1) + [7.0, 8.0]
    np.testing.assert_allclose(motor_side_torque(motor, v, a, tau), [7.0, 8.0], rtol=1e-14)


def test_prismatic_joints_have_their_units():
    fit = identify_spring(*samples(lambda x: 300 * x + 4e4 * x**3), law="cubic", prismatic=True)
    assert {each.unit for each in fit.parameters} == {"N/m", "N/m^3", "N"}
    assert "unit: N/m^3" in fit.to_yaml()
    assert isinstance(fit.spring, CubicSpring)


def half_at_rest():
    phi, Q, rate = samples(lambda x: 400 * x)
    rest = np.random.default_rng(4).normal(0.0, 1e-3, len(phi) + 200)
    held = np.full(len(rest), 0.03)
    return (
        np.concatenate([held + 1e-6 * rest, phi]),
        np.concatenate([400 * held + 0.2 + rest, Q]),
        np.concatenate([0.0 * rest, rate]),
    )


def test_a_joint_that_rests_for_half_the_recording_keeps_its_motion():
    fit = identify_spring(*half_at_rest(), robust=True)
    assert fit.law == "linear"
    within(fit, K=400.0)
    assert fit.outliers < 5
    assert fit.covered == pytest.approx((-0.07, 0.07), abs=0.005)
    assert not fit.warning()
    phi, Q, rate = half_at_rest()
    Q[-1000::50] += 20.0
    hit = identify_spring(phi, Q, rate, robust=True)
    assert 20 <= hit.outliers < 25
    within(hit, K=400.0)


def test_many_outliers_and_lost_ends_are_reported():
    phi, Q, rate = samples(lambda x: 400 * x)
    Q[::6] += 20.0
    fit = identify_spring(phi, Q, rate, robust=True)
    assert fit.outliers == len(Q[::6])
    assert "    WARNING: outliers: 17% of the samples left out" in fit.describe()
    assert "  # WARNING: outliers: 17%" in fit.to_yaml()
    ends = replace(identify_spring(*samples(lambda x: 400 * x)), recorded=(-0.1, 0.1))
    assert ends.warning().startswith("outliers: the ends of the deflections -0.1 to 0.1 rad left")
