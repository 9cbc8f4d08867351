"""The report."""

import re

import pytest

from multibody_dynamics.tools.study.conditions import CONDITIONS
from multibody_dynamics.tools.study.study_page import summary, write_report
from study_arms import made_up


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    def error(key):
        if key.law == "linearization" and key.condition.startswith("all"):
            return None
        return 1e-3 * (1.0 + key.draw)

    tables = made_up(error, laws=("main", "linearization"), plant="both", stiffnesses=(1.0, 5.0))
    return write_report(tables, tmp_path_factory.mktemp("report")).read_text()


def test_the_report_contains_every_table_and_is_self_contained(page):
    for heading in (
        "Goals",
        "Equal noise",
        "Wrong models",
        "Which parameters matter",
        "What Q&#x27; and Q&#x27;&#x27; bring",
        "Delay, irregular periods and rate",
        "Payload, hit and encoders",
        "Stability at other poses",
        "Bandwidth of the compensation against stability",
        "The same on MuJoCo",
        "What was studied",
    ):
        assert f"<h2>{heading}</h2>" in page
    for condition in CONDITIONS.values():
        assert f"<th>{condition.title}</th>" in page
    assert page.count("<img ") == 5
    assert not re.findall(r'(?:src|href)="(?!data:)', page)


def test_lost_runs_are_lost_in_the_tables(page):
    rows = re.findall(r"<tr><td>feedback linearisation</td>(.*?)</tr>", page)
    assert any('<td class="no">lost</td>' in row for row in rows)
    assert not re.search(r">[^<]*\b(nan|inf)\b", page)


def test_sections_without_results_are_left_out(tmp_path):
    text = write_report(made_up(groups=("exact",), laws=("pd-full",)), tmp_path).read_text()
    for heading in ("Which parameters matter", "Payload, hit and encoders", "The same on MuJoCo"):
        assert heading not in text
    assert "<h2>Wrong models</h2>" in text


def test_the_summary_names_goals_and_medians():
    lines = "\n".join(summary(made_up(lambda key: 0.3e-3)))
    assert re.search(r"motor PD, full, compensated +0\.3 +0\.3 / 0\.3", lines)
    assert "exact model: 0.3 mrad, goal 0.02: not met" in lines
    assert "all parameters 10 % off, median: 0.3 mrad, goal 0.4: met" in lines
