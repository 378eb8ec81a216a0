"""Text is shown so that what is seen is what is there."""

import json
import sys
import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.core.visible import visible

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
SNEAKY = st.sampled_from('\\"u/\n\x7f\x85\u2028\u202e\u200d\ufe0f\u3164\U000e0041\U0001f600é日 ')


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param('read_file(a b) "x" \\ {}~', id="printable ASCII"),
        pytest.param("Zoë Łódź Ελλάδα Привет", id="letters with and without marks"),
        pytest.param("cafe\u0301 नमस्ते ประเทศ", id="combining marks"),
        pytest.param("שלום مرحبا", id="letters written from right to left"),
        pytest.param("日本語、한국어「中文」", id="CJK"),
        pytest.param("😀🚀👍🏽🇫🇷★→", id="emoji and symbols"),
    ],
)
def test_printable_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("char", "shown"),
    [
        pytest.param("\n", r"\u000a", id="line feed"),
        pytest.param("\r", r"\u000d", id="carriage return"),
        pytest.param("\t", r"\u0009", id="tab"),
        pytest.param("\0", r"\u0000", id="NUL"),
        pytest.param("\x1b", r"\u001b", id="escape, which starts terminal codes"),
        pytest.param("\x7f", r"\u007f", id="delete"),
        pytest.param("\x85", r"\u0085", id="next line"),
        pytest.param("\x9b", r"\u009b", id="control sequence introducer"),
        pytest.param("\u2028", r"\u2028", id="line separator"),
        pytest.param("\u2029", r"\u2029", id="paragraph separator"),
        pytest.param("\u00a0", r"\u00a0", id="no-break space"),
        pytest.param("\u3000", r"\u3000", id="ideographic space"),
        pytest.param("\u00ad", r"\u00ad", id="soft hyphen"),
        pytest.param("\u034f", r"\u034f", id="combining grapheme joiner"),
        pytest.param("\u061c", r"\u061c", id="Arabic letter mark"),
        pytest.param("\u115f", r"\u115f", id="Hangul choseong filler"),
        pytest.param("\u180e", r"\u180e", id="Mongolian vowel separator"),
        pytest.param("\u200b", r"\u200b", id="zero-width space"),
        pytest.param("\u200d", r"\u200d", id="zero-width joiner"),
        pytest.param("\u202e", r"\u202e", id="right-to-left override"),
        pytest.param("\u2066", r"\u2066", id="left-to-right isolate"),
        pytest.param("\u2800", r"\u2800", id="Braille blank"),
        pytest.param("\u3164", r"\u3164", id="Hangul filler"),
        pytest.param("\ue000", r"\ue000", id="private use"),
        pytest.param("\ufe0f", r"\ufe0f", id="variation selector"),
        pytest.param("\ufeff", r"\ufeff", id="byte order mark"),
        pytest.param("\uffff", r"\uffff", id="not a character"),
        pytest.param("\ud800", r"\ud800", id="lone surrogate"),
        pytest.param("\U000e0041", r"\udb40\udc41", id="tag letter"),
        pytest.param("\U000e0100", r"\udb40\udd00", id="variation selector beyond U+FFFF"),
        pytest.param("\U0010ffff", r"\udbff\udfff", id="the last code point"),
    ],
)
def test_what_could_hide_or_reorder_is_escaped(char: str, shown: str) -> None:
    assert visible(char) == shown
    assert visible(f"é{char}z") == f"é{shown}z"


def test_of_all_characters_only_visible_ones_and_the_plain_space_stay() -> None:
    for code in range(sys.maxunicode + 1):
        shown = visible(chr(code))
        assert shown.isprintable()
        if shown == chr(code):
            kind = unicodedata.category(shown)
            assert shown == " " or kind[0] not in "CZ"
        else:
            assert shown.isascii()
            assert json.loads(f'"{shown}"') == chr(code)


@given(st.text())
def test_what_is_shown_is_one_printable_line(text: str) -> None:
    assert visible(text).isprintable()
    assert len(visible(text).splitlines()) <= 1


@given(JSON | st.text(SNEAKY) | st.dictionaries(st.text(SNEAKY), st.text(SNEAKY)))
def test_canonical_json_still_parses_to_the_same_value(value: object) -> None:
    canonical = msgspec.json.encode(value, order="sorted").decode()
    assert json.loads(visible(canonical)) == json.loads(canonical)
    assert msgspec.json.decode(visible(canonical)) == msgspec.json.decode(canonical)


@given(st.text(SNEAKY))
def test_showing_twice_shows_the_same(text: str) -> None:
    assert visible(visible(text)) == visible(text)
