"""How the site is built: pages are staged together with generated ones, then Sphinx makes HTML of them.

    stage       copies the pages, adds what their code shows, and generated pages
    live        runs the code of pages, and embeds the animations and pictures that it writes
    gallery     a page with a picture and an animation for each problem of the catalogue and each example
    reference   pages of public names, from their docstrings
    commands    the page of the command line, from its help
    mathml      formulas as MathML, made while the site is built
    docstrings  what Sphinx would misread in docstrings
"""
