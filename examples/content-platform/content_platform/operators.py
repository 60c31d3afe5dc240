"""What befalls a region befalls its part of every account."""

import json
import urllib.parse
import urllib.request

ANY = "*"


class Operators:
    def __init__(self, deployment):
        self._accounts = {account.name: account for account in deployment.accounts}

    def cut(self, region):
        """Nothing comes out of the region and nothing comes in; those within it notice nothing."""
        self._shape_links(region, "cut")

    def heal(self, region):
        self._shape_links(region, "resume")

    def down(self, region):
        """The region answers nobody."""
        for account in self._accounts.values():
            _ask(account, "POST", "regions", region, "down")

    def up(self, region):
        for account in self._accounts.values():
            _ask(account, "POST", "regions", region, "up")

    def failover(self, account, region):
        """Another region takes the writes of an account whose write region is lost."""
        order = {"to": region, "forced": True}
        _ask(self._accounts[account], "POST", "account", "failover", body=order)

    def status(self, account):
        return _ask(self._accounts[account], "GET", "account")

    def _shape_links(self, region, order):
        for account in self._accounts.values():
            for link in ((region, ANY), (ANY, region)):
                _ask(account, "POST", "links", *link, body={"order": order})


def _ask(account, verb, *path, body=None):
    request = urllib.request.Request(
        account.management["endpoint"] + "/".join(urllib.parse.quote(name) for name in path),
        method=verb,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {account.management['key']}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read()
    return json.loads(text) if text else None
