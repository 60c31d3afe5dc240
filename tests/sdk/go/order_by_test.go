package sdk

import (
	"fmt"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestOrderByUniqueNumbers(t *testing.T) {
	sorted := sortedBy(catalogueItems, "n")
	answersInOrder(t, "SELECT VALUE c.id FROM c ORDER BY c.n", everywhere, rows(sorted, rowID))
	slices.Reverse(sorted)
	answersInOrder(t, "SELECT VALUE c.id FROM c ORDER BY c.n DESC", everywhere, rows(sorted, rowID))
}

func TestOrderByEveryPrimitiveType(t *testing.T) {
	mixed := func(item doc) any { return item.pick("mixed") }
	for _, key := range []string{"", "k0", "k3", "k4", "k6", "k18"} {
		items, scope := catalogueItems, everywhere
		if key != "" {
			items, scope = ofKey(key), pk(key)
		}
		sorted := sortedBy(items, "mixed")
		answersInOrder(t, "SELECT c.mixed FROM c ORDER BY c.mixed", scope, rows(sorted, mixed))
		slices.Reverse(sorted)
		answersInOrder(t, "SELECT c.mixed FROM c ORDER BY c.mixed DESC", scope, rows(sorted, mixed))
	}
}

// Ties may come in any order, but in the same one whatever the page size.
func TestOrderByKeepsTiesInPlace(t *testing.T) {
	for _, query := range []string{
		"SELECT VALUE c.id FROM c ORDER BY c.kind",
		"SELECT VALUE c.id FROM c ORDER BY c.mixed DESC",
	} {
		whole := queryRows(t, newCatalogue(t), query, everywhere, azcosmos.QueryOptions{PageSizeHint: 1000})
		answersInOrder(t, query, everywhere, whole)
		answers(t, query, everywhere, rows(catalogueItems, rowID))
	}
}

func TestTopAndWindow(t *testing.T) {
	for _, c := range []struct{ skip, take int }{{0, 0}, {0, 1}, {0, 25}, {3, 10}, {95, 20}, {290, 50}, {300, 1}, {5, 0}} {
		for _, key := range []string{"", "k5"} {
			items, scope := catalogueItems, everywhere
			if key != "" {
				items, scope = ofKey(key), pk(key)
			}
			sorted := rows(sortedBy(items, "n"), rowID)
			want := sorted[min(c.skip, len(sorted)):min(c.skip+c.take, len(sorted))]
			answersInOrder(t, fmt.Sprintf("SELECT VALUE c.id FROM c ORDER BY c.n OFFSET %d LIMIT %d", c.skip, c.take), scope, want)
			if c.skip == 0 {
				answersInOrder(t, fmt.Sprintf("SELECT TOP %d VALUE c.id FROM c ORDER BY c.n", c.take), scope, want)
			}
		}
	}
	answersInOrder(t, "SELECT VALUE c.id FROM c ORDER BY c.n OFFSET @skip LIMIT @take", everywhere,
		rows(sortedBy(catalogueItems, "n")[4:10], rowID),
		azcosmos.QueryParameter{Name: "@skip", Value: 4}, azcosmos.QueryParameter{Name: "@take", Value: 6})
}
