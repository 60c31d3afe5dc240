"""The bookshop with the Python SDK: `python bookshop.py` against the server of the environment."""

import os
from pathlib import Path

from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError

SCRIPTS = Path(__file__).parent / "scripts"


def source(name):
    return {"id": name, "body": (SCRIPTS / f"{name}.js").read_text(encoding="utf-8")}


def open_shop(database, name="bookshop"):
    """An empty shop with its scripts. An author and all that is hers share one logical partition."""
    shop = database.create_container(name, PartitionKey("/author"))
    shop.scripts.create_stored_procedure(source("publishBook"))
    shop.scripts.create_stored_procedure(source("removeBook"))
    trigger = {"triggerType": "Pre", "triggerOperation": "Create"}
    shop.scripts.create_trigger({**source("reviewNeedsBook"), **trigger})
    shop.scripts.create_user_defined_function(source("stars"))
    return shop


def add_author(shop, author):
    item = {"id": author, "author": author, "type": "author", "countOfBooks": 0}
    return shop.create_item(item)


def publish(shop, author, book, title):
    item = {"id": book, "author": author, "title": title}
    return shop.scripts.execute_stored_procedure("publishBook", author, params=[item])


def remove(shop, author, book):
    return shop.scripts.execute_stored_procedure("removeBook", author, params=[book])


def review(shop, author, name, book, rating):
    item = {"id": name, "author": author, "book": book, "rating": rating}
    return shop.create_item(item, pre_trigger_include="reviewNeedsBook")


def ratings(shop):
    """Titles and stars over all authors."""
    query = "SELECT c.title, udf.stars(c.rating) AS stars FROM c WHERE c.type = 'review'"
    return list(shop.query_items(query, enable_cross_partition_query=True))


def tour(shop):
    """What the README tells, line by line."""
    add_author(shop, "lem")
    yield f"published: {publish(shop, 'lem', 'solaris', 'Solaris')}"
    yield f"published: {publish(shop, 'lem', 'eden', 'Eden')}"
    try:
        publish(shop, "lem", "eden", "Eden again")
    except CosmosHttpResponseError as error:
        yield f"not published twice: {error.status_code}/{error.sub_status}"
    count = shop.read_item("lem", "lem")["countOfBooks"]
    yield f"counted: {count}"
    review(shop, "lem", "r1", "solaris", 5)
    review(shop, "lem", "r2", "eden", 3)
    try:
        review(shop, "lem", "r3", "fiasco", 4)
    except CosmosHttpResponseError as error:
        yield f"not reviewed: {error.status_code}/{error.sub_status}"
    for row in sorted(ratings(shop), key=lambda row: row["title"]):
        yield f"rated: {row['title']} {row['stars']}"
    yield f"removed: {remove(shop, 'lem', 'eden')}"


def main():
    with CosmosClient(os.environ["ORRERY_ENDPOINT"], os.environ["ORRERY_KEY"]) as client:
        database = client.create_database_if_not_exists("examples")
        shop = open_shop(database)
        try:
            for line in tour(shop):
                print(line)
        finally:
            database.delete_container(shop.id)


if __name__ == "__main__":
    main()
