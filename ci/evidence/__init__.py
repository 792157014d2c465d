"""What shows that the judge is right: false alarms and power, from recorded trials."""
