"""Reads an expression character by character, and the escapes that stand for one character."""

from __future__ import annotations

from string import ascii_letters, digits, hexdigits

from broker.groups.consumer.topic_regex.errors import RegexSyntaxError

_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HIGHEST = 0x10FFFF
_OCTAL = "01234567"


class Cursor:
    """A position in a text. At the end, `peek` and `following` are empty."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.position = 0

    @property
    def done(self) -> bool:
        return self.position >= len(self._text)

    @property
    def peek(self) -> str:
        return self._text[self.position : self.position + 1]

    @property
    def following(self) -> str:
        return self._text[self.position + 1 : self.position + 2]

    def next(self) -> str:
        character = self._text[self.position]
        self.position += 1
        return character

    def take(self, expected: str) -> bool:
        """Passes `expected` if it stands here."""
        if not self._text.startswith(expected, self.position):
            return False
        self.position += len(expected)
        return True

    def until(self, end: str) -> str | None:
        """The text before the next `end`, which is passed too; None if there is no `end`."""
        found = self._text.find(end, self.position)
        if found < 0:
            return None
        text = self._text[self.position : found]
        self.position = found + len(end)
        return text

    def rest(self) -> str:
        text = self._text[self.position :]
        self.position = len(self._text)
        return text

    def number(self) -> int | None:
        """A decimal number without leading zeros. Values beyond all bounds are cut to one."""
        start = self.position
        while self.peek and self.peek in digits:
            self.position += 1
        found = self._text[start : self.position]
        if not found or (len(found) > 1 and found[0] == "0"):
            return None
        return int(found) if len(found) < 9 else _HIGHEST


def escaped_character(at: Cursor) -> str:
    """The character that a backslash and what follows it stand for."""
    at.next()
    if at.done:
        raise RegexSyntaxError("trailing backslash at end of expression")
    letter = at.next()
    if letter in _OCTAL and (letter == "0" or (at.peek and at.peek in _OCTAL)):
        return _octal(at, letter)
    if letter == "x":
        return _hexadecimal(at)
    if letter in _CONTROLS:
        return _CONTROLS[letter]
    if letter not in ascii_letters + digits:
        return letter
    # Backreferences (`\1`) end here: no automaton can have them.
    raise RegexSyntaxError("invalid escape sequence")


def _octal(at: Cursor, first: str) -> str:
    found = first
    while len(found) < 3 and at.peek and at.peek in _OCTAL:
        found += at.next()
    return chr(int(found, 8))


def _hexadecimal(at: Cursor) -> str:
    """`\\x41` or `\\x{41}`."""
    if at.take("{"):
        found = at.until("}")
    else:
        found = "".join(at.next() for _ in range(2) if not at.done)
        found = found if len(found) == 2 else None
    if not found or not set(found) <= set(hexdigits) or int(found, 16) > _HIGHEST:
        raise RegexSyntaxError("invalid escape sequence")
    return chr(int(found, 16))
