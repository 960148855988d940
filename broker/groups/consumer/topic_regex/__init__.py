"""Regular expressions in RE2 syntax, matched against whole topic names in linear time.

Kafka uses RE2/J because a client chooses the expression and the coordinator must not stall on it.
Python's `re` backtracks: `(a+)+b` takes exponential time on a name of thirty letters. A topic name
consists of 65 characters, and only the question "does the whole name match" is asked, so captures
and greediness do not matter. That makes an automaton simple: `syntax` parses, `automaton` matches.

An expression that RE2/J refuses is refused with the same description. Expressions that expand to
more than `automaton.SIZE_MAX` states, or that have more than `syntax.LENGTH_MAX` characters, are
refused here, although RE2/J accepts them.
"""
