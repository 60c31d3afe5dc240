package sdk

import (
	"fmt"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestPatchOperations(t *testing.T) {
	container := newContainer(t)
	cases := map[string]struct {
		patch func(*azcosmos.PatchOperations)
		want  string
	}{
		"add":               {func(p *azcosmos.PatchOperations) { p.AppendAdd("/new", 1) }, `{"a":1,"b":{"c":"d"},"l":[1,2],"new":1}`},
		"add over":          {func(p *azcosmos.PatchOperations) { p.AppendAdd("/a", "x") }, `{"a":"x","b":{"c":"d"},"l":[1,2]}`},
		"add inserts":       {func(p *azcosmos.PatchOperations) { p.AppendAdd("/l/1", 9) }, `{"a":1,"b":{"c":"d"},"l":[1,9,2]}`},
		"add appends":       {func(p *azcosmos.PatchOperations) { p.AppendAdd("/l/-", 9) }, `{"a":1,"b":{"c":"d"},"l":[1,2,9]}`},
		"set":               {func(p *azcosmos.PatchOperations) { p.AppendSet("/b/c", "e") }, `{"a":1,"b":{"c":"e"},"l":[1,2]}`},
		"set new":           {func(p *azcosmos.PatchOperations) { p.AppendSet("/b/n", []int{}) }, `{"a":1,"b":{"c":"d","n":[]},"l":[1,2]}`},
		"set element":       {func(p *azcosmos.PatchOperations) { p.AppendSet("/l/0", 9) }, `{"a":1,"b":{"c":"d"},"l":[9,2]}`},
		"replace":           {func(p *azcosmos.PatchOperations) { p.AppendReplace("/b", "x") }, `{"a":1,"b":"x","l":[1,2]}`},
		"remove":            {func(p *azcosmos.PatchOperations) { p.AppendRemove("/b/c") }, `{"a":1,"b":{},"l":[1,2]}`},
		"remove element":    {func(p *azcosmos.PatchOperations) { p.AppendRemove("/l/0") }, `{"a":1,"b":{"c":"d"},"l":[2]}`},
		"increment":         {func(p *azcosmos.PatchOperations) { p.AppendIncrement("/a", 41) }, `{"a":42,"b":{"c":"d"},"l":[1,2]}`},
		"increment creates": {func(p *azcosmos.PatchOperations) { p.AppendIncrement("/n", -3) }, `{"a":1,"b":{"c":"d"},"l":[1,2],"n":-3}`},
		"in order": {func(p *azcosmos.PatchOperations) {
			p.AppendAdd("/n", 1)
			p.AppendIncrement("/n", 1)
			p.AppendRemove("/a")
			p.AppendRemove("/b")
			p.AppendRemove("/l")
		}, `{"n":2}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			create(t, container, pk(name), doc{"id": "1", "pk": name, "a": 1, "b": doc{"c": "d"}, "l": []int{1, 2}})
			var operations azcosmos.PatchOperations
			c.patch(&operations)
			response, err := container.PatchItem(t.Context(), pk(name), "1", operations, withContent())
			must(t, err)
			equal(t, "status", response.RawResponse.StatusCode, 200)
			equal(t, "response", userProperties(t, decode(t, response.Value)), c.want)
			equal(t, "stored", userProperties(t, read(t, container, pk(name), "1")), c.want)
		})
	}
}

func TestPatchRefusals(t *testing.T) {
	container := newContainer(t)
	create(t, container, pk("a"), doc{"id": "1", "pk": "a", "a": 1, "s": "text", "l": []int{1}})
	for name, patch := range map[string]func(*azcosmos.PatchOperations){
		"replace of nothing":     func(p *azcosmos.PatchOperations) { p.AppendReplace("/absent", 1) },
		"remove of nothing":      func(p *azcosmos.PatchOperations) { p.AppendRemove("/absent") },
		"add below nothing":      func(p *azcosmos.PatchOperations) { p.AppendAdd("/absent/child", 1) },
		"add beyond the end":     func(p *azcosmos.PatchOperations) { p.AppendAdd("/l/5", 1) },
		"increment of a string":  func(p *azcosmos.PatchOperations) { p.AppendIncrement("/s", 1) },
		"id":                     func(p *azcosmos.PatchOperations) { p.AppendSet("/id", "2") },
		"partition key":          func(p *azcosmos.PatchOperations) { p.AppendSet("/pk", "b") },
		"system property":        func(p *azcosmos.PatchOperations) { p.AppendSet("/_ts", 1) },
		"eleven operations":      repeatIncrement(11),
		"second operation fails": func(p *azcosmos.PatchOperations) { p.AppendSet("/a", 2); p.AppendRemove("/absent") },
	} {
		t.Run(name, func(t *testing.T) {
			var operations azcosmos.PatchOperations
			patch(&operations)
			_, err := container.PatchItem(t.Context(), pk("a"), "1", operations, nil)
			wantFailure(t, err, 400)
		})
	}
	equal(t, "unchanged", userProperties(t, read(t, container, pk("a"), "1")), `{"a":1,"l":[1],"s":"text"}`)
}

func TestPatchOfTenOperations(t *testing.T) {
	container := newContainer(t)
	create(t, container, pk("a"), doc{"id": "1", "pk": "a", "a": 0})
	var operations azcosmos.PatchOperations
	repeatIncrement(10)(&operations)
	_, err := container.PatchItem(t.Context(), pk("a"), "1", operations, nil)
	must(t, err)
	equal(t, "a", read(t, container, pk("a"), "1")["a"], any(10.0))
}

func TestPatchCondition(t *testing.T) {
	container := newContainer(t)
	create(t, container, pk("a"), doc{"id": "1", "pk": "a", "a": 1})
	patch := func(condition string) error {
		var operations azcosmos.PatchOperations
		operations.AppendIncrement("/a", 1)
		operations.SetCondition(condition)
		_, err := container.PatchItem(t.Context(), pk("a"), "1", operations, nil)
		return err
	}
	must(t, patch("from c where c.a = 1"))
	wantSubStatus(t, wantFailure(t, patch("from c where c.a = 1"), 412), "1110")
	wantFailure(t, patch("from c where where"), 400)
	equal(t, "a", read(t, container, pk("a"), "1")["a"], any(2.0))
}

func TestPatchOfMissingItem(t *testing.T) {
	var operations azcosmos.PatchOperations
	operations.AppendSet("/a", 1)
	_, err := newContainer(t).PatchItem(t.Context(), pk("a"), "absent", operations, nil)
	wantFailure(t, err, 404)
}

func repeatIncrement(times int) func(*azcosmos.PatchOperations) {
	return func(p *azcosmos.PatchOperations) {
		for range times {
			p.AppendIncrement("/a", 1)
		}
	}
}

// userProperties is the item as text without id, key and system properties.
func userProperties(t *testing.T, item doc) string {
	t.Helper()
	for _, name := range []string{"id", "pk", "_rid", "_self", "_etag", "_ts", "_attachments"} {
		delete(item, name)
	}
	return fmt.Sprintf("%s", encode(t, item))
}
