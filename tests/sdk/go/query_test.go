package sdk

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var everywhere = azcosmos.NewPartitionKey()

func TestQueryOnePartition(t *testing.T) {
	container := newContainer(t)
	fill(t, container, 3, 4)
	equal(t, "items", ids(queryAll(t, container, "SELECT * FROM c", pk("p1"), nil)), "1-0 1-1 1-2 1-3")
}

func TestQueryAcrossPartitions(t *testing.T) {
	container := newContainer(t)
	fill(t, container, 3, 2)
	equal(t, "items", ids(queryAll(t, container, "SELECT * FROM c", everywhere, nil)), "0-0 0-1 1-0 1-1 2-0 2-1")
	equal(t, "key in the filter", ids(queryAll(t, container, "SELECT * FROM c WHERE c.pk = 'p2'", everywhere, nil)), "2-0 2-1")
}

func TestQueryFilters(t *testing.T) {
	container := newContainer(t)
	fill(t, container, 1, 5)
	for filter, want := range map[string]string{
		"c.n = @two":                  "0-2",
		"c.n > @two":                  "0-3 0-4",
		"c.n >= @two AND c.n < 4":     "0-2 0-3",
		"c.n != @two AND c.even":      "0-0 0-4",
		"c.even = false OR c.n = 0":   "0-0 0-1 0-3",
		"NOT c.even":                  "0-1 0-3",
		`c["id"] = '0-1'`:             "0-1",
		"c.id IN ('0-0', '0-3', 'x')": "0-0 0-3",
		"c.nested.s = @s":             "0-1",
		"c.absent = null":             "",
	} {
		t.Run(filter, func(t *testing.T) {
			parameters := []azcosmos.QueryParameter{{Name: "@two", Value: 2}, {Name: "@s", Value: "s1"}}
			items := queryAll(t, container, "SELECT * FROM c WHERE "+filter, pk("p0"), &azcosmos.QueryOptions{QueryParameters: parameters})
			equal(t, "items", ids(items), want)
		})
	}
}

func TestQueryPages(t *testing.T) {
	container := newContainer(t)
	fill(t, container, 1, 7)
	var sizes, all []string
	pager := container.NewQueryItemsPager("SELECT * FROM c", pk("p0"), &azcosmos.QueryOptions{PageSizeHint: 3})
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		if page.RequestCharge <= 0 {
			t.Error("page without charge")
		}
		if len(page.Items) > 0 {
			sizes = append(sizes, fmt.Sprint(len(page.Items)))
		}
		for _, item := range page.Items {
			all = append(all, decode(t, item)["id"].(string))
		}
	}
	equal(t, "page sizes", strings.Join(sizes, " "), "3 3 1")
	slices.Sort(all)
	equal(t, "items", strings.Join(slices.Compact(all), " "), "0-0 0-1 0-2 0-3 0-4 0-5 0-6")
}

func TestQueryResumesFromContinuation(t *testing.T) {
	container := newContainer(t)
	fill(t, container, 1, 5)
	options := azcosmos.QueryOptions{PageSizeHint: 2}
	first, err := container.NewQueryItemsPager("SELECT * FROM c", pk("p0"), &options).NextPage(t.Context())
	must(t, err)
	if first.ContinuationToken == nil {
		t.Fatal("no continuation")
	}
	options.ContinuationToken = first.ContinuationToken
	rest := queryAll(t, container, "SELECT * FROM c", pk("p0"), &options)
	equal(t, "first page", len(first.Items), 2)
	equal(t, "rest", len(rest), 3)
}

func TestQueryErrors(t *testing.T) {
	container := newContainer(t)
	_, err := container.NewQueryItemsPager("SELEKT * FROM c", pk("a"), nil).NextPage(t.Context())
	wantFailure(t, err, 400)
	bad := "not a token"
	_, err = container.NewQueryItemsPager("SELECT * FROM c", pk("a"), &azcosmos.QueryOptions{ContinuationToken: &bad}).NextPage(t.Context())
	wantFailure(t, err, 400)
}

func TestQueryEmptyContainer(t *testing.T) {
	container := newContainer(t)
	equal(t, "items", len(queryAll(t, container, "SELECT * FROM c", everywhere, nil)), 0)
}

// fill makes items `{p}-{n}` in logical partitions p0, p1, ...
func fill(t *testing.T, container *azcosmos.ContainerClient, partitions, items int) {
	t.Helper()
	for p := range partitions {
		key := fmt.Sprintf("p%d", p)
		for n := range items {
			create(t, container, pk(key), doc{
				"id": fmt.Sprintf("%d-%d", p, n), "pk": key, "n": n, "even": n%2 == 0,
				"nested": doc{"s": fmt.Sprintf("s%d", n)},
			})
		}
	}
}

func queryAll(t *testing.T, container *azcosmos.ContainerClient, query string, key azcosmos.PartitionKey, options *azcosmos.QueryOptions) []doc {
	t.Helper()
	var items []doc
	pager := container.NewQueryItemsPager(query, key, options)
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		for _, item := range page.Items {
			items = append(items, decode(t, item))
		}
	}
	return items
}

func ids(items []doc) string {
	var ids []string
	for _, item := range items {
		ids = append(ids, item["id"].(string))
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}
