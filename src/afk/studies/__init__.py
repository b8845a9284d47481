"""Runs that are trained by the paper's protocol, and the records that they leave."""
