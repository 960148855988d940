"""From bytes on a connection to a handler and back, in order and within bounds."""
