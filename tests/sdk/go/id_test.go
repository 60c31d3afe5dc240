package sdk

import (
	"strings"
	"testing"
)

func TestOddIDs(t *testing.T) {
	container := newContainer(t)
	for _, id := range []string{
		"with space", " leading", "a+b", "a%b", "a%20b", `a"b`, "a'b", "a&b=c", "a,b;c:d", "(a)[b]{c}", "~!@$^*_-.",
		"čeština", "日本語", "rocket \U0001F680", "e\u0301", "CASE", "case", "a|b<c>d", strings.Repeat("x", 1023),
	} {
		t.Run(id[:min(len(id), 20)], func(t *testing.T) {
			create(t, container, pk("a"), doc{"id": id, "pk": "a"})
			equal(t, "read", read(t, container, pk("a"), id)["id"], any(id))
			_, err := container.ReplaceItem(t.Context(), pk("a"), id, encode(t, doc{"id": id, "pk": "a", "n": 1}), nil)
			must(t, err)
			_, err = container.DeleteItem(t.Context(), pk("a"), id, nil)
			must(t, err)
		})
	}
}

func TestIDTooLong(t *testing.T) {
	container := newContainer(t)
	id := strings.Repeat("x", 1024)
	_, err := container.CreateItem(t.Context(), pk("a"), encode(t, doc{"id": id, "pk": "a"}), nil)
	wantFailure(t, err, 400)
}

// The gateway of the service takes an id with a slash and refuses one with a backslash.
func TestIDsWithSlashes(t *testing.T) {
	container := newContainer(t)
	create(t, container, pk("a"), doc{"id": "a/b", "pk": "a"})
	equal(t, "found", ids(queryAll(t, container, "SELECT * FROM c WHERE c.id = 'a/b'", pk("a"), nil)), "a/b")
	_, err := container.ReadItem(t.Context(), pk("a"), "a/b", nil)
	wantFailure(t, err, 404)

	_, err = container.CreateItem(t.Context(), pk("a"), encode(t, doc{"id": `a\b`, "pk": "a"}), nil)
	wantFailure(t, err, 400)
}
