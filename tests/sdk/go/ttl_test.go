package sdk

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestItemsExpire(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{DefaultTimeToLive: to.Ptr(int32(-1))}, nil)
	create(t, container, pk("a"), doc{"id": "gone", "pk": "a", "ttl": 1})
	create(t, container, pk("a"), doc{"id": "stays", "pk": "a"})

	wantExpired(t, container, "gone")
	equal(t, "items", ids(queryAll(t, container, "SELECT * FROM c", pk("a"), nil)), "stays")
	create(t, container, pk("a"), doc{"id": "gone", "pk": "a"})
}

func TestContainerDefaultExpires(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{DefaultTimeToLive: to.Ptr(int32(1))}, nil)
	create(t, container, pk("a"), doc{"id": "gone", "pk": "a"})
	create(t, container, pk("a"), doc{"id": "stays", "pk": "a", "ttl": -1})
	wantExpired(t, container, "gone")
	equal(t, "id", read(t, container, pk("a"), "stays")["id"], any("stays"))
}

func TestTTLValues(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{DefaultTimeToLive: to.Ptr(int32(-1))}, nil)
	for _, ttl := range []any{0, -10, "5", nil} {
		_, err := container.CreateItem(t.Context(), pk("a"), encode(t, doc{"id": "1", "pk": "a", "ttl": ttl}), nil)
		wantFailure(t, err, 400)
	}
}

func TestTTLWithoutContainerSettingIsOrdinary(t *testing.T) {
	container := newContainer(t)
	create(t, container, pk("a"), doc{"id": "1", "pk": "a", "ttl": 1})
	time.Sleep(1500 * time.Millisecond)
	equal(t, "ttl", read(t, container, pk("a"), "1")["ttl"], any(1.0))
}

// wantExpired polls because the server's clock counts whole seconds.
func wantExpired(t *testing.T, container *azcosmos.ContainerClient, id string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, err := container.ReadItem(t.Context(), pk("a"), id, nil)
		if err != nil {
			wantFailure(t, err, 404)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not expire", id)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
