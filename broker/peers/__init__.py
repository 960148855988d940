"""How a node asks other nodes: requests out, answers in."""
