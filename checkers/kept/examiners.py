"""Every checker of what must be kept, by the name of what it finds."""

from __future__ import annotations

from collections.abc import Callable

from checkers.findings import Findings
from checkers.kept.appended import lost_appends, phantom_appends
from checkers.kept.puts import lost_puts, replaced_gets
from checkers.kept.topics import lost_changes, phantom_topics
from checkers.log.facts import LogFacts

KEPT: dict[str, Callable[[LogFacts], Findings]] = {
    "lost-append": lost_appends,
    "phantom-append": phantom_appends,
    "replaced-get": replaced_gets,
    "lost-put": lost_puts,
    "phantom-topic": phantom_topics,
    "lost-change": lost_changes,
}
