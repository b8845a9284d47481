"""Learning algorithms, all on the device."""
