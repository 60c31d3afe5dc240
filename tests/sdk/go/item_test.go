package sdk

import (
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestItemLifeCycle(t *testing.T) {
	container := newContainer(t)
	created := create(t, container, pk("a"), doc{"id": "1", "pk": "a", "n": 1})
	equal(t, "create", created.RawResponse.StatusCode, 201)

	got, err := container.ReadItem(t.Context(), pk("a"), "1", nil)
	must(t, err)
	equal(t, "read", got.RawResponse.StatusCode, 200)
	equal(t, "n", decode(t, got.Value)["n"], any(1.0))

	replaced, err := container.ReplaceItem(t.Context(), pk("a"), "1", encode(t, doc{"id": "1", "pk": "a", "n": 2}), withContent())
	must(t, err)
	equal(t, "replace", replaced.RawResponse.StatusCode, 200)
	equal(t, "n", decode(t, replaced.Value)["n"], any(2.0))

	upserted, err := container.UpsertItem(t.Context(), pk("a"), encode(t, doc{"id": "1", "pk": "a", "n": 3}), withContent())
	must(t, err)
	equal(t, "upsert of an existing item", upserted.RawResponse.StatusCode, 200)
	upserted, err = container.UpsertItem(t.Context(), pk("a"), encode(t, doc{"id": "2", "pk": "a"}), withContent())
	must(t, err)
	equal(t, "upsert of a new item", upserted.RawResponse.StatusCode, 201)

	deleted, err := container.DeleteItem(t.Context(), pk("a"), "1", nil)
	must(t, err)
	equal(t, "delete", deleted.RawResponse.StatusCode, 204)
	_, err = container.ReadItem(t.Context(), pk("a"), "1", nil)
	wantFailure(t, err, 404)
}

func TestItemSystemProperties(t *testing.T) {
	container := newContainer(t)
	// Values a client sends for system properties are replaced.
	created := create(t, container, pk("a"), doc{"id": "1", "pk": "a", "_rid": "x", "_etag": "x", "_ts": 1, "_self": "x"})
	first := decode(t, created.Value)
	properties, err := container.Read(t.Context(), nil)
	must(t, err)

	self := properties.ContainerProperties.SelfLink + "docs/" + first["_rid"].(string) + "/"
	equal(t, "_self", first["_self"], any(self))
	equal(t, "_etag", first["_etag"], any(string(created.ETag)))
	equal(t, "_attachments", first["_attachments"], any("attachments/"))
	if !strings.HasPrefix(string(created.ETag), `"`) {
		t.Errorf("etag %s has no quotes", created.ETag)
	}
	if first["_ts"].(float64) < 1e9 {
		t.Errorf("_ts %v", first["_ts"])
	}

	replaced, err := container.ReplaceItem(t.Context(), pk("a"), "1", encode(t, doc{"id": "1", "pk": "a"}), withContent())
	must(t, err)
	second := decode(t, replaced.Value)
	equal(t, "_rid after replace", second["_rid"], first["_rid"])
	if second["_etag"] == first["_etag"] {
		t.Error("etag did not change")
	}
}

func TestItemErrors(t *testing.T) {
	container := newContainer(t)
	create(t, container, pk("a"), doc{"id": "1", "pk": "a"})

	_, err := container.CreateItem(t.Context(), pk("a"), encode(t, doc{"id": "1", "pk": "a"}), nil)
	wantFailure(t, err, 409, "Conflict")
	// The same id lives once in each logical partition.
	create(t, container, pk("b"), doc{"id": "1", "pk": "b"})

	_, err = container.ReadItem(t.Context(), pk("a"), "absent", nil)
	wantFailure(t, err, 404)
	_, err = container.ReadItem(t.Context(), pk("other"), "1", nil)
	wantFailure(t, err, 404)
	_, err = container.ReplaceItem(t.Context(), pk("a"), "absent", encode(t, doc{"id": "absent", "pk": "a"}), nil)
	wantFailure(t, err, 404)
	_, err = container.DeleteItem(t.Context(), pk("a"), "absent", nil)
	wantFailure(t, err, 404)
	_, err = container.DeleteItem(t.Context(), pk("other"), "1", nil)
	wantFailure(t, err, 404)

	_, err = container.CreateItem(t.Context(), pk("a"), []byte(`{"pk":"a"}`), nil)
	wantFailure(t, err, 400)
	_, err = container.CreateItem(t.Context(), pk("a"), []byte(`{"id":`), nil)
	wantFailure(t, err, 400)
	_, err = container.CreateItem(t.Context(), pk("a"), []byte(`{"id":7,"pk":"a"}`), nil)
	wantFailure(t, err, 400)
}

func TestItemTooLarge(t *testing.T) {
	container := newContainer(t)
	body := encode(t, doc{"id": "1", "pk": "a", "s": strings.Repeat("x", 2<<20)})
	_, err := container.CreateItem(t.Context(), pk("a"), body, nil)
	wantFailure(t, err, 413)
}

func TestMissingContainer(t *testing.T) {
	database := newDatabase(t)
	container, err := database.NewContainer("absent")
	must(t, err)
	_, err = container.ReadItem(t.Context(), pk("a"), "1", nil)
	wantFailure(t, err, 404)
}

func TestJSONSurvives(t *testing.T) {
	container := newContainer(t)
	create(t, container, pk("a"), doc{
		"id": "1", "pk": "a",
		"text":   "čeština \u0000 \u2028 \U0001F680 \"quoted\" back\\slash",
		"large":  9007199254740991,
		"small":  -1.5e-7,
		"nested": doc{"a": []any{1, "b", nil, true, doc{}}, "": "empty name"},
	})
	got := read(t, container, pk("a"), "1")
	equal(t, "text", got["text"], any("čeština \u0000 \u2028 \U0001F680 \"quoted\" back\\slash"))
	equal(t, "large", got["large"], any(9007199254740991.0))
	equal(t, "small", got["small"], any(-1.5e-7))
	nested := encode(t, got["nested"])
	equal(t, "nested", string(nested), `{"":"empty name","a":[1,"b",null,true,{}]}`)
}

func TestConsistencyLevels(t *testing.T) {
	container := newContainer(t)
	create(t, container, pk("a"), doc{"id": "1", "pk": "a"})
	for _, level := range []azcosmos.ConsistencyLevel{azcosmos.ConsistencyLevelSession, azcosmos.ConsistencyLevelConsistentPrefix, azcosmos.ConsistencyLevelEventual} {
		_, err := container.ReadItem(t.Context(), pk("a"), "1", &azcosmos.ItemOptions{ConsistencyLevel: &level})
		must(t, err)
	}
	// Stronger than the account's level, which is Session.
	_, err := container.ReadItem(t.Context(), pk("a"), "1", &azcosmos.ItemOptions{ConsistencyLevel: to.Ptr(azcosmos.ConsistencyLevelStrong)})
	wantFailure(t, err, 400)
}
