"""Settings of the documentation."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "skci"
author = "The skci developers"
copyright = f"2026, {author}"
version = release = installed_version(project)

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "metrics_table",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "examples"]  # sources of the gallery
default_role = "py:obj"

# Types are in the docstrings.
autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False

# Public docstrings are complete, or refer to another docstring. Parameters with one
# description are grouped, and noun phrases describe results.
numpydoc_validation_checks = {"all", "ES01", "EX01", "PR03", "SA01", "SS05"}
_elsewhere = [r"See\s+:meth:", r"[Rr]eturned\s+by"]
numpydoc_validation_overrides = {
    **dict.fromkeys(["PR04", "RT01", "YD01"], _elsewhere),
    "PR01": [*_elsewhere, r"Interface of sampling designs"],  # a protocol is not called
    "SS03": [r"Alias for field"],  # a named tuple
}

numpydoc_validation_exclude = {r"CustomItemCI\.reads$"}  # has the docstring of str

# Every reference must resolve, except references to other projects.
nitpicky = True
nitpick_ignore_regex = [
    (r"py:.*", r"(joblib|matplotlib|numpy|pandas|polars|scipy|sklearn)\..*"),
    (r"py:obj", r"[a-z]\w*"),  # parameters, as docstrings quote them
]

# Prompts and output are not copied.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "gallery.fail_on_warnings"),
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
    "thumbnail_size": (800, 480),
    "doc_module": ("skci",),
    "backreferences_dir": "generated/backreferences",
    "reference_url": {"skci": None},
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
}

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["skci.css"]
html_sidebars = {"**": ["guides"]}  # one sidebar for all pages
html_theme_options = {"navbar_center": []}  # the sidebar has all pages
html_show_sourcelink = False
