"""What the controller decides, as pure functions: the image goes in, changes to it come out.

`partition_change` is the heart: it alone builds the next state of a partition. The other files
say when it is asked and with what. Nothing here waits, sends or stores; whoever calls makes the
changes durable first, and answers afterwards.
"""
