"""Our own Kafka client: the same code on simulated connections and on real sockets."""
