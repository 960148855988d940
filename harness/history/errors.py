"""What is wrong with a history that somebody asked for, in a sentence."""

from __future__ import annotations


class HistoryError(Exception):
    """Never a traceback, never a verdict: the history is not there, or is not what it should be."""

    def __init__(self, what: str, where: str, to_try: str | None = None) -> None:
        self.what = what
        self.where = where
        self.to_try = to_try
        super().__init__(f"{where}: {what}" + (f"; {to_try}" if to_try else ""))
