"""Published limits of an item: size and depth."""

from expect import failure

TOO_LARGE = 'Message: {"Errors":["Request size is too large"]}'


def test_item_of_almost_two_megabytes(new_container):
    made = new_container(offer_throughput=10000)
    text = "x" * (2 * 1024 * 1024 - 2048)
    made.create_item({"id": "big", "pk": "a", "text": text})
    assert made.read_item("big", "a")["text"] == text


def test_item_over_two_megabytes_is_refused(container, pk):
    with failure(413, message="(RequestEntityTooLarge)") as caught:
        container.create_item({"id": "big", "pk": pk, "text": "x" * (2 * 1024 * 1024)})
    assert TOO_LARGE in str(caught.value)


def test_batch_over_two_megabytes_is_refused(container, pk):
    items = [{"id": name, "pk": pk, "text": "x" * 1_100_000} for name in "ab"]
    with failure(413, message=TOO_LARGE):
        container.execute_item_batch([("create", (item,)) for item in items], pk)


def nested(depth):
    value = 1
    for _ in range(depth):
        value = {"d": value}
    return value


def test_depth_of_a_hundred_is_fine(container, pk):
    item = container.create_item({"id": "deep", "pk": pk, "d": nested(100)})
    assert container.read_item("deep", pk)["d"] == item["d"] == nested(100)


def test_depth_beyond_128_is_refused(container, pk):
    with failure(400):
        container.create_item({"id": "deep", "pk": pk, "d": nested(200)})
