"""Assertions that several topics share."""

import json
from contextlib import contextmanager

import pytest
from azure.cosmos.exceptions import CosmosHttpResponseError

MESSAGE_MISMATCHED_KEY = (
    "Partition key provided either doesn't correspond to definition in the collection or doesn't "
    "match partition key field values specified in the document."
)


@contextmanager
def failure(status, sub_status=None, message=None):
    """The block fails with this status; the error is yielded for closer looks afterwards."""
    with pytest.raises(CosmosHttpResponseError) as caught:
        yield caught
    error = caught.value
    assert error.status_code == status, str(error)
    if sub_status is not None:
        assert (error.sub_status or 0) == sub_status, str(error)
    if message is not None:
        assert message in str(error)


class Hook:
    """Remembers what the SDK hands to a response hook."""

    def __init__(self):
        self.calls = []

    def __call__(self, headers, body=None):
        self.calls.append(({name.lower(): value for name, value in headers.items()}, body))

    def raw(self):
        """Options for calls whose own response hook this SDK version trips over."""

        def keep(response):
            self(response.http_response.headers, json.loads(response.http_response.text()))

        return {"raw_response_hook": keep}

    @property
    def headers(self):
        assert self.calls, "the hook was not called"
        return self.calls[-1][0]


def charge(headers):
    return float(headers["x-ms-request-charge"])


def without_system(item):
    """The properties the user wrote."""
    return {name: value for name, value in item.items() if not name.startswith("_")}


def sending(name, value):
    """Options that send one header as given, past what the SDK would put there."""

    def override(request):
        request.http_request.headers[name] = value

    return {"raw_request_hook": override}
