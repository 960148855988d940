"""The simulator: nodes, clients, disks and links in one process, in virtual time, by one seed."""
