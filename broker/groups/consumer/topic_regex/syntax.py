"""Parses RE2 syntax: the regular expressions that Kafka's coordinator accepts.

Greediness and captures are parsed and forgotten, since whole names are matched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from broker.groups.consumer.topic_regex import characters
from broker.groups.consumer.topic_regex.errors import RegexSyntaxError
from broker.groups.consumer.topic_regex.escapes import Cursor, escaped_character
from broker.groups.consumer.topic_regex.tree import (
    EMPTY,
    Choice,
    Node,
    OneOf,
    Place,
    Repeat,
    Sequence,
)

DEPTH_MAX = 200
"""Parentheses inside parentheses. RE2/J has no bound and overflows its stack."""
REPEAT_MAX = 1000
LENGTH_MAX = 8_192
"""Characters of an expression: parsing takes time on the loop of the broker for each of them."""

_PLACES = {
    "A": Place.BEGIN,
    "z": Place.END,
    "b": Place.WORD_BOUNDARY,
    "B": Place.NO_WORD_BOUNDARY,
}
_BAD_GROUP = "invalid or unsupported Perl syntax"


@dataclass(frozen=True, slots=True)
class _Flags:
    fold: bool = False
    """`(?i)`: case is ignored. The flags s, m and U change nothing for topic names."""


def parse(expression: str) -> Node:
    """The tree of an expression; raises RegexSyntaxError."""
    if len(expression) > LENGTH_MAX:
        raise RegexSyntaxError(f"expression too large: it has more than {LENGTH_MAX} characters")
    parser = _Parser(expression)
    tree = parser.alternatives(_Flags(), depth=0)
    if not parser.at.done:
        raise RegexSyntaxError("unexpected )")
    return tree


class _Parser:
    def __init__(self, expression: str) -> None:
        self.at = Cursor(expression)
        self._group_names: set[str] = set()

    def alternatives(self, flags: _Flags, depth: int) -> Node:
        """Everything up to the end of the group. A flag set in one branch holds in the next."""
        if depth > DEPTH_MAX:
            raise RegexSyntaxError("expression nests too deeply")
        branches = []
        while True:
            branch, flags = self._branch(flags, depth)
            branches.append(branch)
            if not self.at.take("|"):
                return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _branch(self, flags: _Flags, depth: int) -> tuple[Node, _Flags]:
        items: list[Node] = []
        was_repeat = False
        while not self.at.done and self.at.peek not in "|)":
            bounds = self._repetition()
            if bounds is not None:
                _repeat_last(items, bounds, was_repeat)
                was_repeat = True
                continue
            # RE2/J takes no repetition after a literal brace either.
            was_repeat = self.at.peek == "{"
            if self.at.take("("):
                flags = self._group(items, flags, depth)
            else:
                items += self._atom(flags)
        return Sequence(tuple(items)) if len(items) != 1 else items[0], flags

    # Repetitions

    def _repetition(self) -> tuple[int, int | None] | None:
        """The bounds of the repetition operator that stands here, which is then passed."""
        bounds: tuple[int, int | None] | None = None
        if self.at.peek in "*+?":
            bounds = {"*": (0, None), "+": (1, None), "?": (0, 1)}[self.at.next()]
        elif self.at.peek == "{":
            bounds = self._counted()
        if bounds is not None:
            self.at.take("?")
        return bounds

    def _counted(self) -> tuple[int, int | None] | None:
        """`{2}`, `{2,}` or `{2,5}`. Anything else that begins with a brace is literal."""
        start = self.at.position
        self.at.next()
        least = most = self.at.number()
        if least is not None and self.at.take(","):
            most = -1 if self.at.peek == "}" else self.at.number()
        if least is None or most is None or not self.at.take("}"):
            self.at.position = start
            return None
        if least > REPEAT_MAX or most > REPEAT_MAX or 0 <= most < least:
            raise RegexSyntaxError("invalid repeat count")
        return least, None if most < 0 else most

    # Groups

    def _group(self, items: list[Node], flags: _Flags, depth: int) -> _Flags:
        """What follows an opening parenthesis; returns the flags that hold after it."""
        inner = flags
        if self.at.take("?"):
            if self.at.take("P<") or self.at.take("<"):
                self._group_name()
            else:
                inner, ends_here = self._group_flags(flags)
                if ends_here:
                    return inner
        items.append(self.alternatives(inner, depth + 1))
        if not self.at.take(")"):
            raise RegexSyntaxError("missing closing )")
        return flags

    def _group_name(self) -> None:
        name = self.at.until(">")
        if name is None or not name or not set(name) <= characters.WORD:
            raise RegexSyntaxError("invalid named capture")
        if name in self._group_names:
            raise RegexSyntaxError("duplicate capture group name")
        self._group_names.add(name)

    def _group_flags(self, flags: _Flags) -> tuple[_Flags, bool]:
        """`(?i)` or `(?i-s:`; whether it ends with the parenthesis."""
        negative = is_after_sign = False
        while not self.at.done:
            letter = self.at.next()
            if letter in "imsU":
                is_after_sign = True
                if letter == "i":
                    flags = replace(flags, fold=not negative)
            elif letter == "-" and not negative:
                negative, is_after_sign = True, False
            elif letter in ":)":
                if negative and not is_after_sign:
                    break
                return flags, letter == ")"
            else:
                break
        raise RegexSyntaxError(_BAD_GROUP)

    # Single items

    def _atom(self, flags: _Flags) -> list[Node]:
        if self.at.peek == "\\":
            return self._escape(flags)
        if self.at.take("["):
            return [OneOf(self._character_class(flags) & characters.LEGAL)]
        letter = self.at.next()
        match letter:
            case "^":
                return [Place.BEGIN]
            case "$":
                return [Place.END]
            case ".":
                return [OneOf(characters.LEGAL)]
            case _:
                return [_literal(letter, flags)]

    def _escape(self, flags: _Flags) -> list[Node]:
        if self.at.take("\\Q"):
            quoted = self.at.until("\\E")
            return [
                _literal(each, flags) for each in (self.at.rest() if quoted is None else quoted)
            ]
        found = self._escaped_class(flags)
        if found is not None:
            return [OneOf(found & characters.LEGAL)]
        if self.at.following in _PLACES:
            self.at.next()
            return [_PLACES[self.at.next()]]
        return [_literal(escaped_character(self.at), flags)]

    def _escaped_class(self, flags: _Flags) -> characters.Characters | None:
        """A class like `\\d` or `\\pL`, if one stands here."""
        following = self.at.following
        if following in "dDsSwW" and following:
            self.at.next()
            return characters.perl(self.at.next(), fold=flags.fold)
        if following not in "pP" or not following:
            return None
        self.at.next()
        negative = self.at.next() == "P"
        name = self.at.until("}") if self.at.take("{") else (self.at.next() if self.at.peek else "")
        if name is None:
            raise RegexSyntaxError("invalid character class range")
        if name.startswith("^"):
            name, negative = name[1:], not negative
        found = characters.unicode(name, fold=flags.fold)
        return characters.complement(found) if negative else found

    def _character_class(self, flags: _Flags) -> characters.Characters:
        negative = self.at.take("^")
        found: characters.Characters = frozenset()
        is_first = True
        while self.at.peek != "]" or is_first:
            is_first = False
            found |= self._class_item(flags)
        self.at.next()
        return characters.complement(found) if negative else found

    def _class_item(self, flags: _Flags) -> characters.Characters:
        if self.at.done:
            raise RegexSyntaxError("missing closing ]")
        start = self.at.position
        if self.at.take("[:"):
            name = self.at.until(":]")
            if name is not None:
                return characters.posix(name, fold=flags.fold)
            self.at.position = start
        if self.at.peek == "\\":
            escaped = self._escaped_class(flags)
            if escaped is not None:
                return escaped
        low = high = self._class_character()
        if self.at.peek == "-" and self.at.following not in ("]", ""):
            self.at.next()
            high = self._class_character()
            if high < low:
                raise RegexSyntaxError("invalid character class range")
        return characters.between(low, high, fold=flags.fold)

    def _class_character(self) -> str:
        if self.at.done:
            raise RegexSyntaxError("missing closing ]")
        return escaped_character(self.at) if self.at.peek == "\\" else self.at.next()


def _literal(character: str, flags: _Flags) -> OneOf:
    found = characters.between(character, character, fold=flags.fold)
    return OneOf(found & characters.LEGAL)


def _repeat_last(items: list[Node], bounds: tuple[int, int | None], was_repeat: bool) -> None:
    if was_repeat:
        raise RegexSyntaxError("invalid nested repetition operator")
    if not items:
        raise RegexSyntaxError("missing argument to repetition operator")
    least, most = bounds
    part = items.pop()
    # A repetition of something empty is the same as that itself.
    items.append(part if part == EMPTY else Repeat(part, least, most))
