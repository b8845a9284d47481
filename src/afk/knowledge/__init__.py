"""Knowledge sources: what they know, and how they are asked."""
