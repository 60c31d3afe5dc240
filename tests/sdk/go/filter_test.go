package sdk

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// A parameter that is used and not sent is undefined.
func TestUnsentParameter(t *testing.T) {
	for _, key := range []azcosmos.PartitionKey{everywhere, pk("k3")} {
		answers(t, "SELECT VALUE c.id FROM c WHERE c.name = @unsent", key, nil)
	}
	answers(t, "SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(@unsent)", everywhere, rows(catalogueItems, rowID))
}

func TestFilters(t *testing.T) {
	name := func(item doc) string { return item["name"].(string) }
	price := func(item doc) float64 { return item["price"].(float64) }
	tagged := func(item doc, tag string) bool { return slices.Contains(item["tags"].([]any), any(tag)) }
	matches := func(pattern string) func(doc) bool {
		compiled := regexp.MustCompile(pattern)
		return func(item doc) bool { return compiled.MatchString(name(item)) }
	}
	hasPart := func(keep func(doc) bool) func(doc) bool {
		return func(item doc) bool { return slices.ContainsFunc(item.parts(), keep) }
	}
	isType := func(rank int) func(doc) bool {
		return func(item doc) bool { return typeRank(item.get("mixed")) == rank }
	}
	parameters := []azcosmos.QueryParameter{
		{Name: "@name", Value: "Lamp 12"},
		{Name: "@least", Value: 7.5},
		{Name: "@tags", Value: []string{"red", "blue"}},
		{Name: "@part", Value: doc{"name": "part1", "count": 3}},
		{Name: "@null", Value: nil},
		{Name: "@yes", Value: true},
	}
	for filter, want := range map[string]func(doc) bool{
		"c.name LIKE 'Lamp 1%'":                     matches("^Lamp 1"),
		"c.name LIKE '%4'":                          matches("4$"),
		"c.name LIKE '%a%r 3%'":                     matches("a.*r 3"),
		"c.name LIKE '_amp 1_'":                     matches("^.amp 1.$"),
		"c.name LIKE '%[0-2]'":                      matches("[0-2]$"),
		"c.name NOT LIKE 'Lamp%'":                   func(item doc) bool { return !strings.HasPrefix(name(item), "Lamp") },
		"c.name LIKE '%!%%' ESCAPE '!'":             matches("%"),
		"CONTAINS(c.name, 'p 2')":                   matches("p 2"),
		"CONTAINS(c.name, 'LAMP', true)":            matches("Lamp"),
		"STARTSWITH(c.name, 'chair 4')":             matches("^chair 4"),
		"STARTSWITH(c.name, 'CHAIR', true)":         matches("^chair"),
		"ENDSWITH(c.name, '7')":                     matches("7$"),
		"REGEXMATCH(c.name, '^[LM].*5')":            matches("^[LM].*5"),
		"LENGTH(c.name) = 6":                        matches("^.{6}$"),
		"ARRAY_CONTAINS(c.tags, 'blue')":            func(item doc) bool { return tagged(item, "blue") },
		"ARRAY_CONTAINS(c.parts, {count: 3}, true)": hasPart(func(part doc) bool { return part["count"] == 3.0 }),
		"ARRAY_CONTAINS(c.parts, {count: 3})":       func(doc) bool { return false },
		"ARRAY_CONTAINS(c.parts, @part)":            hasPart(func(part doc) bool { return part["count"] == 3.0 && part["name"] == "part1" }),
		"ARRAY_LENGTH(c.parts) > 1":                 func(item doc) bool { return len(item.parts()) > 1 },
		"c.tags = @tags":                            func(item doc) bool { return slices.Equal(item["tags"].([]any), []any{"red", "blue"}) },
		"NOT IS_DEFINED(c.mixed)":                   isType(0),
		"IS_NULL(c.mixed)":                          isType(1),
		"c.mixed = @null":                           isType(1),
		"IS_BOOL(c.mixed)":                          isType(2),
		"IS_NUMBER(c.mixed)":                        isType(3),
		"IS_STRING(c.mixed)":                        isType(4),
		"c.mixed = @yes":                            func(item doc) bool { return item.get("mixed") == true },
		"c.name = @name":                            func(item doc) bool { return name(item) == "Lamp 12" },
		"c.price BETWEEN 5 AND @least":              func(item doc) bool { return price(item) >= 5 && price(item) <= 7.5 },
		"c.rating NOT IN (1, 2)": func(item doc) bool {
			return item["rating"] != nil && item["rating"] != 1.0 && item["rating"] != 2.0
		},
	} {
		t.Run(filter, func(t *testing.T) {
			query := "SELECT VALUE c.id FROM c WHERE " + filter
			answers(t, query, everywhere, rows(where(want), rowID), parameters...)
			answers(t, query, pk("k8"), rows(where(func(item doc) bool { return item["pk"] == "k8" && want(item) }), rowID), parameters...)
		})
	}
}
