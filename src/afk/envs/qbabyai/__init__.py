"""Q-BabyAI: a grid world whose tasks are made of four clauses (paper, section 2.2 and appendix A.1)."""
