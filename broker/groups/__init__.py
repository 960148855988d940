"""The rules of consumer groups: state machines without input or output."""
