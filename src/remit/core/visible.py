r"""Show text so that what is seen is what is there: one line, nothing hidden, nothing reordered.

Escaped as `\uXXXX` (beyond U+FFFF as a surrogate pair, as JSON writes it): controls and line separators,
bidi and other format characters (joiners, soft hyphen, tags), every space but the plain one, lone
surrogates, private use, unassigned, and what Unicode calls printable but draws as nothing (variation
selectors, fillers, blank symbols). Letters of any script, combining marks, CJK and emoji stay as they are;
an emoji that is built with joiners or selectors shows those as escapes. `str.isprintable` knows the Unicode
of its Python: a newer character is escaped.

A backslash stays, so an escape cannot be told from the same six characters in the text. In JSON it can:
passed through `visible`, canonical JSON parses back to the same value, for nothing outside its strings is
ever escaped.
"""


def visible(text: str) -> str:
    r"""Return `text` with every character that could hide or reorder something as `\uXXXX`."""
    if text.isprintable() and (text.isascii() or _BLANK.isdisjoint(text)):
        return text
    return "".join([char if char.isprintable() and char not in _BLANK else _escape(char) for char in text])


def _escape(char: str) -> str:
    code = ord(char)
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


_BLANK = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),  # combining grapheme joiner
        (0x115F, 0x1160),  # Hangul fillers
        (0x17B4, 0x17B5),  # Khmer inherent vowels
        (0x180B, 0x180F),  # Mongolian variation selectors
        (0x2800, 0x2800),  # Braille blank
        (0x3164, 0x3164),  # Hangul filler
        (0xFE00, 0xFE0F),  # variation selectors
        (0xFFA0, 0xFFA0),  # halfwidth Hangul filler
        (0x13441, 0x13442),  # Egyptian blanks
        (0x16FE4, 0x16FE4),  # Khitan filler
        (0x1D159, 0x1D159),  # musical null notehead
        (0xE0100, 0xE01EF),  # variation selectors supplement
    )
    for code in range(first, last + 1)
)
"""Printable for Python, nothing for the eye."""
