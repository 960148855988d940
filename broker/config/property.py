"""What is known of one configuration property: the row of a table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from re import fullmatch

Value = bool | int | float | str | tuple[str, ...] | None

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


class Kind(IntEnum):
    """The numbers are the ones that DescribeConfigs answers."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Meaning(Enum):
    USED = "used"
    WITHOUT_MEANING = "accepted, without meaning here"
    REFUSED = "refused"


class Update(Enum):
    """Kafka's words for who may change a broker property while the broker runs."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


@dataclass(frozen=True, slots=True)
class Check:
    """What a value must be beyond its type. Lists are checked entry by entry."""

    low: float | None = None
    high: float | None = None
    words: tuple[str, ...] = ()
    extra: tuple[int, ...] = ()
    unique: bool = False
    form: str = ""
    """A regular expression for each entry of a list, and `about_form` in words."""
    about_form: str = ""

    def allows(self, value: Value) -> bool:
        if value is None or isinstance(value, bool):
            return True
        if isinstance(value, tuple):
            if self.unique and len(set(value)) != len(value):
                return False
            if self.form and not all(fullmatch(self.form, entry) for entry in value):
                return False
            return not self.words or all(entry in self.words for entry in value)
        if isinstance(value, str):
            return not self.words or value in self.words
        if value in self.extra:
            return True
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        if self.words:
            return "one of " + ", ".join(self.words)
        if self.form:
            return self.about_form
        also = "".join(f", or {number}" for number in self.extra)
        if self.low is not None and self.high is not None:
            return f"{self.low} to {self.high}{also}"
        if self.low is not None:
            return f"at least {self.low}{also}"
        return "without duplicates" if self.unique else ""


ANY = Check()
UNIQUE = Check(unique=True)


def at_least(low: float) -> Check:
    return Check(low=low)


def between(low: float, high: float, *also: int) -> Check:
    return Check(low=low, high=high, extra=also)


def one_of(*words: str) -> Check:
    return Check(words=words)


def list_of(*words: str) -> Check:
    return Check(words=words, unique=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    name: str
    kind: Kind
    default: Value
    about: str  # what it does, or why it is without meaning or refused
    check: Check = ANY
    meaning: Meaning = Meaning.USED
    update: Update = Update.READ_ONLY

    @property
    def sensitive(self) -> bool:
        return self.kind is Kind.PASSWORD


def used(
    name: str,
    kind: Kind,
    default: Value,
    about: str,
    check: Check = ANY,
    update: Update = Update.READ_ONLY,
) -> Property:
    return Property(name=name, kind=kind, default=default, about=about, check=check, update=update)


def without_meaning(
    name: str,
    kind: Kind,
    default: Value,
    why: str,
    check: Check = ANY,
    update: Update = Update.READ_ONLY,
) -> Property:
    return Property(
        name=name,
        kind=kind,
        default=default,
        about=why,
        check=check,
        meaning=Meaning.WITHOUT_MEANING,
        update=update,
    )


def refused(name: str, why: str) -> Property:
    return Property(name=name, kind=Kind.STRING, default=None, about=why, meaning=Meaning.REFUSED)
