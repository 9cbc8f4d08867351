# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sentences about the results follow the numbers."""

from multibody_dynamics.tools.study.equal_noise import EqualNoise
from multibody_dynamics.tools.study.studied_laws import COMPENSATION_LAWS, GAIN_LAWS
from multibody_dynamics.tools.study.study_conclusions import (
    about_contacts,
    about_delays,
    about_errors,
    about_front,
    about_gains,
    about_noise,
    about_parts,
    about_plants,
    about_rates,
)
from multibody_dynamics.tools.study.study_tables import StudyTables
from study_arms import ORIGIN, made_up


def test_the_best_law_and_the_lost_ones_are_named():
    def error(key):
        if key.law == "sf-full":
            return None
        if key.law == "pd-quasi" and key.draw == 4:
            return None
        return 0.2e-3 if key.law == "pd-full" else 1e-3

    text = list(about_errors(made_up(error)))
    assert text[0] == (
        "panda, all parameters 10 % off: motor PD, full has the smallest median error, 0.2 mrad; "
        "the default law has 1. Lost: state feedback, full. Lost in some draws: motor PD, "
        "quasi-static."
    )
    assert next(about_errors(made_up(lambda key: None))).endswith("every law is lost.")


def test_where_the_rates_pay_they_are_said_to_pay():
    ratios = {"exact": 10.0, "all-10": 2.0, "all-20": 1.1, "all-30": 0.5}

    def error(key):
        return 1e-4 * (ratios.get(key.condition, 1.0) if "quasi" in key.law else 1.0)

    text = "\n".join(about_rates(made_up(error)))
    assert "reduce the error by a fifth or more for: panda, exact model (10); panda, all" in text
    assert "less than a quarter for: panda, all parameters 20 % off (1.1)" in text
    assert "increase the error by a quarter or more for: panda, all parameters 30 % off" in text


def test_delays_contacts_and_parts_have_a_sentence_each():
    tables = made_up(lambda key: None if key.condition == "delay-5-unknown" else 1e-3)
    delays = list(about_delays(tables))
    assert len(delays) == 3
    assert delays[2].endswith("every law is lost.")
    assert len(list(about_contacts(tables))) == 4
    parts = list(about_parts(tables))
    assert parts[0] == (
        "panda, motor PD, full, compensated, 30 % off, in mrad: links 1, springs 1, motors 1, "
        "friction 1."
    )


def test_the_front_names_the_fastest_stable_bandwidth():
    tables = made_up(lambda key: 1e-3)
    stable = list(COMPENSATION_LAWS)[:3]
    judgements = tuple(
        each._replace(unstable=0.0 if each.law in stable else 0.2)
        for each in tables.results.judgements
    )
    results = tables.results._replace(judgements=judgements)
    (text,) = about_front(StudyTables(tables.study, results, ORIGIN))
    names = ", ".join(key.removeprefix("front-") for key in stable)
    assert f"at all judged poses with {names} rad/s. Of these, 0 rad/s has" in text
    unstable = tuple(each._replace(unstable=0.5) for each in judgements)
    results = tables.results._replace(judgements=unstable)
    (text,) = about_front(StudyTables(tables.study, results, ORIGIN))
    assert text.endswith("no bandwidth is stable at all judged poses.")


def test_gains_that_meet_all_goals_are_named_with_their_noise():
    def error(key):
        return 0.9e-3 if key.law == "gains-pd-40" and key.condition == "hit" else 0.02e-3

    tables = made_up(error)
    calibrations = tuple(
        each._replace(result=each.result._replace(noise=0.52))
        if each.law in GAIN_LAWS and each.law != "gains-coupled-40"
        else each
        for each in tables.results.calibrations
    )
    results = tables.results._replace(calibrations=calibrations)
    text = list(about_gains(StudyTables(tables.study, results, ORIGIN)))
    assert text[0].endswith(
        "meet all goals; of these, state feedback of the whole arm, 40 rad/s, has the least noise, "
        "1 times that of the default law."
    )
    (noise,) = about_noise(StudyTables(tables.study, results, ORIGIN))
    assert noise.startswith("All laws")

    def worse(key):
        return 3e-3 if key.condition == "hit" else error(key)

    text = list(about_gains(made_up(worse)))
    assert text[0] == "panda: none of these laws meets all goals."
    assert "motor PD, 40 rad/s, 1 times the noise, misses: hit of 100 N for 20 ms (3 mrad)." in text
    assert len(text) == 1 + len(GAIN_LAWS)
    assert not list(about_gains(made_up(robots=("antagonistic",))))


def test_laws_that_miss_the_noise_are_named():
    tables = made_up()
    assert list(about_noise(tables)) == ["All laws reach the noise of the reference."]
    first = tables.results.calibrations[1]
    noisy = first._replace(result=EqualNoise(1.0, 0.52, 0.26))
    results = tables.results._replace(calibrations=(noisy,))
    (text,) = about_noise(StudyTables(tables.study, results, ORIGIN))
    assert text.startswith("* panda, motor PD, quasi-static, compensated: 2 times the noise")


def test_plants_that_disagree_are_named():
    def error(key):
        if key.condition == "hit" and key.law == "sf-full" and key.plant == "mujoco":
            return None
        return 1.1e-3 if key.plant == "mujoco" and key.condition == "exact" else 1e-3

    text = list(about_plants(made_up(error, plant="both")))
    assert "differ by at most 10 % (panda" in text[0]
    assert text[1] == (
        "The plants lose different numbers of runs: panda, state feedback, full, hit "
        "(0 and 1 of 1)."
    )
