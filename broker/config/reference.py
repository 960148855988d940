"""Writes docs/reference/configuration.md from the tables: `python -m broker.config.reference`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from broker.config.definitions import AREAS
from broker.config.definitions.topic import SYNONYMS, TOPIC_PROPERTIES
from broker.config.property import Meaning, Property
from broker.config.values import value_text

_HEAD = """# Configuration

Use this page to look up the properties of the reference broker and of its topics. The names are
Kafka's. The broker refuses to start with a name that is not listed here or with a value that is not
allowed, and reports the line and the nearest name. It accepts properties of Kafka that have no
meaning here with a warning. `--override NAME=VALUE` on the command line overrides the file. The
[glossary](glossary.md) defines the terms.

This prepares the directory of a single node; `broker start --config` with the same file starts it:

```sh
cat > /tmp/one.properties <<'END'
node.id=1
listeners=PLAINTEXT://127.0.0.1:9092
log.dirs=/tmp/log-trial-1
END
.venv/bin/broker format --config /tmp/one.properties
```

`python -m broker.config.reference` writes this page, and a test compares it with the code.
"""


def configuration_page() -> str:
    parts = [_HEAD]
    for area, rows in AREAS.items():
        parts.append(f"\n## {area}\n")
        parts += _section(rows)
    parts.append(
        "\n## Topics\n\nSet when a topic is created, or later by IncrementalAlterConfigs.\n"
    )
    parts.append("Not set, the broker property in the last column decides.\n\n")
    parts.append("| name | type | default | allowed | meaning | broker property |\n")
    parts.append("|---|---|---|---|---|---|\n")
    for known in TOPIC_PROPERTIES.values():
        synonyms = ", ".join(f"`{each.name}`" for each in SYNONYMS.get(known.name, ()))
        effect = known.about
        if known.meaning is Meaning.WITHOUT_MEANING:
            effect = f"Without effect: {known.about}."
        parts.append(f"{_cells(known)} {effect} | {synonyms} |\n")
    return "".join(parts)


def _section(rows: Iterable[Property]) -> list[str]:
    rows = sorted(rows, key=lambda known: known.name)
    lines = ["\n| name | type | default | allowed | meaning |\n|---|---|---|---|---|\n"]
    for known in rows:
        if known.meaning is Meaning.USED:
            changes = "" if known.update.value == "read-only" else f" ({known.update.value})"
            lines.append(f"{_cells(known)} {known.about}{changes} |\n")
    for meaning, title in (
        (Meaning.WITHOUT_MEANING, "Accepted with a warning, without effect"),
        (Meaning.REFUSED, "Refused"),
    ):
        chosen = [known for known in rows if known.meaning is meaning]
        if chosen:
            lines.append(f"\n{title}:\n\n| name | why |\n|---|---|\n")
            lines += [f"| `{known.name}` | {known.about} |\n" for known in chosen]
    return lines


def _cells(known: Property) -> str:
    default = value_text(known.default)
    shown = "" if default is None else f"`{default}`" if default else "empty"
    return f"| `{known.name}` | {known.kind.name.lower()} | {shown} | {known.check} |"


if __name__ == "__main__":
    sys.stdout.write(configuration_page())
