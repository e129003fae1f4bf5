"""The command line: one file for each group of commands, which adds them to `app`.

Heavy modules are imported inside the commands, so that `dalembert --help` is quick. A new group is a file that takes
`command` from `dalembert.cli.app`, and its name below.
"""

from importlib import import_module

from dalembert.cli.app import app, main

#: files with commands, in the order in which `dalembert --help` lists them
GROUPS = ("catalogue", "simulate", "compare", "sweep", "check", "modelica", "info", "shells")

for group in GROUPS:
    import_module(f"{__name__}.{group}")

__all__ = ["app", "main"]
