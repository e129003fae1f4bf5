"""Random models against integrations that have nothing in common with the package."""
