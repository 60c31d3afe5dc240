package sdk

import (
	"strconv"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestPointReadOfOneKilobyteCostsOneUnit(t *testing.T) {
	container := newContainer(t)
	create(t, container, pk("a"), doc{"id": "1", "pk": "a", "s": strings.Repeat("x", 700)})
	response, err := container.ReadItem(t.Context(), pk("a"), "1", nil)
	must(t, err)
	equal(t, "charge", response.RequestCharge, 1)
}

func TestEveryAnswerHasACharge(t *testing.T) {
	client := newClient(t, nil)
	database := newDatabaseWith(t, client, nil)
	container := createContainer(t, database, azcosmos.ContainerProperties{
		ID:                     "c",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
	}, nil)

	readDatabase, err := database.Read(t.Context(), nil)
	must(t, err)
	readContainer, err := container.Read(t.Context(), nil)
	must(t, err)
	throughput, err := container.ReadThroughput(t.Context(), nil)
	must(t, err)
	created := create(t, container, pk("a"), doc{"id": "1", "pk": "a"})
	deleted, err := container.DeleteItem(t.Context(), pk("a"), "1", nil)
	must(t, err)
	for name, charge := range map[string]float32{
		"database read":  readDatabase.RequestCharge,
		"container read": readContainer.RequestCharge,
		"throughput":     throughput.RequestCharge,
		"create":         created.RequestCharge,
		"delete":         deleted.RequestCharge,
	} {
		if charge <= 0 {
			t.Errorf("%s costs %v", name, charge)
		}
	}

	_, err = container.ReadItem(t.Context(), pk("a"), "1", nil)
	failed := wantFailure(t, err, 404)
	charge, err := strconv.ParseFloat(failed.Header.Get("x-ms-request-charge"), 32)
	if err != nil || charge <= 0 {
		t.Errorf("failed read costs %v: %v", charge, err)
	}
	if failed.Header.Get("x-ms-activity-id") == "" {
		t.Error("failed read has no activity id")
	}
}

func TestLargerItemsCostMore(t *testing.T) {
	container := newContainer(t)
	small := create(t, container, pk("a"), doc{"id": "1", "pk": "a"})
	large := create(t, container, pk("a"), doc{"id": "2", "pk": "a", "s": strings.Repeat("x", 100<<10)})
	if large.RequestCharge <= small.RequestCharge {
		t.Errorf("100 KB for %v, a few bytes for %v", large.RequestCharge, small.RequestCharge)
	}
}
