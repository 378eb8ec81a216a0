"""What remit costs, beside what it may cost. Ratios and sizes are measured here and never asserted by a test."""
