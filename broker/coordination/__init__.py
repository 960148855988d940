"""The runtime of coordinators: state machines whose lasting state is a partition's records."""
