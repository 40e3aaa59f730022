"""The events that the server emits."""
