package sdk

import "testing"

func partRows(items []doc, keep func(item, part doc) bool, row func(item, part doc) any) []any {
	var rows []any
	for _, item := range items {
		for _, part := range item.parts() {
			if keep(item, part) {
				rows = append(rows, row(item, part))
			}
		}
	}
	return rows
}

func every(doc, doc) bool { return true }

func withID(item, part doc) any { return doc{"id": item["id"], "part": part} }

func large(item doc) []any {
	return partRows([]doc{item}, func(_, part doc) bool { return part["count"].(float64) >= 4 },
		func(_, part doc) any { return part["name"] })
}

func TestJoin(t *testing.T) {
	query := "SELECT c.id, p AS part FROM c JOIN p IN c.parts"
	answers(t, query, everywhere, partRows(catalogueItems, every, withID))
	answers(t, query, pk("k2"), partRows(ofKey("k2"), every, withID))
	answers(t, query+" WHERE p.count > 2 AND c.price < 12", everywhere, partRows(catalogueItems, func(item, part doc) bool {
		return part["count"].(float64) > 2 && item["price"].(float64) < 12
	}, withID))
	answers(t, "SELECT VALUE p FROM p IN c.parts", everywhere,
		partRows(catalogueItems, every, func(_, part doc) any { return part }))
}

func TestJoinMakesTheCrossProduct(t *testing.T) {
	var want []any
	for _, item := range catalogueItems {
		for _, tag := range item["tags"].([]any) {
			for _, part := range item.parts() {
				want = append(want, doc{"id": item["id"], "tag": tag, "part": part["name"]})
			}
		}
	}
	answers(t, "SELECT c.id, t AS tag, p.name AS part FROM c JOIN t IN c.tags JOIN p IN c.parts", everywhere, want)
}

func TestExists(t *testing.T) {
	exists := "EXISTS(SELECT VALUE p FROM p IN c.parts WHERE p.count >= 4)"
	with := where(func(item doc) bool { return len(large(item)) > 0 })
	without := where(func(item doc) bool { return len(large(item)) == 0 })
	answers(t, "SELECT VALUE c.id FROM c WHERE "+exists, everywhere, rows(with, rowID))
	answers(t, "SELECT VALUE c.id FROM c WHERE NOT "+exists, everywhere, rows(without, rowID))
}

func TestSubqueries(t *testing.T) {
	answers(t, "SELECT c.id, ARRAY(SELECT VALUE p.name FROM p IN c.parts WHERE p.count >= 4) AS names FROM c", everywhere,
		rows(catalogueItems, func(item doc) any {
			return doc{"id": item["id"], "names": append([]any{}, large(item)...)}
		}))
	answers(t, "SELECT c.id, (SELECT VALUE COUNT(1) FROM p IN c.parts WHERE p.count >= 4) AS large FROM c", everywhere,
		rows(catalogueItems, func(item doc) any { return doc{"id": item["id"], "large": len(large(item))} }))
}
