"""Vector and full-text policies: accepted when coherent, refused with the service's words."""

import copy

import pytest
from azure.cosmos import PartitionKey

from conftest import unique
from expect import failure

EMBEDDINGS = {
    "vectorEmbeddings": [
        {
            "path": "/vector1",
            "dataType": "float32",
            "dimensions": 256,
            "distanceFunction": "euclidean",
        },
        {
            "path": "/vector2",
            "dataType": "int8",
            "dimensions": 200,
            "distanceFunction": "dotproduct",
        },
    ]
}
INDEXES = {
    "vectorIndexes": [
        {"path": "/vector1", "type": "flat"},
        {"path": "/vector2", "type": "quantizedFlat"},
    ]
}
FULL_TEXT = {
    "defaultLanguage": "en-US",
    "fullTextPaths": [{"path": "/abstract", "language": "en-US"}],
}


def test_vector_policy_round_trip(new_container):
    read = new_container(indexing_policy=INDEXES, vector_embedding_policy=EMBEDDINGS).read()
    assert read["vectorEmbeddingPolicy"] == EMBEDDINGS
    found = read["indexingPolicy"]["vectorIndexes"]
    assert [(row["path"], row["type"]) for row in found] == [
        ("/vector1", "flat"),
        ("/vector2", "quantizedFlat"),
    ]


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("dimensions", -1, "The Vector Embedding Policy has Dimensions:-1"),
        (
            "distanceFunction",
            "handMeasured",
            "The Vector Embedding Policy has an invalid DistanceFunction:handMeasured",
        ),
        ("dataType", "float64000", "Vector Embedding Policy has an invalid DataType"),
    ],
)
def test_bad_embedding_is_named(database, field, value, message):
    embeddings = copy.deepcopy(EMBEDDINGS)
    embeddings["vectorEmbeddings"][0][field] = value
    with failure(400, message=message):
        database.create_container(
            unique("c"), PartitionKey("/pk"), vector_embedding_policy=embeddings
        )


@pytest.mark.parametrize(
    "indexes, message",
    [
        ([{"path": "/vector1", "type": "notFlat"}], "notFlat is invalid"),
        ([{"path": "/other", "type": "flat"}], "not matching in Embedding's path"),
        (
            [{"path": "/vector2", "type": "flat"}, {"path": "/vector2", "type": "flat"}],
            "Duplicate Path :/vector2 found in Vector Indexing Policy.",
        ),
    ],
)
def test_bad_vector_index_is_named(database, indexes, message):
    with failure(400, message=message):
        database.create_container(
            unique("c"),
            PartitionKey("/pk"),
            indexing_policy={"vectorIndexes": indexes},
            vector_embedding_policy=EMBEDDINGS,
        )


def test_a_vector_index_cannot_change_its_kind(database, new_container):
    made = new_container(indexing_policy=INDEXES, vector_embedding_policy=EMBEDDINGS)
    changed = copy.deepcopy(INDEXES)
    changed["vectorIndexes"][0]["type"] = "quantizedFlat"
    text = "Paths in existing vector indexing policy cannot be modified in Collection Replace"
    with failure(400, message=text):
        database.replace_container(
            made.id,
            PartitionKey("/pk"),
            indexing_policy=changed,
            vector_embedding_policy=EMBEDDINGS,
        )


def test_vector_policy_cannot_change(database, new_container):
    made = new_container(indexing_policy=INDEXES, vector_embedding_policy=EMBEDDINGS)
    changed = copy.deepcopy(EMBEDDINGS)
    changed["vectorEmbeddings"][0]["dimensions"] = 128
    with failure(400):
        database.replace_container(
            made.id,
            PartitionKey("/pk"),
            indexing_policy=INDEXES,
            vector_embedding_policy=changed,
        )


def test_full_text_policy_round_trip(new_container):
    indexing = {"fullTextIndexes": [{"path": "/abstract"}]}
    read = new_container(indexing_policy=indexing, full_text_policy=FULL_TEXT).read()
    assert read["fullTextPolicy"] == FULL_TEXT
    assert read["indexingPolicy"]["fullTextIndexes"] == [{"path": "/abstract"}]


def test_unsupported_language_is_named(database):
    policy = {"defaultLanguage": "xx-YY", "fullTextPaths": [{"path": "/abstract"}]}
    message = (
        "The Full Text Policy contains an unsupported language xx-YY. Supported languages are:"
    )
    with failure(400, message=message):
        database.create_container(unique("c"), PartitionKey("/pk"), full_text_policy=policy)
