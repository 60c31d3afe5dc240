"""Every policy a container carries comes back as it was sent, or is refused."""

import pytest
from azure.cosmos import PartitionKey

from conftest import unique
from expect import failure

ETAG_PATH = {"path": '/"_etag"/?'}


def test_custom_paths(new_container):
    policy = {
        "indexingMode": "consistent",
        "automatic": True,
        "includedPaths": [{"path": "/a/?"}, {"path": "/b/[]/c/?"}],
        "excludedPaths": [{"path": "/*"}],
    }
    read = new_container(indexing_policy=policy).read()["indexingPolicy"]
    assert read["includedPaths"] == policy["includedPaths"]
    assert read["excludedPaths"] == [{"path": "/*"}, ETAG_PATH]


def test_legacy_index_kinds_are_accepted_and_dropped(new_container):
    path = {"path": "/*", "indexes": [{"kind": "Range", "dataType": "String", "precision": -1}]}
    read = new_container(indexing_policy={"includedPaths": [path]}).read()["indexingPolicy"]
    assert read["includedPaths"] == [{"path": "/*"}]
    assert read["indexingMode"] == "consistent"


def test_mode_none_clears_the_paths(new_container):
    read = new_container(indexing_policy={"indexingMode": "none", "automatic": False}).read()
    assert read["indexingPolicy"]["indexingMode"] == "none"
    assert read["indexingPolicy"]["automatic"] is False
    assert not read["indexingPolicy"].get("includedPaths")
    assert not read["indexingPolicy"].get("excludedPaths")


def test_composite_indexes(new_container):
    composites = [
        [{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}],
        [{"path": "/c", "order": "descending"}, {"path": "/d", "order": "ascending"}],
    ]
    read = new_container(indexing_policy={"compositeIndexes": composites}).read()
    assert read["indexingPolicy"]["compositeIndexes"] == composites


def test_spatial_indexes(new_container):
    spatial = [{"path": "/where/*", "types": ["Point", "LineString", "Polygon", "MultiPolygon"]}]
    read = new_container(indexing_policy={"spatialIndexes": spatial}).read()["indexingPolicy"]
    assert read["spatialIndexes"][0]["path"] == "/where/*"
    assert set(read["spatialIndexes"][0]["types"]) == set(spatial[0]["types"])


@pytest.mark.parametrize(
    "policy",
    [
        {"includedPaths": [{"path": "/a/?"}], "excludedPaths": [{"path": "/b/?"}]},
        {"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/*"}]},
        {"indexingMode": "sometimes"},
        {"includedPaths": [{"path": "a"}], "excludedPaths": [{"path": "/*"}]},
        {"spatialIndexes": [{"path": "/where/*", "types": []}]},
        {"compositeIndexes": [[{"path": "/a", "order": "sideways"}, {"path": "/b"}]]},
    ],
)
def test_impossible_indexing_policies_are_refused(database, policy):
    with failure(400):
        database.create_container(unique("c"), PartitionKey("/pk"), indexing_policy=policy)


def test_unique_keys(new_container):
    policy = {"uniqueKeys": [{"paths": ["/a"]}, {"paths": ["/b", "/c/d"]}]}
    assert new_container(unique_key_policy=policy).read()["uniqueKeyPolicy"] == policy


@pytest.mark.parametrize("ttl", [-1, 1, 3600, 2147483647])
def test_default_ttl(new_container, ttl):
    assert new_container(default_ttl=ttl).read()["defaultTtl"] == ttl


@pytest.mark.parametrize("ttl", [0, -2, -10])
def test_impossible_default_ttl_is_refused(database, ttl):
    with failure(400):
        database.create_container(unique("c"), PartitionKey("/pk"), default_ttl=ttl)


def test_last_writer_wins_path(new_container):
    policy = {"mode": "LastWriterWins", "conflictResolutionPath": "/score"}
    read = new_container(conflict_resolution_policy=policy).read()["conflictResolutionPolicy"]
    assert (read["mode"], read["conflictResolutionPath"]) == ("LastWriterWins", "/score")


def test_custom_conflict_resolution(new_container, database):
    procedure = f"dbs/{database.id}/colls/c/sprocs/resolver"
    policy = {"mode": "Custom", "conflictResolutionProcedure": procedure}
    read = new_container(conflict_resolution_policy=policy).read()["conflictResolutionPolicy"]
    assert (read["mode"], read["conflictResolutionProcedure"]) == ("Custom", procedure)


def test_nested_conflict_path_is_refused(database):
    policy = {"mode": "LastWriterWins", "conflictResolutionPath": "/a/b"}
    with failure(400, message="Invalid path '/a/b' for last writer wins conflict resolution"):
        database.create_container(
            unique("c"), PartitionKey("/pk"), conflict_resolution_policy=policy
        )


@pytest.mark.parametrize("kind", ["Geography", "Geometry"])
def test_geospatial_config(database, kind):
    # The SDK has no argument for it, so the definition travels the way its own create sends it.
    name = unique("c")
    definition = {
        "id": name,
        "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
        "geospatialConfig": {"type": kind},
    }
    database.client_connection.CreateContainer(database.database_link, definition)
    try:
        assert database.get_container_client(name).read()["geospatialConfig"] == {"type": kind}
    finally:
        database.delete_container(name)


@pytest.mark.parametrize("kind, status", [("Geography", 400), ("Geometry", 201)])
def test_a_bounding_box_belongs_to_geometry(database, kind, status):
    name = unique("c")
    box = {"xmin": 0, "ymin": 0, "xmax": 10, "ymax": 5}
    index = {"path": "/where/*", "types": ["Polygon"], "boundingBox": box}
    definition = {
        "id": name,
        "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
        "geospatialConfig": {"type": kind},
        "indexingPolicy": {"spatialIndexes": [index]},
    }
    create = database.client_connection.CreateContainer
    if status == 400:
        with failure(400, message="boundingBox"):
            create(database.database_link, definition)
        return
    made = create(database.database_link, definition)
    assert made["indexingPolicy"]["spatialIndexes"][0]["boundingBox"] == box
    database.delete_container(name)


def test_computed_properties(new_container):
    computed = [{"name": "lower", "query": "SELECT VALUE LOWER(c.a) FROM c"}]
    assert new_container(computed_properties=computed).read()["computedProperties"] == computed


@pytest.mark.parametrize("ttl", [-1, 3600])
def test_analytical_ttl(new_container, ttl):
    assert new_container(analytical_storage_ttl=ttl).read()["analyticalStorageTtl"] == ttl


def test_change_feed_policy(new_container):
    policy = {"retentionDuration": 5}
    assert new_container(change_feed_policy=policy).read()["changeFeedPolicy"] == policy


@pytest.mark.parametrize("version", [1, 2])
def test_partition_key_version_is_echoed(new_container, version):
    assert new_container(version=version).read()["partitionKey"]["version"] == version


def test_absent_partition_key_version_stays_absent(database):
    name = unique("c")
    made = database.create_container(name, {"paths": ["/pk"], "kind": "Hash"})
    try:
        assert made.read()["partitionKey"] == {"paths": ["/pk"], "kind": "Hash"}
    finally:
        database.delete_container(name)


@pytest.mark.parametrize("paths", [["/a"], ["/a", "/b"], ["/a", "/b", "/c/d"]])
def test_hierarchical_keys(new_container, paths):
    read = new_container(PartitionKey(paths, kind="MultiHash")).read()["partitionKey"]
    assert read == {"paths": paths, "kind": "MultiHash", "version": 2}
