"""The page of what is supported says what the tests say."""

from support_page import PAGE, page

from dalembert.modelica.parser import parse
from dalembert.modelica.source import Source


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "python tests/modelica/support_page.py writes it anew"


def test_what_the_page_shows_is_modelica():
    for block in page().split("```modelica\n")[1:]:
        parse(Source(block.split("```")[0]))
