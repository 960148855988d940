"""The disk seam: what the broker may ask of a disk, on real files and in memory."""
