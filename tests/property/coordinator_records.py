"""The messages that are keys and values of internal topics, by name."""

from importlib import resources

from broker.protocol.schema_text import parse

_FILE = "coordinator_records.txt"
_TEXT = (resources.files("broker.protocol") / "schemas" / _FILE).read_text("utf-8")

COORDINATOR_RECORDS = parse({_FILE: _TEXT}).messages
