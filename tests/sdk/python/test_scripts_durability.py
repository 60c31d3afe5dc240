"""A server killed while procedures run comes back with whole runs only, and with its scripts."""

import itertools
import threading
import time

from azure.cosmos import CosmosClient, PartitionKey

import orrery_server

THREADS = 6
PARTITIONS = 3
# So many are done when the server is killed; more are under way.
RUNS = 100
SECONDS_MAX = 60

ADD = """
function add(pk, id) {
  const link = __.getAltLink() + "/docs/counter";
  __.readDocument(link, (error, counter) => {
    if (error) throw error;
    counter.n += 1;
    __.replaceDocument(counter._self, counter, (error) => {
      if (error) throw error;
      __.createDocument(__.getSelfLink(), { id, pk }, (error) => {
        if (error) throw error;
      });
    });
  });
}
"""


def open_items(server):
    client = CosmosClient(server.endpoint, server.key, retry_total=0)
    return client.get_database_client("db").get_container_client("c")


def add_until_killed(server, numbers, acknowledged):
    items = open_items(server)
    while True:
        number = next(numbers)
        pk = f"k{number % PARTITIONS}"
        try:
            items.scripts.execute_stored_procedure("add", pk, params=[pk, str(number)])
        except Exception:
            return
        acknowledged.append(str(number))


def test_runs_are_whole_after_a_kill(tmp_path):
    server = orrery_server.start(data=tmp_path)
    with CosmosClient(server.endpoint, server.key) as client:
        database = client.create_database("db")
        items = database.create_container("c", PartitionKey("/pk"))
        for n in range(PARTITIONS):
            items.create_item({"id": "counter", "pk": f"k{n}", "n": 0})
        script = items.scripts.create_stored_procedure({"id": "add", "body": ADD})
    numbers, acknowledged = itertools.count(), []
    arguments = (server, numbers, acknowledged)
    threads = [threading.Thread(target=add_until_killed, args=arguments) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + SECONDS_MAX
    while len(acknowledged) < RUNS and time.monotonic() < deadline:
        time.sleep(0.01)
    server.kill()
    for thread in threads:
        thread.join(SECONDS_MAX)
    assert len(acknowledged) >= RUNS

    server = orrery_server.start(data=tmp_path)
    items = open_items(server)
    assert items.scripts.get_stored_procedure("add") == script
    found = set()
    for n in range(PARTITIONS):
        rows = {row["id"] for row in items.query_items("SELECT c.id FROM c", partition_key=f"k{n}")}
        rows.remove("counter")
        assert items.read_item("counter", f"k{n}")["n"] == len(rows)
        found |= rows
    assert set(acknowledged) <= found
    items.scripts.execute_stored_procedure("add", "k0", params=["k0", "after"])
    assert items.read_item("after", "k0")
    server.stop()
