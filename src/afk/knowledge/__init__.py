"""Knowledge sources: what they know, how they are asked, and what an answer costs."""
