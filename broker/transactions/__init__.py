"""The rules of transactions: one transactional id after the other, without input or output."""
