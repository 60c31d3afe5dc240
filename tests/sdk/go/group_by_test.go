package sdk

import (
	"fmt"
	"testing"
)

// groups collects items by the text of their key, in the order of their first items.
func groups(items []doc, key func(doc) any) [][]doc {
	var groups [][]doc
	places := map[string]int{}
	for _, item := range items {
		text := fmt.Sprintf("%T %[1]v", key(item))
		place, found := places[text]
		if !found {
			place = len(groups)
			places[text] = place
			groups = append(groups, nil)
		}
		groups[place] = append(groups[place], item)
	}
	return groups
}

func groupRows(items []doc, key func(doc) any, row func([]doc) any) []any {
	var rows []any
	for _, group := range groups(items, key) {
		rows = append(rows, row(group))
	}
	return rows
}

func kind(item doc) any { return item["kind"] }

func TestGroupBy(t *testing.T) {
	summary := func(group []doc) any {
		price := summarize(group, "price")
		return doc{"kind": group[0]["kind"], "items": len(group), "total": price.sum, "mean": price.sum / price.count, "least": price.least, "most": price.most}
	}
	query := "SELECT c.kind, COUNT(1) AS items, SUM(c.price) AS total, AVG(c.price) AS mean, MIN(c.price) AS least, MAX(c.price) AS most FROM c GROUP BY c.kind"
	answers(t, query, everywhere, groupRows(catalogueItems, kind, summary))
	answers(t, query, pk("k9"), groupRows(ofKey("k9"), kind, summary))
}

func TestGroupByKeysOfEveryType(t *testing.T) {
	for _, property := range []string{"mixed", "rating", "tags"} {
		answers(t, fmt.Sprintf("SELECT c.%s, COUNT(1) AS items FROM c GROUP BY c.%[1]s", property), everywhere,
			groupRows(catalogueItems, func(item doc) any { return item.get(property) }, func(group []doc) any {
				row := group[0].pick(property)
				row["items"] = len(group)
				return row
			}))
	}
}

func TestGroupBySeveralKeys(t *testing.T) {
	both := func(item doc) any { return []any{item["kind"], item.get("rating")} }
	answers(t, "SELECT c.kind, c.rating, COUNT(1) AS items FROM c GROUP BY c.kind, c.rating", everywhere,
		groupRows(catalogueItems, both, func(group []doc) any {
			row := group[0].pick("kind", "rating")
			row["items"] = len(group)
			return row
		}))
}

func TestGroupByValues(t *testing.T) {
	answers(t, "SELECT VALUE c.kind FROM c GROUP BY c.kind", everywhere,
		groupRows(catalogueItems, kind, func(group []doc) any { return group[0]["kind"] }))
	answers(t, "SELECT VALUE COUNT(1) FROM c GROUP BY c.kind", everywhere,
		groupRows(catalogueItems, kind, func(group []doc) any { return len(group) }))
}
