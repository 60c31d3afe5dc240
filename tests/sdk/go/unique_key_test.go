package sdk

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestUniqueKeys(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{
		UniqueKeyPolicy: &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/a", "/b"}}}},
	}, nil)
	create(t, container, pk("x"), doc{"id": "1", "pk": "x", "a": 1, "b": 1})
	create(t, container, pk("x"), doc{"id": "2", "pk": "x", "a": 1, "b": 2})
	// Unique inside one logical partition only.
	create(t, container, pk("y"), doc{"id": "1", "pk": "y", "a": 1, "b": 1})

	taken := encode(t, doc{"id": "2", "pk": "x", "a": 1, "b": 1})
	_, err := container.CreateItem(t.Context(), pk("x"), encode(t, doc{"id": "3", "pk": "x", "a": 1, "b": 1}), nil)
	wantFailure(t, err, 409)
	_, err = container.ReplaceItem(t.Context(), pk("x"), "2", taken, nil)
	wantFailure(t, err, 409)
	_, err = container.UpsertItem(t.Context(), pk("x"), taken, nil)
	wantFailure(t, err, 409)
	var patch azcosmos.PatchOperations
	patch.AppendSet("/b", 1)
	_, err = container.PatchItem(t.Context(), pk("x"), "2", patch, nil)
	wantFailure(t, err, 409)

	// Missing values take part as null.
	create(t, container, pk("x"), doc{"id": "4", "pk": "x"})
	_, err = container.CreateItem(t.Context(), pk("x"), encode(t, doc{"id": "5", "pk": "x"}), nil)
	wantFailure(t, err, 409)

	// A deleted item gives its value back.
	_, err = container.DeleteItem(t.Context(), pk("x"), "1", nil)
	must(t, err)
	_, err = container.ReplaceItem(t.Context(), pk("x"), "2", taken, nil)
	must(t, err)
}
