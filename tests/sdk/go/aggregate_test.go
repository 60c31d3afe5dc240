package sdk

import (
	"fmt"
	"testing"
)

type sums struct{ count, sum, least, most float64 }

func summarize(items []doc, property string) sums {
	var s sums
	for _, item := range items {
		value, found := item[property].(float64)
		if !found {
			continue
		}
		if s.count == 0 {
			s.least, s.most = value, value
		}
		s.count++
		s.sum += value
		s.least, s.most = min(s.least, value), max(s.most, value)
	}
	return s
}

func TestAggregates(t *testing.T) {
	for _, key := range []string{"", "k7"} {
		items, scope := catalogueItems, everywhere
		if key != "" {
			items, scope = ofKey(key), pk(key)
		}
		price, rating := summarize(items, "price"), summarize(items, "rating")
		for aggregate, want := range map[string]any{
			"COUNT(1)":        len(items),
			"COUNT(c.rating)": rating.count,
			"SUM(c.price)":    price.sum,
			"SUM(c.rating)":   rating.sum,
			"AVG(c.price)":    price.sum / price.count,
			"AVG(c.rating)":   rating.sum / rating.count,
			"MIN(c.price)":    price.least,
			"MAX(c.price)":    price.most,
			"SUM(c.absent)":   0,
		} {
			answers(t, fmt.Sprintf("SELECT VALUE %s FROM c", aggregate), scope, []any{want})
			answers(t, fmt.Sprintf("SELECT %s AS x FROM c", aggregate), scope, []any{doc{"x": want}})
		}
		answers(t, "SELECT COUNT(1) AS items, SUM(c.price) AS total, AVG(c.price) AS mean, MIN(c.price) AS least, MAX(c.price) FROM c", scope,
			[]any{doc{"items": len(items), "total": price.sum, "mean": price.sum / price.count, "least": price.least, "$1": price.most}})
	}
}

func TestAggregatesOfMixedTypes(t *testing.T) {
	sorted := sortedBy(catalogueItems, "mixed")
	answers(t, "SELECT VALUE MIN(c.mixed) FROM c", everywhere, []any{nil})
	answers(t, "SELECT VALUE MAX(c.mixed) FROM c", everywhere, []any{sorted[len(sorted)-1]["mixed"]})
	answers(t, "SELECT VALUE COUNT(c.mixed) FROM c", everywhere, []any{len(catalogueItems) * 9 / 10})
	for _, undefined := range []string{"SUM(c.mixed)", "AVG(c.mixed)", "AVG(c.absent)", "MIN(c.absent)", "MAX(c.tags)"} {
		answers(t, fmt.Sprintf("SELECT VALUE %s FROM c", undefined), everywhere, nil)
		answers(t, fmt.Sprintf("SELECT %s AS x FROM c", undefined), everywhere, []any{doc{}})
	}
}
