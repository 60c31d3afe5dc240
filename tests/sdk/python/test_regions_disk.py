"""The disk of the write region fails, and nothing else."""

from pathlib import Path

from azure.cosmos.exceptions import CosmosHttpResponseError

from regions import ASIA, NORTH, WEST, Account, refresh_often, wait_until

LARGE = "x" * 1_500_000


def take_log_away(data, region):
    """New files of the log cannot be made; the one in use is open and goes on until it is full."""
    [log] = Path(data, "regions", region.lower().replace(" ", "-")).rglob("log")
    log.rename(log.with_name("gone"))


def test_another_region_takes_the_writes_and_has_all_that_was_acknowledged(tmp_path, pk):
    account = Account(WEST, NORTH, ASIA, data=tmp_path).prepare()
    try:
        with account.client(NORTH, ASIA, at=NORTH) as client:
            refresh_often(client)
            container = client.get_database_client("db").get_container_client("c")
            take_log_away(tmp_path, WEST)
            acknowledged = []

            def write(name, **more):
                """Gives the tag if the write was taken; it may come to the region that cannot, or is being replaced."""
                try:
                    return container.upsert_item({"id": name, "pk": pk} | more)["_etag"]
                except CosmosHttpResponseError as error:
                    assert error.status_code in (403, 503), error

            def is_replaced():
                tag = write(str(len(acknowledged)), text=LARGE)
                acknowledged.extend([tag] if tag else [])
                return account.report()["writeRegion"] != WEST

            wait_until(is_replaced)
            assert account.state(WEST)["state"] in ("broken", "down")
            wait_until(lambda: write("after"))
            for number, etag in enumerate(acknowledged):
                assert container.read_item(str(number), pk)["_etag"] == etag
    finally:
        account.stop()
