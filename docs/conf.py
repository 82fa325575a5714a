import ribp

project = "ribp"
author = "The ribp developers"
copyright = "the ribp developers"
release = version = ribp.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",  # formulas are shown without a network
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 2
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "ribp"
html_static_path = ["_static"]
html_css_files = ["ribp.css"]
html_show_sourcelink = False
html_sidebars = {"index": [], "gallery": []}
html_context = {"default_mode": "auto"}
html_theme_options = {  # nothing here asks another host
    "logo": {"text": "ribp"},
    "header_links_before_dropdown": 6,
    "navbar_persistent": [],
    "navbar_end": ["search-button", "theme-switcher"],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["licence"],
    "footer_end": [],
}
exclude_patterns = ["_build"]
numpydoc_show_class_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
nitpicky = False
