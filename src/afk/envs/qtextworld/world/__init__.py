"""The kitchen: its things, its state, its rules, its texts and its oracle."""
