package sdk

import (
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestReadMany(t *testing.T) {
	container := newContainer(t)
	fill(t, container, 3, 3)
	for name, c := range map[string]struct {
		wanted []azcosmos.ItemIdentity
		want   string
	}{
		"nothing":            {nil, ""},
		"one":                {identities("1-1"), "1-1"},
		"same partition":     {identities("1-0", "1-2"), "1-0 1-2"},
		"several partitions": {identities("0-0", "1-1", "2-2"), "0-0 1-1 2-2"},
		"some absent":        {identities("0-0", "0-9"), "0-0"},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, "items", readMany(t, container, c.wanted), c.want)
		})
	}
}

func TestReadManyByID(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/id"}, Version: 2},
	}, nil)
	var wanted []azcosmos.ItemIdentity
	for n := range 4 {
		id := fmt.Sprint(n)
		create(t, container, pk(id), doc{"id": id})
		wanted = append(wanted, azcosmos.ItemIdentity{ID: id, PartitionKey: pk(id)})
	}
	equal(t, "items", readMany(t, container, wanted), "0 1 2 3")
}

func TestReadManyOverPhysicalPartitions(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{}, to.Ptr(azcosmos.NewManualThroughputProperties(18000)))
	fill(t, container, 12, 1)
	var wanted []azcosmos.ItemIdentity
	for n := range 12 {
		wanted = append(wanted, identities(fmt.Sprintf("%d-0", n))...)
	}
	equal(t, "items", readMany(t, container, wanted), "0-0 1-0 10-0 11-0 2-0 3-0 4-0 5-0 6-0 7-0 8-0 9-0")
}

func readMany(t *testing.T, container *azcosmos.ContainerClient, wanted []azcosmos.ItemIdentity) string {
	t.Helper()
	response, err := container.ReadManyItems(t.Context(), wanted, nil)
	must(t, err)
	var items []doc
	for _, item := range response.Items {
		items = append(items, decode(t, item))
	}
	return ids(items)
}

// identities names items made by fill, whose partition is in their id.
func identities(names ...string) []azcosmos.ItemIdentity {
	var wanted []azcosmos.ItemIdentity
	for _, name := range names {
		var p, n int
		_, _ = fmt.Sscanf(name, "%d-%d", &p, &n)
		wanted = append(wanted, azcosmos.ItemIdentity{ID: name, PartitionKey: pk(fmt.Sprintf("p%d", p))})
	}
	return wanted
}
