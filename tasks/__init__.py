"""The stages of a run (files) and the plain code that they call (folders)."""
