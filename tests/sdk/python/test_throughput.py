"""Offers: manual, autoscale, shared by a database."""

import pytest
from azure.cosmos import PartitionKey, ThroughputProperties

from conftest import unique
from expect import Hook, failure


def offered(database):
    """What has an offer. This SDK version crashes when asked for an offer that is not there."""
    return {offer["resource"] for offer in database.client_connection.ReadOffers()}


def test_default_is_400(new_container):
    assert new_container().get_throughput().offer_throughput == 400


def test_manual_throughput_and_its_offer(new_container):
    made = new_container(offer_throughput=1200)
    offer = made.get_throughput()
    assert offer.offer_throughput == 1200
    body = offer.properties
    assert body["resource"] == made.read()["_self"]
    assert body["offerResourceId"] == made.read()["_rid"]
    assert body["offerVersion"] == "V2"
    assert body["id"] == body["_rid"]
    assert body["_self"] == f"offers/{body['_rid']}/"
    assert "offerAutopilotSettings" not in body["content"]


def test_query_pages_of_offers_end_without_an_empty_one(client, new_container):
    made = [new_container(offer_throughput=400) for _ in range(3)]
    query = "SELECT * FROM r"
    pages = client.client_connection.QueryOffers(query, {"maxItemCount": 1}).by_page()
    pages = [[row["offerResourceId"] for row in page] for page in pages]
    assert [len(page) for page in pages] == [1] * len(list(client.client_connection.ReadOffers()))
    assert {one.read()["_rid"] for one in made} <= {owner for page in pages for owner in page}


def test_replace_manual_throughput(new_container):
    made = new_container(offer_throughput=400)
    hook = Hook()
    assert made.replace_throughput(1000, response_hook=hook).offer_throughput == 1000
    assert hook.headers["x-ms-offer-replace-pending"].lower() == "false"
    assert int(hook.headers["x-ms-cosmos-min-throughput"]) == 400
    assert made.get_throughput().offer_throughput == 1000


def test_minimum_follows_the_highest_ever(new_container):
    made = new_container(offer_throughput=100_000)
    hook = Hook()
    made.replace_throughput(1000, response_hook=hook)
    assert int(hook.headers["x-ms-cosmos-min-throughput"]) == 1000
    with failure(400, message="The offer should have valid throughput values between 1000 and"):
        made.replace_throughput(900)


@pytest.mark.parametrize("throughput", [100, 399, 450])
def test_impossible_manual_values(database, throughput):
    with failure(400):
        database.create_container(unique("c"), PartitionKey("/pk"), offer_throughput=throughput)


def test_autoscale(new_container):
    made = new_container(offer_throughput=ThroughputProperties(auto_scale_max_throughput=5000))
    offer = made.get_throughput()
    assert offer.auto_scale_max_throughput == 5000
    assert offer.properties["content"]["offerThroughput"] == 500


def test_autoscale_policy_is_echoed(new_container):
    asked = ThroughputProperties(auto_scale_max_throughput=7000, auto_scale_increment_percent=0)
    offer = new_container(offer_throughput=asked).get_throughput()
    assert offer.auto_scale_max_throughput == 7000
    assert offer.auto_scale_increment_percent == 0


def test_replace_autoscale(new_container):
    made = new_container(offer_throughput=ThroughputProperties(auto_scale_max_throughput=4000))
    made.replace_throughput(ThroughputProperties(auto_scale_max_throughput=8000))
    assert made.get_throughput().auto_scale_max_throughput == 8000


@pytest.mark.parametrize("maximum", [-200, 500, 1500])
def test_impossible_autoscale_values(database, maximum):
    with failure(400):
        database.create_container(
            unique("c"),
            PartitionKey("/pk"),
            offer_throughput=ThroughputProperties(auto_scale_max_throughput=maximum),
        )


def test_autoscale_minimum_is_named(database):
    asked = ThroughputProperties(auto_scale_max_throughput=-200)
    message = "Requested throughput -200 is less than required minimum throughput 1000"
    with failure(400, message=message):
        database.create_container(unique("c"), PartitionKey("/pk"), offer_throughput=asked)


def test_both_kinds_at_once_are_refused(database):
    asked = ThroughputProperties(400, auto_scale_max_throughput=4000)
    with failure(400):
        database.create_container(unique("c"), PartitionKey("/pk"), offer_throughput=asked)


def test_shared_database(new_database):
    shared = new_database(offer_throughput=1000)
    assert shared.get_throughput().offer_throughput == 1000
    inside = shared.create_container("inside", PartitionKey("/pk"))
    assert inside.read()["_self"] not in offered(shared)
    dedicated = shared.create_container("dedicated", PartitionKey("/pk"), offer_throughput=600)
    assert dedicated.get_throughput().offer_throughput == 600
    assert shared.replace_throughput(2000).offer_throughput == 2000
    assert shared.get_throughput().offer_throughput == 2000
    inside.create_item({"id": "1", "pk": "a"})
    assert inside.read_item("1", "a")["id"] == "1"


def test_shared_autoscale_database(new_database):
    shared = new_database(offer_throughput=ThroughputProperties(auto_scale_max_throughput=2000))
    assert shared.get_throughput().auto_scale_max_throughput == 2000


def test_database_without_throughput_has_no_offer(new_database):
    without, shared = new_database(), new_database(offer_throughput=1000)
    found = offered(without)
    assert shared.read()["_self"] in found
    assert without.read()["_self"] not in found


def test_shared_database_holds_25_containers(new_database):
    shared = new_database(offer_throughput=1000)
    for n in range(25):
        shared.create_container(f"c{n}", PartitionKey("/pk"))
    with pytest.raises(Exception) as caught:
        shared.create_container("one-too-many", PartitionKey("/pk"))
    assert caught.value.status_code in (400, 403)
    shared.create_container("dedicated", PartitionKey("/pk"), offer_throughput=400)


def test_offer_disappears_with_its_container(database, new_container):
    made = new_container(offer_throughput=500)
    link = made.read()["_self"]
    assert link in offered(database)
    database.delete_container(made.id)
    assert link not in offered(database)
