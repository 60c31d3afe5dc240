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

func TestEveryPageOfAQueryCostsAtLeastOne(t *testing.T) {
	container := newContainer(t)
	fill(t, container, 1, 3)
	pager := container.NewQueryItemsPager("SELECT * FROM c WHERE c.n >= 0", pk("p0"), &azcosmos.QueryOptions{PageSizeHint: 1})
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		if page.RequestCharge < 1 {
			t.Errorf("a page of %d items costs %v", len(page.Items), page.RequestCharge)
		}
	}
}

func TestTheChangeFeedIsChargedByBytes(t *testing.T) {
	container := newContainer(t)
	fill(t, container, 1, 60)
	page, err := container.ReadChangeFeed(t.Context(), &azcosmos.ChangeFeedOptions{FeedRange: whole(), MaxItemCount: 60})
	must(t, err)
	equal(t, "items", len(page.Items), 60)
	if page.RequestCharge < 1 || page.RequestCharge >= 30 {
		t.Errorf("60 small changes cost %v", page.RequestCharge)
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
