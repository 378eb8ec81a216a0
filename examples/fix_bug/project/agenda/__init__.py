"""A day's meetings, and the time between them."""
