"""The example of the guides, with its own files."""

import sys
from pathlib import Path

import pytest

from conftest import unique
from expect import failure

EXAMPLE = Path(__file__).parents[3] / "examples" / "bookshop"
sys.path.insert(0, str(EXAMPLE))

import bookshop  # noqa: E402


@pytest.fixture
def shop(database):
    made = bookshop.open_shop(database, unique("bookshop"))
    yield made
    database.delete_container(made.id)


def count(shop, author):
    return shop.read_item(author, author)["countOfBooks"]


def test_the_tour_is_that_of_the_readme(shop):
    told = [line.split(":")[0] for line in bookshop.tour(shop)]
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    story = readme.split("notation):")[1].split("A script that fails")[0]
    lines = [line.strip() for line in story.splitlines() if line.strip()]
    assert told == [line.split(":")[0] for line in lines]


def test_a_book_and_its_count_change_together(shop):
    bookshop.add_author(shop, "lem")
    bookshop.add_author(shop, "le-guin")
    published = bookshop.publish(shop, "lem", "solaris", "Solaris")
    assert published == {"id": "solaris", "countOfBooks": 1}
    assert shop.read_item("solaris", "lem")["type"] == "book"
    with failure(400, 409, "Encountered exception while executing Javascript."):
        bookshop.publish(shop, "lem", "solaris", "Solaris again")
    assert (count(shop, "lem"), count(shop, "le-guin")) == (1, 0)
    assert shop.read_item("solaris", "lem")["title"] == "Solaris"
    with failure(400, 404, "there is no author nobody"):
        bookshop.publish(shop, "nobody", "book", "Book")


def test_a_removed_book_takes_its_reviews_along(shop):
    bookshop.add_author(shop, "lem")
    for book in ("solaris", "eden"):
        bookshop.publish(shop, "lem", book, book)
    for n in range(150):
        bookshop.review(shop, "lem", f"r{n}", "eden", n % 5)
    bookshop.review(shop, "lem", "other", "solaris", 5)
    assert bookshop.remove(shop, "lem", "eden") == {"countOfBooks": 1, "reviews": 150}
    assert count(shop, "lem") == 1
    left = list(shop.query_items("SELECT VALUE c.id FROM c ORDER BY c.id", partition_key="lem"))
    assert left == ["lem", "other", "solaris"]
    with failure(400, 404, "there is no book eden"):
        bookshop.remove(shop, "lem", "eden")


def test_a_review_needs_its_book(shop):
    bookshop.add_author(shop, "lem")
    bookshop.publish(shop, "lem", "solaris", "Solaris")
    made = bookshop.review(shop, "lem", "r1", "solaris", 4)
    assert (made["type"], made["title"]) == ("review", "Solaris")
    with failure(400, 404, "there is no book fiasco"):
        bookshop.review(shop, "lem", "r2", "fiasco", 4)
    with failure(404):
        shop.read_item("r2", "lem")
    assert bookshop.ratings(shop) == [{"title": "Solaris", "stars": "★★★★☆"}]
