"""The environments for users of other interfaces."""
