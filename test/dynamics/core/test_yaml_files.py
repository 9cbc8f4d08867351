# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""YAML files: numbers as on data sheets, and one line for whatever is wrong."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multibody_dynamics.dynamics.core import InputError, read_yaml, read_yaml_documents
from rejections import assert_rejected


def test_yaml_floats_follow_yaml_1_2(tmp_path):
    file = tmp_path / "numbers.yaml"
    file.write_text("[1e-4, -2E3, .5e1, 1.e2, 1e, e1, 1e-4x, 12, '1e4']")
    assert read_yaml(file) == [1e-4, -2e3, 5.0, 100.0, "1e", "e1", "1e-4x", 12, "1e4"]


def test_dates_remain_text(tmp_path):
    file = tmp_path / "dates.yaml"
    file.write_text("[2026-11-22, 2026-02-31, 2026-11-22 10:00:00]")
    assert read_yaml(file) == ["2026-11-22", "2026-02-31", "2026-11-22 10:00:00"]


def test_documents_are_separated(tmp_path):
    file = tmp_path / "echo.yaml"
    file.write_text("a: 1\n---\nb: 2\n---\n")
    assert read_yaml_documents(file) == [{"a": 1}, {"b": 2}, None]
    assert_rejected((lambda: read_yaml(file), "3 documents, expected one"))
    file.write_text("")
    assert read_yaml(file) is None


BAD = {
    "a: [1, 2": r"line 1, column 9\)",
    "a: 1\na: 2": r"key 'a' is given twice \(line 2\)",
    "ratio: 100:1": r"100:1 is not a number \(line 1\); write a gear ratio of 100:1 as 100",
    "a: !!bool maybe": "bad value 'maybe'",
    "a: !!int four": "bad value invalid literal",
    "a: !!timestamp 2026-02-31": "bad value day",
    "a: " + 5000 * "9": r"a number of 5000 digits \(line 1\) is too large",
    20_000 * "[": "nested too deeply",
    "? [1, 2]\n: 3": "bad value unhashable type",
    "!!python/object/apply:os.system [ls]": "could not determine a constructor",
    "a: \x07": "special characters are not allowed",
    "a: *b": "found undefined alias",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:16])
def test_a_file_that_cannot_be_parsed(tmp_path, text):
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=BAD[text]) as caught:
        read_yaml(file)
    message = str(caught.value)
    assert message.startswith(f"{file}: not valid YAML: ")
    assert "\n" not in message


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.yaml").write_bytes("a: Stöckel".encode("latin-1"))
    for name, reason in (
        ("latin.yaml", "not text in UTF-8"),
        ("none.yaml", "cannot be read: No such file"),
        (".", "cannot be read: Is a directory"),
    ):
        with pytest.raises(InputError, match=reason):
            read_yaml(tmp_path / name)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(
        st.one_of(st.sampled_from("abe10.:-?![]{}&*|>%#,'\" \n\t"), st.characters()), max_size=60
    ).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.binary(max_size=40)
)
def test_any_bytes_are_read_or_refused_in_one_line(tmp_path, content):
    file = tmp_path / "any.yaml"
    file.write_bytes(content)
    refusal = ""
    try:
        read_yaml_documents(file)
    except InputError as error:
        refusal = str(error)
    assert len(refusal.splitlines()) <= 1
