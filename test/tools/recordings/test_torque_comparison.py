# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `validate`: files, output and exit status."""

import json
import re

import numpy as np
import pytest
from matplotlib.image import imread

from bag_files import BEGIN, messages_of, motion, write_bag
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools import cli
from multibody_dynamics.validation.recordings import Bag, Recording
from robots import CONFIG

ARM = CONFIG / "robots" / "planar_two_link.urdf"
MODEL = dyn.load_urdf(ARM)
RATE = 200.0


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    t, rows = motion(MODEL, 3000, RATE)
    rows[:, 2, 0] += 0.5 * np.tanh(rows[:, 1, 0] / 0.05)
    rows[1500:1520, 2] = np.nan
    path = tmp_path_factory.mktemp("bags") / "day_1"
    return write_bag(path, messages_of(t, rows, MODEL.joint_names))


def run(*arguments):
    return cli.main(["validate", *map(str, arguments), "--urdf", str(ARM)])


def test_the_report_is_self_contained(bag, tmp_path, capsys):
    folder = tmp_path / "out"
    assert run(bag, "--cutoff", 10, "--identify", "friction", "--bag", "-o", folder) == 0
    printed = capsys.readouterr().out
    assert "3000 messages, 200 Hz, cut-off 10 Hz as specified" in printed
    assert "20 messages with NaN" in printed
    assert f"report: {folder / 'report.html'}" in printed

    page = (folder / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 2
    assert not re.search(r'(src|href)="(?!data:)', page)
    for part in ("shoulder", "elbow", "Q&#39;&#39;, predicted minus measured", "Identified"):
        assert part in page
    text = (folder / "report.md").read_text()
    assert "| elbow " in text
    for name in ("torques.png", "rates.png"):
        assert f"]({name})" in text
        pixels = imread(folder / name)[..., :3]
        assert 0.01 < (pixels.min(axis=-1) < 0.9).mean() < 0.5

    content = json.loads((folder / "report.json").read_text())
    parameters = content["identification"]["parameters"]
    assert set(parameters) == {
        f"{joint}.{kind}"
        for joint in ("shoulder", "elbow")
        for kind in ("viscous", "coulomb", "coulomb_velocity", "offset")
    }
    # There is no Coulomb friction at the elbow.
    assert parameters.pop("elbow.coulomb_velocity") == {"value": None, "standard error": None}
    assert all(0.0 < each["standard error"] < 1.0 for each in parameters.values())
    assert content["cut-off [Hz]"] == 10.0
    assert content["topics"][0]["unusable_list"][0]["from"] == pytest.approx(7.5)
    figures = content["residuals"]["Q"]["shoulder"]
    assert 0.3 < figures["rms"] < 0.6
    assert 0.0 < figures["worst at"] < 15.0
    after = content["identification"]["after"]["shoulder"]["nrms"]
    assert after < 0.2 * content["identification"]["before"]["shoulder"]["nrms"]
    assert "viscous" in (folder / "identified.yaml").read_text()

    again = tmp_path / "again"
    data = ["--data", folder / "identified.yaml"]
    assert run(bag, "--cutoff", 10, *data, "-o", again) == 0
    better = json.loads((again / "report.json").read_text())["residuals"]["Q"]["shoulder"]
    assert better["nrms"] < 0.2 * figures["nrms"]


def test_the_bag_of_predictions(bag, tmp_path):
    assert run(bag, "--cutoff", 10, "--bag", "-o", tmp_path) == 0
    path = tmp_path / "bag"
    count = json.loads((tmp_path / "report.json").read_text())["compared samples"]
    topics = Bag(path).overview.topics
    assert len(topics) == 9
    assert set(topics.values()) == {count}
    found = {}
    for kind in ("measured", "predicted", "error"):
        parts = list(Recording(path).read([f"/validation/{kind}"]))
        assert parts[0].names == MODEL.joint_names
        found[kind] = np.concatenate([part.rows for part in parts])
        stamps = np.concatenate([part.stamp for part in parts])
        assert (np.diff(stamps) > 0).all()
    difference = found["predicted"][:, 2] - found["measured"][:, 2]
    assert np.array_equal(found["error"][:, 2], difference)
    q, qd, _ = found["predicted"].transpose(1, 0, 2)
    inner = slice(200, 300)
    assert np.abs(np.gradient(q[inner], 0.01, axis=0) - qd[inner])[1:-1].max() < 0.01


def test_the_duration_is_that_of_the_states_in_simulated_time(tmp_path):
    """A simulation that took four times as long as the motion, and began at 8 s."""
    t, rows = motion(MODEL, 1000, RATE)
    messages = messages_of(t, rows, MODEL.joint_names, begin=8_000_000_000)
    slow = [(topic, BEGIN + 4 * at, raw) for topic, at, raw in messages]
    path = write_bag(tmp_path / "slow", slow)
    assert run(path, "--cutoff", 10, "-o", tmp_path / "out") == 0
    text = (tmp_path / "out" / "report.md").read_text()
    assert "1000 messages: 5 s of states at 200 Hz, from 8 s of simulated time" in text


def test_the_exit_status_reports_too_large_errors(bag, tmp_path, capsys):
    limits = ["--cutoff", 10, "-o", tmp_path, "--max-nrms"]
    assert run(bag, *limits, 2) == 0
    assert not capsys.readouterr().err
    assert run(bag, *limits, 1e-3) == 1
    assert "larger than --max-nrms 0.001" in capsys.readouterr().err


def test_several_recordings(bag, tmp_path, capsys):
    absent = tmp_path / "absent"
    out = tmp_path / "out"
    assert run(bag, absent, "--cutoff", 10, "-o", out) == 1
    assert str(absent) in capsys.readouterr().err
    index = (out / "index.html").read_text()
    assert 'href="day_1/report.html"' in index
    assert (out / "day_1" / "report.html").is_file()
    content = json.loads((out / "fleet.json").read_text())
    assert [row["recording"] for row in content["recordings"]] == [str(bag), str(absent)]
    single = json.loads((out / "day_1" / "report.json").read_text())["residuals"]["Q"]
    assert content["all together"]["Q"] == single
    assert "| recording " in (out / "fleet.md").read_text()


def test_the_fleet_shows_the_errors_before_and_after_identification(bag, tmp_path):
    out = tmp_path / "out"
    arguments = ["--cutoff", 10, "--identify", "friction", "-o", out]
    assert run(bag, tmp_path / "absent", *arguments) == 1
    row, absent = json.loads((out / "fleet.json").read_text())["recordings"]
    report = json.loads((out / "day_1" / "report.json").read_text())
    assert row["largest nrms"] == f"{report['largest nrms']:.4g}"
    after = report["identification"]["after"].values()
    assert row["identified"] == f"{max(each['nrms'] for each in after):.4g}"
    assert absent["identified"] == "-"


def test_recordings_are_compared_even_if_identification_fails(tmp_path, capsys):
    t, rows = motion(MODEL, 250, RATE)
    short = write_bag(tmp_path / "day.1", messages_of(t, rows, MODEL.joint_names))
    out = tmp_path / "out"
    assert run(short, short, "--cutoff", 10, "--identify", "friction", "-o", out) == 1
    printed = capsys.readouterr().err
    assert (
        f"{short}: not identified: 125 samples to fit and 26 states to test on, but 32" in printed
    )
    for folder in ("day.1", "day.1_2"):  # no report overwrites another
        assert f'href="{folder}/report.html"' in (out / "index.html").read_text()
        assert "not identified" in (out / folder / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bag", "--cutoff", "90"], "cut-off 90 Hz"),
        (["--hold", "knee=1"], "knee"),
        (["--hold", "elbow=nan"], "--hold elbow=nan: must be a finite number"),
        (["--identify", "payload", "--payload-body", "hand"], "'hand'"),
        (["--identify", "friction", "--train", "2"], "--train 2: must be from 0.1 to 0.9"),
        (["--motor-topic", "/motors"], "--motor-topic /motors: requires --effort motor"),
        (["--identify", "springs"], "--identify springs"),
        (["--topic", "/states"], "no joint states on /states"),
        (["--data", "absent.yaml"], "absent.yaml"),
        (["--effort", "motor"], "--elastic-joints"),
    ],
)
def test_invalid_arguments_are_rejected(bag, tmp_path, capsys, arguments, message):
    assert run(bag, "-o", tmp_path / "out", *arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()
