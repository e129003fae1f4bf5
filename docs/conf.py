"""Sphinx: how the site is made of the pages. `make docs` builds it (see builder/)."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # our extensions are docs.builder.…

from dalembert import __version__  # noqa: E402

project = "dalembert"
author = "The dalembert developers"
project_copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "docs.builder.mathml",
    "docs.builder.docstrings",
]
nitpick_ignore: list[tuple[str, str]] = []

# pages are plain Markdown, with formulas between dollar signs; headings are anchors as on GitHub
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# docstrings are numpydoc; names in single backticks are code
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "dalembert"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # excerpts would be fetched, which pages from a file cannot
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f99", "color-brand-content": "#1f5f99"},
    "dark_css_variables": {"color-brand-primary": "#7db8ee", "color-brand-content": "#7db8ee"},
}
templates_path: list[str] = []
pygments_style = "friendly"
pygments_dark_style = "monokai"
