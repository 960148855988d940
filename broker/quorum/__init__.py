"""The metadata quorum around its rules: the log on disk, the votes on the wire."""
