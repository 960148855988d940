"""Wall clocks of single processes: a small library, preloaded, that shifts what they are told."""
