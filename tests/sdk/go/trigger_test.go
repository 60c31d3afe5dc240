package sdk

import (
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestTriggersThatDoNotExist(t *testing.T) {
	container := newContainer(t)
	item := encode(t, doc{"id": "1", "pk": "a"})
	for _, options := range []*azcosmos.ItemOptions{
		{PreTriggers: []string{"missing"}},
		{PostTriggers: []string{"missing"}},
	} {
		_, err := container.CreateItem(t.Context(), pk("a"), item, options)
		if status(err) != http.StatusBadRequest || !strings.Contains(err.Error(), "'missing' does not exist") {
			t.Fatalf("got %v", err)
		}
	}
	_, err := container.ReadItem(t.Context(), pk("a"), "1", nil)
	if status(err) != http.StatusNotFound {
		t.Fatalf("got %v", err)
	}
}

const mark = `() => {
	const request = getContext().getRequest(), item = request.getBody();
	item.marks = (item.marks || "") + "m";
	request.setBody(item);
}`

const count = `() => __.readDocument(__.getAltLink() + "/docs/count", (error, item) => {
	if (error) throw error;
	item.n += 1;
	item.last = getContext().getRequest().getOperationType();
	__.replaceDocument(item._self, item);
})`

func TestTriggersRunAroundWrites(t *testing.T) {
	database, container := scripted(t)
	register(t, database, "triggers", trigger("mark", "Pre", "All", mark))
	register(t, database, "triggers", trigger("count", "Post", "All", count))
	create(t, container, pk("a"), doc{"id": "count", "pk": "a", "n": 0})
	item := encode(t, doc{"id": "1", "pk": "a"})
	both := withContent()
	both.PreTriggers, both.PostTriggers = []string{"mark", "mark"}, []string{"count"}
	counted := func(n float64, last string) {
		t.Helper()
		item := read(t, container, pk("a"), "count")
		equal(t, "counted", item["n"], any(n))
		equal(t, "last", item["last"], any(last))
	}

	made, err := container.CreateItem(t.Context(), pk("a"), item, both)
	must(t, err)
	equal(t, "marks", decode(t, made.Value)["marks"], any("mm"))
	counted(1, "Create")
	_, err = container.UpsertItem(t.Context(), pk("a"), item, both)
	must(t, err)
	counted(2, "Upsert")
	_, err = container.ReplaceItem(t.Context(), pk("a"), "1", item, both)
	must(t, err)
	counted(3, "Replace")
	_, err = container.DeleteItem(t.Context(), pk("a"), "1", &azcosmos.ItemOptions{PostTriggers: []string{"count"}})
	must(t, err)
	counted(4, "Delete")
}

func TestWhatATriggerThrowsUndoesTheWrite(t *testing.T) {
	database, container := scripted(t)
	const refuse = "() => { throw new Error('not today'); }"
	register(t, database, "triggers", trigger("before", "Pre", "Create", refuse))
	register(t, database, "triggers", trigger("after", "Post", "Create", refuse))
	register(t, database, "triggers", trigger("broken", "Pre", "All", "function ("))
	item := encode(t, doc{"id": "1", "pk": "a"})
	for _, named := range []struct {
		options   azcosmos.ItemOptions
		subStatus string
		text      string
	}{
		{azcosmos.ItemOptions{PreTriggers: []string{"before"}}, "", "not today"},
		{azcosmos.ItemOptions{PostTriggers: []string{"after"}}, "", "not today"},
		{azcosmos.ItemOptions{PreTriggers: []string{"broken"}}, "65535", "compiling Javascript"},
		{azcosmos.ItemOptions{PreTriggers: []string{"after"}}, "", "post-trigger"},
	} {
		_, err := container.CreateItem(t.Context(), pk("a"), item, &named.options)
		response := wantFailure(t, err, http.StatusBadRequest, named.text)
		if named.subStatus != "" {
			wantSubStatus(t, response, named.subStatus)
		}
	}
	_, err := container.ReadItem(t.Context(), pk("a"), "1", nil)
	wantFailure(t, err, http.StatusNotFound)
}

// scripted makes a container `c` and tells its database too.
func scripted(t *testing.T) (*azcosmos.DatabaseClient, *azcosmos.ContainerClient) {
	t.Helper()
	database := newDatabase(t)
	definition := azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}
	properties := azcosmos.ContainerProperties{ID: "c", PartitionKeyDefinition: definition}
	return database, createContainer(t, database, properties, nil)
}
