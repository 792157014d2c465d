"""Pages, charts and README blocks, drawn from the JSON files that the suite writes."""
