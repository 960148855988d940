"""Reads and changes the levels of this process's loggers while it runs, by Kafka's names."""

from __future__ import annotations

import logging

ROOT = "root"
"""Kafka's name for the logger that all others take their level from; here it is `broker`."""

_TOP = "broker"
_TRACE = 5
LEVELS = {
    "TRACE": _TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}


def logger_levels() -> dict[str, str]:
    """Every logger with the level in force for it, the one it inherits included."""
    known = logging.getLogger(_TOP).manager.loggerDict
    names = [
        name
        for name, logger in known.items()
        if name.startswith(f"{_TOP}.") and isinstance(logger, logging.Logger)
    ]
    return {name: _level_of(name) for name in [ROOT, *sorted(names)]}


def set_level(name: str, level: str | None) -> None:
    """None takes the level back, so that the logger inherits again."""
    _logger(name).setLevel(logging.NOTSET if level is None else LEVELS[level])


def _level_of(name: str) -> str:
    number = _logger(name).getEffectiveLevel()
    return next((word for word, at_most in LEVELS.items() if number <= at_most), "FATAL")


def _logger(name: str) -> logging.Logger:
    return logging.getLogger(_TOP if name == ROOT else name)
