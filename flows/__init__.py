"""The order of the stages, the front door, and the server that the flows run against."""
