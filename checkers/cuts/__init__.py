"""A history that is too large for one machine: the part of it that a finding can name.

For lists (`list-append`), `lists.py` decides from all mentions of some keys, and `moments.py` finds
where in time a cycle of dependencies may lie. The rest of the package is about logs.

Theory. Remove from a history every mention of some records, in every operation. The rest is a
history of smaller logs. No checker finds anything in it that it does not find in the whole, as long
as ranks count the removed records: an anomaly of logs is a contradiction between mentions of a few
records, and the smaller history has fewer mentions. So it is enough to keep the records that a
finding of the whole history names, or that decide about one. The checkers' own functions judge the
smaller history, and their findings are those of the whole.

A record is *removable* if no finding can need it: it was sent once and acknowledged at an offset;
it was polled at that offset, and no other record was; no lower record of the log was begun after it
was acknowledged or polled; and every process that sent or polled it went on to the next known
record of the log. All other records are kept.

Each part is judged without the others. `slots.py` decides about a range of offsets of one log,
`lanes.py` about a stretch of what one process did on one log, `senders.py` about the values that
were sent. Each has a function `summarise`. What a part cannot decide alone goes into its summary,
and `merge`, `conclude`, `late_ranges` or `overlaps` decide it from the summaries. `projection.py`
selects the elements of the smaller history and counts the records that are removed below each
remaining one, because findings name ranks.
"""
