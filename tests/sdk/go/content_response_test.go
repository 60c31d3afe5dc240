package sdk

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// Without options the client sends `Prefer: return=minimal`: no body, but every header.
func TestWritesAnswerWithoutContent(t *testing.T) {
	container := newContainer(t)
	body := encode(t, doc{"id": "1", "pk": "a", "n": 1})
	var patch azcosmos.PatchOperations
	patch.AppendIncrement("/n", 1)

	created, err := container.CreateItem(t.Context(), pk("a"), body, nil)
	wantMinimal(t, "create", created, err, 201)
	upserted, err := container.UpsertItem(t.Context(), pk("a"), body, nil)
	wantMinimal(t, "upsert", upserted, err, 200)
	replaced, err := container.ReplaceItem(t.Context(), pk("a"), "1", body, nil)
	wantMinimal(t, "replace", replaced, err, 200)
	patched, err := container.PatchItem(t.Context(), pk("a"), "1", patch, nil)
	wantMinimal(t, "patch", patched, err, 200)
}

func TestClientAsksForContent(t *testing.T) {
	client := newClient(t, &azcosmos.ClientOptions{EnableContentResponseOnWrite: true})
	database := newDatabaseWith(t, client, nil)
	container := createContainer(t, database, azcosmos.ContainerProperties{
		ID:                     "c",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
	}, nil)
	created, err := container.CreateItem(t.Context(), pk("a"), encode(t, doc{"id": "1", "pk": "a"}), nil)
	must(t, err)
	equal(t, "id", decode(t, created.Value)["id"], any("1"))
}

func wantMinimal(t *testing.T, operation string, response azcosmos.ItemResponse, err error, status int) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	equal(t, operation, response.RawResponse.StatusCode, status)
	equal(t, operation+" body", string(response.Value), "")
	if response.ETag == "" || response.SessionToken == nil || response.RequestCharge <= 0 {
		t.Errorf("%s: etag %q, session %v, charge %v", operation, response.ETag, response.SessionToken, response.RequestCharge)
	}
}
