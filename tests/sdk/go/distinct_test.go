package sdk

import (
	"slices"
	"testing"
)

// distinct keeps the first of equal defined values.
func distinct(t *testing.T, items []doc, row func(doc) any) []any {
	t.Helper()
	var kept []any
	seen := map[string]bool{}
	for _, item := range items {
		value := row(item)
		if _, missing := value.(struct{}); missing {
			continue
		}
		text := string(encode(t, value))
		if !seen[text] {
			seen[text] = true
			kept = append(kept, value)
		}
	}
	return kept
}

func TestDistinct(t *testing.T) {
	for _, property := range []string{"kind", "rating", "mixed", "price", "tags", "parts"} {
		value := func(item doc) any { return item.get(property) }
		object := func(item doc) any { return item.pick(property) }
		answers(t, "SELECT DISTINCT VALUE c."+property+" FROM c", everywhere, distinct(t, catalogueItems, value))
		answers(t, "SELECT DISTINCT VALUE c."+property+" FROM c", pk("k11"), distinct(t, ofKey("k11"), value))
		answers(t, "SELECT DISTINCT c."+property+" FROM c", everywhere, distinct(t, catalogueItems, object))
	}
	answers(t, "SELECT DISTINCT c.kind, c.rating FROM c", everywhere,
		distinct(t, catalogueItems, func(item doc) any { return item.pick("kind", "rating") }))
}

func TestDistinctInOrder(t *testing.T) {
	prices := distinct(t, sortedBy(catalogueItems, "price"), func(item doc) any { return item["price"] })
	answersInOrder(t, "SELECT DISTINCT VALUE c.price FROM c ORDER BY c.price", everywhere, prices)
	answersInOrder(t, "SELECT DISTINCT TOP 9 VALUE c.price FROM c ORDER BY c.price", everywhere, prices[:9])
	answersInOrder(t, "SELECT DISTINCT VALUE c.price FROM c ORDER BY c.price OFFSET 5 LIMIT 20", everywhere, prices[5:25])
	mixed := distinct(t, sortedBy(catalogueItems, "mixed"), func(item doc) any { return item.pick("mixed") })
	slices.Reverse(mixed)
	answersInOrder(t, "SELECT DISTINCT c.mixed FROM c ORDER BY c.mixed DESC", everywhere, mixed)
}
