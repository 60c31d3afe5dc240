package sdk

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

const catalogueKeys = 20

var (
	catalogueItems = makeCatalogue()
	catalogueOnce  sync.Once
	catalogueName  = uniqueID("catalogue")
)

// newCatalogue is a container over three physical partitions with items that no
// test changes, so the query tests share it. This client sends every query as it
// is written; the server merges the partitions.
func newCatalogue(t *testing.T) *azcosmos.ContainerClient {
	t.Helper()
	client := newClient(t, nil)
	database, err := client.NewDatabase(catalogueName)
	must(t, err)
	catalogueOnce.Do(func() {
		_, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: catalogueName}, nil)
		must(t, err)
		container := createContainer(t, database, azcosmos.ContainerProperties{
			ID:                     "c",
			PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
		}, to.Ptr(azcosmos.NewManualThroughputProperties(18000)))
		for _, item := range catalogueItems {
			create(t, container, pk(item["pk"].(string)), item)
		}
	})
	container, err := database.NewContainer("c")
	must(t, err)
	return container
}

func makeCatalogue() []doc {
	var items []doc
	for i := range 300 {
		kind := "Lamp "
		if i%2 == 1 {
			kind = "chair "
		}
		item := doc{
			"id": fmt.Sprintf("%03d", i), "pk": fmt.Sprintf("k%d", i%catalogueKeys), "n": float64(i * 7 % 300),
			"kind": fmt.Sprintf("g%d", i%7), "price": float64(i*37%101) / 4, "name": fmt.Sprint(kind, i%50),
		}
		if i%3 != 0 {
			item["rating"] = float64(i % 5)
		}
		if value := mixedValue(i); value != undefined {
			item["mixed"] = value
		}
		tags := []any{}
		for _, tag := range []string{"red", "green", "blue"} {
			if i%len(tag) == 0 {
				tags = append(tags, tag)
			}
		}
		item["tags"] = tags
		parts := []any{}
		for p := range i % 4 {
			parts = append(parts, doc{"name": fmt.Sprintf("part%d", p), "count": float64((i + p) % 6)})
		}
		item["parts"] = parts
		items = append(items, item)
	}
	return items
}

// undefined stands for a missing property.
var undefined any = struct{}{}

// mixedValue is missing or of any primitive type, each with and without equals.
func mixedValue(i int) any {
	switch i % 10 {
	case 0:
		return undefined
	case 1:
		return nil
	case 2:
		return false
	case 3:
		return true
	case 4:
		return float64(i)
	case 5:
		return -float64(i) - 0.5
	case 6:
		return float64(i % 3)
	case 7:
		return ""
	case 8:
		return fmt.Sprintf("s%d", i)
	default:
		return fmt.Sprintf("S%d", i%20)
	}
}

// get is a property, or undefined.
func (d doc) get(name string) any {
	if value, found := d[name]; found {
		return value
	}
	return undefined
}

// pick is a document with only these of its properties.
func (d doc) pick(names ...string) doc {
	picked := doc{}
	for _, name := range names {
		if value, found := d[name]; found {
			picked[name] = value
		}
	}
	return picked
}

func (d doc) parts() []doc {
	var parts []doc
	for _, part := range d["parts"].([]any) {
		parts = append(parts, part.(doc))
	}
	return parts
}

// total compares as ORDER BY does: undefined, null, booleans, numbers, strings.
func total(a, b any) int {
	if byType := cmp.Compare(typeRank(a), typeRank(b)); byType != 0 {
		return byType
	}
	switch a := a.(type) {
	case bool:
		return cmp.Compare(boolRank(a), boolRank(b.(bool)))
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return strings.Compare(a, b.(string))
	}
	return 0
}

func typeRank(value any) int {
	switch value.(type) {
	case nil:
		return 1
	case bool:
		return 2
	case float64:
		return 3
	case string:
		return 4
	}
	return 0
}

func boolRank(value bool) int {
	if value {
		return 1
	}
	return 0
}

func where(filter func(doc) bool) []doc {
	var kept []doc
	for _, item := range catalogueItems {
		if filter(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

func ofKey(key string) []doc {
	return where(func(item doc) bool { return item["pk"] == key })
}

func sortedBy(items []doc, property string) []doc {
	return slices.SortedStableFunc(slices.Values(items), func(a, b doc) int {
		return total(a.get(property), b.get(property))
	})
}

// rows makes one wanted row of each item.
func rows(items []doc, row func(doc) any) []any {
	rows := []any{}
	for _, item := range items {
		rows = append(rows, row(item))
	}
	return rows
}

func rowID(item doc) any { return item["id"] }

// texts are equal for equal values, whatever the order of properties.
func texts(t *testing.T, rows []any) []string {
	t.Helper()
	var texts []string
	for _, row := range rows {
		texts = append(texts, string(encode(t, row)))
	}
	return texts
}

func queryRows(t *testing.T, container *azcosmos.ContainerClient, query string, key azcosmos.PartitionKey, options azcosmos.QueryOptions) []any {
	t.Helper()
	var rows []any
	pager := container.NewQueryItemsPager(query, key, &options)
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		if options.PageSizeHint > 0 && len(page.Items) > int(options.PageSizeHint) {
			t.Errorf("%d rows in a page of %d", len(page.Items), options.PageSizeHint)
		}
		for _, item := range page.Items {
			rows = append(rows, decodeRow(t, item))
		}
	}
	return rows
}

func decodeRow(t *testing.T, text []byte) any {
	t.Helper()
	var row any
	must(t, json.Unmarshal(text, &row))
	return row
}

// answersInOrder checks rows in their order, for every page size.
func answersInOrder(t *testing.T, query string, key azcosmos.PartitionKey, want []any, parameters ...azcosmos.QueryParameter) {
	t.Helper()
	check(t, query, key, want, parameters, func(texts []string) []string { return texts })
}

// answers checks rows whose order the query does not fix.
func answers(t *testing.T, query string, key azcosmos.PartitionKey, want []any, parameters ...azcosmos.QueryParameter) {
	t.Helper()
	check(t, query, key, want, parameters, func(texts []string) []string {
		return slices.Sorted(slices.Values(texts))
	})
}

func check(t *testing.T, query string, key azcosmos.PartitionKey, want []any, parameters []azcosmos.QueryParameter, arrange func([]string) []string) {
	t.Helper()
	container := newCatalogue(t)
	for _, size := range []int32{1, 7, 100} {
		got := queryRows(t, container, query, key, azcosmos.QueryOptions{PageSizeHint: size, QueryParameters: parameters})
		g, w := arrange(texts(t, got)), arrange(texts(t, want))
		if !slices.Equal(g, w) {
			t.Errorf("%s in pages of %d:\n got %d %v\nwant %d %v", query, size, len(g), g, len(w), w)
			return
		}
	}
}
