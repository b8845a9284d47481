"""The released edition: the paper's tasks with the geometry that its numbers were measured on."""
