"""A history that is too large for one machine: what of it a finding can name.

Of lists (`list-append`) `lists.py` says what follows from all that is said of some keys, and
`moments.py` where in time a cycle of dependencies may lie. The rest is about logs.

Theory. Take away from a history every mention of some records, in whatever operation: what is left
is a history again, of smaller logs. No checker finds anything there that it does not find in the
whole, as long as nobody counts the slots that are gone: an anomaly of logs is a contradiction
between mentions of a few records, and the smaller history has fewer mentions. So it is enough to
keep the records that a finding of the whole history names, or that decide about it; then the
checkers' own functions judge the small history, and their findings are those of the whole one.

A record is *dull* if no finding can need it: sent once, by an operation that was ok and was told
its offset; polled there, and nothing else polled there; neither sent nor shown before what is below
it was begun; and every process that sent or polled it went on to the next known record of the log.
Everything else is kept.

Dullness is decided in parts that know nothing of each other. `slots.py` looks at a range of offsets
of one log, `lanes.py` at a stretch of what one process did on one log, `senders.py` at the values
that were sent. Each has `summarise`, and what a part cannot decide alone goes into its summary:
`merge` or `conclude` decide it from the summaries. `projection.py` makes the smaller history, with
the number of records that are gone below each one that is left, since findings tell ranks.
"""
