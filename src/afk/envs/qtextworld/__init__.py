"""Q-TextWorld: cooking games of TextWorld with an oracle, compiled to tensors (paper, appendix A.2)."""
