import ribp

project = "ribp"
author = "The ribp developers"
release = ribp.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",  # formulas are shown without a network
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
html_theme = "alabaster"
html_theme_options = {
    "description": "Hidden binary features when you know how many each row has",
    "page_width": "70rem",
    "sidebar_width": "15rem",
    "fixed_sidebar": True,
    "code_font_size": "0.8em",
}
exclude_patterns = ["_build"]
numpydoc_show_class_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
nitpicky = False
