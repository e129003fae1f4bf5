"""What the problems look like; see `dalembert.draw`."""
