"""Permissions, and clients that know nothing but the token of one."""

from azure.cosmos import CosmosClient

from conftest import unique


def allow(user, mode, resource, **more):
    body = {"id": unique("may"), "permissionMode": mode, "resource": resource, **more}
    return user.create_permission(body)


def connect(server, permission, *resources):
    """A client that knows nothing but the permission's token."""
    token = permission.properties["_token"]
    return CosmosClient(server.endpoint, {resource: token for resource in resources})
