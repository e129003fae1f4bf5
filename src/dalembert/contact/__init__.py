"""Contact: what bodies do when they meet, slide and part."""
