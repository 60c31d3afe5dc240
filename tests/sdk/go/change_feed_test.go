package sdk

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// feed reads pages until there is nothing new, and gives the continuation behind them.
func feed(t *testing.T, container *azcosmos.ContainerClient, options azcosmos.ChangeFeedOptions) ([]doc, string) {
	t.Helper()
	var found []doc
	for {
		page, err := container.ReadChangeFeed(t.Context(), &options)
		must(t, err)
		if page.ContinuationToken != "" {
			options.Continuation = to.Ptr(page.ContinuationToken)
		}
		if len(page.Items) == 0 {
			return found, *options.Continuation
		}
		for _, item := range page.Items {
			found = append(found, decode(t, item))
		}
	}
}

func whole() *azcosmos.FeedRange {
	return &azcosmos.FeedRange{MinInclusive: "", MaxExclusive: "FF"}
}

// splitContainer raises the throughput and waits until items made by fill are in so many partitions.
// Clients of one process share what they know of ranges, so it looks at session tokens instead.
func splitContainer(t *testing.T, database *azcosmos.DatabaseClient, throughput int32, partitions int) {
	t.Helper()
	same, err := newClient(t, nil).NewContainer(database.ID(), "c")
	must(t, err)
	_, err = same.ReplaceThroughput(t.Context(), azcosmos.NewManualThroughputProperties(throughput), nil)
	must(t, err)
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		ranges := map[string]bool{}
		for n := range 30 {
			response, err := same.ReadItem(t.Context(), pk(fmt.Sprintf("p%d", n)), fmt.Sprintf("%d-0", n), nil)
			must(t, err)
			id, _, _ := strings.Cut(*response.SessionToken, ":")
			ranges[id] = true
		}
		if len(ranges) >= partitions {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the container did not split")
		}
	}
}

func newIn(t *testing.T, throughput int32) (*azcosmos.DatabaseClient, *azcosmos.ContainerClient) {
	t.Helper()
	database := newDatabase(t)
	return database, createContainer(t, database, azcosmos.ContainerProperties{
		ID:                     "c",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
	}, to.Ptr(azcosmos.NewManualThroughputProperties(throughput)))
}

func TestChangeFeedScopesAndPages(t *testing.T) {
	_, container := newIn(t, 18000)
	fill(t, container, 10, 4)
	everything := ids(queryAll(t, container, "SELECT * FROM c", everywhere, nil))
	for _, size := range []int32{1, 7, 1000} {
		found, _ := feed(t, container, azcosmos.ChangeFeedOptions{FeedRange: whole(), MaxItemCount: size})
		equal(t, fmt.Sprintf("items in pages of %d", size), ids(found), everything)
	}
	ranges, err := container.ReadFeedRanges(t.Context(), nil)
	must(t, err)
	var parts []doc
	for _, r := range ranges {
		found, _ := feed(t, container, azcosmos.ChangeFeedOptions{FeedRange: &r, MaxItemCount: 3})
		parts = append(parts, found...)
	}
	equal(t, "items of all ranges", ids(parts), everything)
	key := pk("p3")
	found, _ := feed(t, container, azcosmos.ChangeFeedOptions{FeedRange: whole(), PartitionKey: &key, MaxItemCount: 3})
	equal(t, "items of a key", fmt.Sprint(numbers(found)), "[0 1 2 3]")
}

func numbers(items []doc) []any {
	var found []any
	for _, item := range items {
		found = append(found, item["n"])
	}
	return found
}

func TestChangeFeedContinuationOutlivesTheClient(t *testing.T) {
	database, container := newIn(t, 12000)
	fill(t, container, 6, 2)
	everything := ids(queryAll(t, container, "SELECT * FROM c", everywhere, nil))
	options := azcosmos.ChangeFeedOptions{FeedRange: whole(), MaxItemCount: 3}
	var seen []doc
	for {
		fresh, err := newClient(t, nil).NewContainer(database.ID(), "c")
		must(t, err)
		page, err := fresh.ReadChangeFeed(t.Context(), &options)
		must(t, err)
		options.Continuation = to.Ptr(page.ContinuationToken)
		if len(page.Items) == 0 {
			break
		}
		for _, item := range page.Items {
			seen = append(seen, decode(t, item))
		}
	}
	equal(t, "items", ids(seen), everything)
	_, err := container.UpsertItem(t.Context(), pk("p1"), encode(t, doc{"id": "1-0", "pk": "p1"}), nil)
	must(t, err)
	_, err = container.DeleteItem(t.Context(), pk("p2"), "2-0", nil)
	must(t, err)
	found, _ := feed(t, container, options)
	equal(t, "changes since", ids(found), "1-0")
}

func TestChangeFeedFromATime(t *testing.T) {
	_, container := newIn(t, 400)
	fill(t, container, 2, 1)
	found, _ := feed(t, container, azcosmos.ChangeFeedOptions{FeedRange: whole()})
	last := time.Unix(int64(found[1]["_ts"].(float64)), 0)
	time.Sleep(time.Until(last.Add(1100 * time.Millisecond)))
	create(t, container, pk("p0"), doc{"id": "late", "pk": "p0"})
	for offset, want := range map[time.Duration]string{0: "late", -time.Hour: "0-0 1-0 late"} {
		found, _ = feed(t, container, azcosmos.ChangeFeedOptions{FeedRange: whole(), StartFrom: to.Ptr(last.Add(offset))})
		equal(t, fmt.Sprintf("from %v", offset), ids(found), want)
	}
}

func TestChangeFeedAcrossASplit(t *testing.T) {
	database, container := newIn(t, 400)
	fill(t, container, 30, 2)
	everything := ids(queryAll(t, container, "SELECT * FROM c", everywhere, nil))
	options := azcosmos.ChangeFeedOptions{FeedRange: whole(), MaxItemCount: 7}
	first, err := container.ReadChangeFeed(t.Context(), &options)
	must(t, err)
	var seen []doc
	for _, item := range first.Items {
		seen = append(seen, decode(t, item))
	}
	key := pk("p3")
	_, ofKey := feed(t, container, azcosmos.ChangeFeedOptions{FeedRange: whole(), PartitionKey: &key})
	splitContainer(t, database, 25000, 3)
	options.Continuation = to.Ptr(first.ContinuationToken)
	rest, _ := feed(t, container, options)
	equal(t, "items", ids(append(seen, rest...)), everything)
	create(t, container, key, doc{"id": "late", "pk": "p3"})
	late, _ := feed(t, container, azcosmos.ChangeFeedOptions{FeedRange: whole(), PartitionKey: &key, Continuation: &ofKey})
	equal(t, "items of the key", ids(late), "late")
	equal(t, "read many", readMany(t, container, identities("0-1", "7-0", "29-1")), "0-1 29-1 7-0")
}

func TestQueryAcrossASplit(t *testing.T) {
	database, container := newIn(t, 400)
	fill(t, container, 30, 1)
	for i, query := range []string{"SELECT * FROM c", "SELECT * FROM c WHERE c.n >= 0"} {
		pager := container.NewQueryItemsPager(query, everywhere, &azcosmos.QueryOptions{PageSizeHint: 7})
		var seen []doc
		for page := 0; pager.More(); page++ {
			response, err := pager.NextPage(t.Context())
			must(t, err)
			for _, item := range response.Items {
				seen = append(seen, decode(t, item))
			}
			if page == 0 {
				splitContainer(t, database, int32(25000*(i+1)), 3*(i+1)-i)
			}
		}
		equal(t, query, len(seen), 30)
		equal(t, query, ids(seen), ids(queryAll(t, container, query, everywhere, nil)))
	}
}

func TestReadersAndWritersAcrossASplit(t *testing.T) {
	database, container := newIn(t, 400)
	fill(t, container, 30, 1)
	var stop atomic.Bool
	var written atomic.Int64
	var workers sync.WaitGroup
	for worker := range 3 {
		workers.Go(func() {
			for n := 0; !stop.Load() || n < 20; n++ {
				key, id := pk(fmt.Sprintf("p%d", n%30)), fmt.Sprintf("w%d-%d", worker, n)
				body := []byte(fmt.Sprintf(`{"id":%q,"pk":"p%d"}`, id, n%30))
				if _, err := container.CreateItem(t.Context(), key, body, nil); err != nil {
					t.Errorf("create %s: %v", id, err)
					return
				}
				if _, err := container.ReadItem(t.Context(), key, id, nil); err != nil {
					t.Errorf("read %s: %v", id, err)
					return
				}
				written.Add(1)
			}
		})
	}
	splitContainer(t, database, 25000, 3)
	stop.Store(true)
	workers.Wait()
	found, _ := feed(t, container, azcosmos.ChangeFeedOptions{FeedRange: whole()})
	equal(t, "items", int64(len(found)), 30+written.Load())
}

func TestContainerRecreated(t *testing.T) {
	database, container := newIn(t, 12000)
	fill(t, container, 5, 1)
	old, _ := feed(t, container, azcosmos.ChangeFeedOptions{FeedRange: whole()})
	equal(t, "old items", len(old), 5)
	other, err := newClient(t, nil).NewContainer(database.ID(), "c")
	must(t, err)
	_, err = other.Delete(t.Context(), nil)
	must(t, err)
	_, err = container.ReadItem(t.Context(), pk("p1"), "1-0", nil)
	wantFailure(t, err, http.StatusNotFound)
	createContainer(t, database, azcosmos.ContainerProperties{
		ID:                     "c",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
	}, nil)
	create(t, container, pk("p1"), doc{"id": "new", "pk": "p1"})
	equal(t, "read many", readMany(t, container, []azcosmos.ItemIdentity{{ID: "new", PartitionKey: pk("p1")}}), "new")
	found := queryAll(t, container, "SELECT * FROM c", everywhere, nil)
	equal(t, "new items", ids(found), "new")
	// The clients of this process remember the old resource id and refuse continuations with the new.
	_, err = container.ReadChangeFeed(t.Context(), &azcosmos.ChangeFeedOptions{FeedRange: whole()})
	must(t, err)
}
