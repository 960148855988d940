"""Messages on the wire: how they are told apart, and what may be done to a chosen one."""
