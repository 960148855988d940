"""Character classes, as the sets of those characters that can occur in a topic name."""

from __future__ import annotations

from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import TypeAlias

from broker.groups.consumer.topic_regex.errors import RegexSyntaxError

Characters: TypeAlias = frozenset[str]

LEGAL: Characters = frozenset(ascii_letters + digits + "._-")
"""The characters of topic names."""

# Outside ASCII only these two are equal to letters when case is ignored.
_KELVIN_SIGN, _LONG_S = "\u212a", "\u017f"
_UNIVERSE = LEGAL | {_KELVIN_SIGN, _LONG_S}

WORD: Characters = frozenset(ascii_letters + digits + "_")
_LETTERS = frozenset(ascii_letters + _KELVIN_SIGN + _LONG_S)

_PERL = {"d": frozenset(digits), "s": frozenset(), "w": WORD}
_POSIX = {
    "alnum": frozenset(ascii_letters + digits),
    "alpha": frozenset(ascii_letters),
    "ascii": LEGAL,
    "blank": frozenset(),
    "cntrl": frozenset(),
    "digit": frozenset(digits),
    "graph": LEGAL,
    "lower": frozenset(ascii_lowercase),
    "print": LEGAL,
    "punct": frozenset("._-"),
    "space": frozenset(),
    "upper": frozenset(ascii_uppercase),
    "word": WORD,
    "xdigit": frozenset(digits + "abcdefABCDEF"),
}
_UNICODE = {
    "Any": _UNIVERSE,
    "L": _LETTERS,
    "Ll": frozenset(ascii_lowercase + _LONG_S),
    "Lu": frozenset(ascii_uppercase + _KELVIN_SIGN),
    "N": frozenset(digits),
    "Nd": frozenset(digits),
    "P": frozenset("._-"),
    "Pc": frozenset("_"),
    "Pd": frozenset("-"),
    "Po": frozenset("."),
    "Latin": _LETTERS,
    "Common": frozenset(digits + "._-"),
}
_UNICODE_WITHOUT_LEGAL_CHARACTERS = frozenset(
    """
    C Cc Cf Co Cs Lm Lo Lt M Mc Me Mn Nl No Pe Pf Pi Ps S Sc Sk Sm So Z Zl Zp Zs
    Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille Buginese Buhid
    Canadian_Aboriginal Carian Cham Cherokee Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari
    Egyptian_Hieroglyphs Ethiopic Georgian Glagolitic Gothic Greek Gujarati Gurmukhi Han Hangul
    Hanunoo Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian
    Javanese Kaithi Kannada Katakana Kayah_Li Kharoshthi Khmer Lao Lepcha Limbu Linear_B Lisu Lycian
    Lydian Malayalam Mandaic Meetei_Mayek Mongolian Myanmar New_Tai_Lue Nko Ogham Ol_Chiki
    Old_Italic Old_Persian Old_South_Arabian Old_Turkic Oriya Osmanya Phags_Pa Phoenician Rejang
    Runic Samaritan Saurashtra Shavian Sinhala Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le
    Tai_Tham Tai_Viet Tamil Telugu Thaana Thai Tibetan Tifinagh Ugaritic Unknown Vai Yi
    """.split()
)


def between(low: str, high: str, *, fold: bool) -> Characters:
    """The characters from `low` to `high`. `fold`: case is ignored."""
    return _folded(frozenset(each for each in _UNIVERSE if low <= each <= high), fold)


def perl(letter: str, *, fold: bool) -> Characters:
    """A class like `\\d`, or its complement `\\D`."""
    found = _folded(_PERL[letter.lower()], fold)
    return complement(found) if letter.isupper() else found


def posix(name: str, *, fold: bool) -> Characters:
    """A class like `[:alpha:]`, by what stands between the colons."""
    plain = name.removeprefix("^")
    if plain not in _POSIX:
        raise RegexSyntaxError("invalid character class range")
    found = _folded(_POSIX[plain], fold)
    return complement(found) if plain != name else found


def unicode(name: str, *, fold: bool) -> Characters:
    """A class like `\\p{Lu}` or `\\p{Greek}`."""
    if name in _UNICODE:
        return _folded(_UNICODE[name], fold)
    if name in _UNICODE_WITHOUT_LEGAL_CHARACTERS:
        return frozenset()
    raise RegexSyntaxError("invalid character class range")


def complement(characters: Characters) -> Characters:
    return _UNIVERSE - characters


def _folded(characters: Characters, fold: bool) -> Characters:
    if not fold:
        return characters
    return frozenset(each for each in _UNIVERSE if any(e in characters for e in _same_letter(each)))


def _same_letter(character: str) -> str:
    lower = {_KELVIN_SIGN: "k", _LONG_S: "s"}.get(character, character.lower())
    return lower + lower.upper() + {"k": _KELVIN_SIGN, "s": _LONG_S}.get(lower, "")
