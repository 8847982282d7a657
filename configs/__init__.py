"""Case files: what to score, read from YAML and checked before anything runs."""
