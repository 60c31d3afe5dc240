"""What the platform stores. The key of each container is what its items are always asked for by."""

import uuid

KEY_PATHS = {
    "subscriptions": "/subscriptionFilter",
    "notifications": "/userId",
    "articles": "/id",
    "reviews": "/articleId",
}


def subscription(user, subscription_filter):
    """A user wants to hear of an author or a category. Asking twice is asking once."""
    return {"id": user, "subscriptionFilter": subscription_filter, "userId": user}


def article(author, category, title, *, tags=(), id=None):
    return {
        "id": id or uuid.uuid4().hex,
        "author": author,
        "category": category,
        "tags": list(tags),
        "title": title,
    }


def notification(wanted, published):
    """What the user of a subscription is told of an article: the same item however often it is made."""
    cause = f"{published['id']} {wanted['subscriptionFilter']}"
    return {
        "id": uuid.uuid5(uuid.NAMESPACE_OID, cause).hex,
        "userId": wanted["userId"],
        "subscriptionFilter": wanted["subscriptionFilter"],
        "articleId": published["id"],
    }


def review(article_id, user, text, rating):
    return {
        "id": uuid.uuid4().hex,
        "articleId": article_id,
        "userId": user,
        "reviewText": text,
        "rating": rating,
    }
