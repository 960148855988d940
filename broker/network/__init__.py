"""The network seam: listeners and connections, on real sockets and, later, in the simulator."""
