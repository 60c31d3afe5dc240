"""What a user does with the application of a region: `python app.py "West US" publish ada science Tides`."""

import argparse
import asyncio
import sys

from content_platform import Deployment, article, open_access
from run import DEPLOYMENT


async def subscribe(access, user, subscription_filter):
    await access.create_subscription(user, subscription_filter)
    yield f"{user} follows {subscription_filter}"


async def subscribers(access, subscription_filter):
    for row in await access.read_subscriptions(subscription_filter):
        yield row["userId"]


async def publish(access, author, category, title):
    name = await access.publish_article(article(author, category, title, id=title.lower()))
    yield f"published {name}"


async def notifications(access, user):
    for row in await access.read_notification_feed(user):
        yield f"{row['articleId']}, because you follow {row['subscriptionFilter']}"


async def read(access, article_id):
    found = await access.read_article(article_id)
    yield f"{found['title']}, by {found['author']}" if found else "not here"


async def review(access, article_id, user, rating, text):
    await access.write_review(article_id, user, text, int(rating))
    yield f"reviewed {article_id}"


async def reviews(access, article_id):
    for row in await access.read_reviews(article_id):
        yield f"{row['rating']} {row['userId']}: {row['reviewText']}"


COMMANDS = {
    "subscribe": (subscribe, ("USER", "FILTER")),
    "subscribers": (subscribers, ("FILTER",)),
    "publish": (publish, ("AUTHOR", "CATEGORY", "TITLE")),
    "notifications": (notifications, ("USER",)),
    "read": (read, ("ARTICLE",)),
    "review": (review, ("ARTICLE", "USER", "RATING", "TEXT")),
    "reviews": (reviews, ("ARTICLE",)),
}


def parse(words):
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--deployment", default=DEPLOYMENT, help="what run.py wrote")
    arguments.add_argument("region")
    commands = arguments.add_subparsers(dest="command", required=True)
    for name, (_, places) in COMMANDS.items():
        command = commands.add_parser(name)
        for place in places:
            command.add_argument(place.lower(), metavar=place)
    return arguments.parse_args(words)


async def answer(deployment, chosen):
    act, places = COMMANDS[chosen.command]
    async with open_access(deployment, chosen.region) as access:
        given = [getattr(chosen, place.lower()) for place in places]
        # What comes out of several accounts has no order of its own.
        return sorted([line async for line in act(access, *given)])


def main():
    chosen = parse(sys.argv[1:])
    for line in asyncio.run(answer(Deployment.load(chosen.deployment), chosen)):
        print(line)


if __name__ == "__main__":
    main()
