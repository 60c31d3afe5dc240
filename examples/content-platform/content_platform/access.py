"""The data access of the application.

It writes to one account, that of its region, and reads from that and all others. With a single account
there are no others, and every union is one query: the application does not know which design it runs on.
"""

import asyncio

from azure.cosmos.exceptions import CosmosResourceNotFoundError

from . import entities
from .union import union

ALL = "SELECT * FROM c"


class ContentAccess:
    def __init__(self, write, others=(), *, page_size=100):
        """`write` is the database of the region's own account, `others` are those of the other accounts."""
        self._write = write
        self._databases = [write, *others]
        self._page_size = page_size

    async def create_subscription(self, user, subscription_filter):
        """Tells the user of every article of an author, or in a category, from now on."""
        return await self._put("subscriptions", entities.subscription(user, subscription_filter))

    async def publish_article(self, article):
        """Stores the article, then tells those who want to hear of it.

        In this order, so that nobody here is told of what is not there; in other regions the two may arrive
        in any order. What fails half-way can be done again: the items are the same, and subscribers who
        were not known the first time are told.
        """
        await self._put("articles", article)
        for subscription_filter in (article["author"], article["category"]):
            async for wanted in self._turns("subscriptions", subscription_filter):
                told = [entities.notification(subscription, article) for subscription in wanted]
                await asyncio.gather(*(self._put("notifications", item) for item in told))
        return article["id"]

    async def read_notification_feed(self, user):
        return await self._read_all("notifications", user)

    async def read_article(self, article_id):
        """The article, or None if no account has it here, or not yet."""
        for database in self._databases:
            try:
                return await _container(database, "articles").read_item(article_id, article_id)
            except CosmosResourceNotFoundError as error:
                if error.sub_status:
                    raise
        return None

    async def write_review(self, article_id, user, text, rating):
        return await self._put("reviews", entities.review(article_id, user, text, rating))

    async def read_reviews(self, article_id):
        return await self._read_all("reviews", article_id)

    async def read_subscriptions(self, subscription_filter):
        return await self._read_all("subscriptions", subscription_filter)

    async def _put(self, container, item):
        return await _container(self._write, container).upsert_item(item)

    async def _read_all(self, container, key):
        return [row async for turn in self._turns(container, key) for row in turn]

    def _turns(self, container, key):
        return union(
            _container(database, container)
            .query_items(ALL, partition_key=key, max_item_count=self._page_size)
            .by_page()
            for database in self._databases
        )


def _container(database, name):
    return database.get_container_client(name)
