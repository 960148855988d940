"""Log lines that a machine can read."""

import json
import logging
import sys

from broker.observe.logs import JsonFormatter
from broker.world import current_node


class _Clock:
    def now_ms(self) -> int:
        return 1_700_000_000_123


def line(message: str, *arguments: object, **extra: object) -> dict[str, object]:
    record = logging.LogRecord("broker.x", logging.WARNING, "x.py", 1, message, arguments, None)
    record.__dict__.update(extra)
    parsed: dict[str, object] = json.loads(JsonFormatter(_Clock()).format(record))
    return parsed


def test_a_line_tells_when_who_and_what() -> None:
    token = current_node.set("3")
    try:
        assert line("rolled %s", "t-0") == {
            "time": "2023-11-14T22:13:20.123Z",
            "level": "warning",
            "node": "3",
            "logger": "broker.x",
            "message": "rolled t-0",
        }
    finally:
        current_node.reset(token)


def test_a_requests_fields_are_in_its_line_and_nothing_else() -> None:
    fields: dict[str, object] = {
        "clientId": "c",
        "correlationId": 7,
        "apiKey": 0,
        "topic": "t",
        "partition": 1,
        "epoch": 2,
        "latencyMs": 0.5,
    }
    told = line("answered", **fields, other="x")
    assert fields.items() <= told.items()
    assert "other" not in told


def test_a_message_with_line_breaks_stays_one_line() -> None:
    record = logging.LogRecord("broker", logging.INFO, "x.py", 1, 'a\n"b"\u2028', (), None)
    assert "\n" not in JsonFormatter().format(record)


def test_an_error_brings_its_traceback() -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        record = logging.LogRecord("b", logging.ERROR, "x.py", 1, "failed", (), sys.exc_info())
    assert "ValueError: broken" in json.loads(JsonFormatter().format(record))["error"]
