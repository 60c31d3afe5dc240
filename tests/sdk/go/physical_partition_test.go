package sdk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestFeedRangesOfNewContainers(t *testing.T) {
	database := newDatabase(t)
	third, twoThirds := strings.Repeat("5", 32), strings.Repeat("A", 32)
	third, twoThirds = "1"+third[1:], "2"+twoThirds[1:]
	for name, c := range map[string]struct {
		version    int
		throughput int32
		want       string
	}{
		"one":                  {2, 400, "-FF"},
		"one at the limit":     {2, 10000, "-FF"},
		"two":                  {2, 11000, "-1" + strings.Repeat("F", 31) + " 1" + strings.Repeat("F", 31) + "-FF"},
		"three":                {2, 18000, "-" + third + " " + third + "-" + twoThirds + " " + twoThirds + "-FF"},
		"three with version 1": {1, 18000, "-05C1D5AB55AB54 05C1D5AB55AB54-05C1E5AB55AB54 05C1E5AB55AB54-FF"},
	} {
		t.Run(name, func(t *testing.T) {
			container := createContainer(t, database, azcosmos.ContainerProperties{
				ID:                     uniqueID("c"),
				PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: c.version},
			}, to.Ptr(azcosmos.NewManualThroughputProperties(c.throughput)))
			ranges, err := container.ReadFeedRanges(t.Context(), nil)
			must(t, err)
			var texts []string
			for _, r := range ranges {
				texts = append(texts, r.MinInclusive+"-"+r.MaxExclusive)
			}
			equal(t, "ranges", strings.Join(texts, " "), c.want)
		})
	}
}

func TestThreePhysicalPartitionsAnswerAsOne(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{}, to.Ptr(azcosmos.NewManualThroughputProperties(18000)))
	const keys = 30
	fill(t, container, keys, 1)
	for n := range keys {
		id := fmt.Sprintf("%d-0", n)
		equal(t, "read", read(t, container, pk(fmt.Sprintf("p%d", n)), id)["id"], any(id))
	}
	for _, pageSize := range []int32{0, 1, 7, 100} {
		items := queryAll(t, container, "SELECT * FROM c", everywhere, &azcosmos.QueryOptions{PageSizeHint: pageSize})
		equal(t, fmt.Sprintf("items in pages of %d", pageSize), len(items), keys)
		distinct := map[any]bool{}
		for _, item := range items {
			distinct[item["id"]] = true
		}
		equal(t, "distinct items", len(distinct), keys)
	}
	parameters := []azcosmos.QueryParameter{{Name: "@id", Value: "17-0"}}
	found := queryAll(t, container, "SELECT * FROM c WHERE c.id = @id", everywhere, &azcosmos.QueryOptions{QueryParameters: parameters})
	equal(t, "one item", ids(found), "17-0")
}

// A page goes on in the next physical partition, so that an answer costs as few requests as its rows need.
func TestPagesGoOnInTheNextPhysicalPartition(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{}, to.Ptr(azcosmos.NewManualThroughputProperties(18000)))
	fill(t, container, 30, 1)
	for _, c := range []struct {
		pageSize int32
		want     string
	}{{-1, "30"}, {100, "30"}, {12, "12 12 6"}, {10, "10 10 10"}} {
		pager := container.NewQueryItemsPager("SELECT * FROM c", everywhere, &azcosmos.QueryOptions{PageSizeHint: c.pageSize})
		var sizes []string
		var items []doc
		for pager.More() {
			page, err := pager.NextPage(t.Context())
			must(t, err)
			sizes = append(sizes, fmt.Sprint(len(page.Items)))
			for _, item := range page.Items {
				items = append(items, decode(t, item))
			}
		}
		equal(t, fmt.Sprintf("pages of %d", c.pageSize), strings.Join(sizes, " "), c.want)
		distinct := map[any]bool{}
		for _, item := range items {
			distinct[item["id"]] = true
		}
		equal(t, "distinct items", len(distinct), 30)
	}
}
