"""How fast environments and training are."""
