"""ssh: hosts of an inventory, far away or not, and what may be broken there."""
