"""The rules of one consumer group of the new protocol (KIP-848), without I/O."""
