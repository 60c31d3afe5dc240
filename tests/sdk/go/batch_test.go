package sdk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestBatchCommits(t *testing.T) {
	container := newContainer(t)
	for _, id := range []string{"read", "replace", "delete", "patch"} {
		create(t, container, pk("a"), doc{"id": id, "pk": "a", "n": 0})
	}
	var patch azcosmos.PatchOperations
	patch.AppendIncrement("/n", 5)

	batch := container.NewTransactionalBatch(pk("a"))
	batch.CreateItem(encode(t, doc{"id": "create", "pk": "a"}), nil)
	batch.UpsertItem(encode(t, doc{"id": "upsert", "pk": "a"}), nil)
	batch.ReadItem("read", nil)
	batch.ReplaceItem("replace", encode(t, doc{"id": "replace", "pk": "a", "n": 1}), nil)
	batch.PatchItem("patch", patch, nil)
	batch.DeleteItem("delete", nil)
	response, err := container.ExecuteTransactionalBatch(t.Context(), batch, &azcosmos.TransactionalBatchOptions{EnableContentResponseOnWrite: true})
	must(t, err)

	equal(t, "success", response.Success, true)
	equal(t, "status", response.RawResponse.StatusCode, 200)
	equal(t, "statuses", batchStatuses(response), "201 201 200 200 200 204")
	for i, result := range response.OperationResults {
		if result.RequestCharge <= 0 {
			t.Errorf("operation %d has no charge", i)
		}
	}
	equal(t, "patched", decode(t, response.OperationResults[4].ResourceBody)["n"], any(5.0))
	equal(t, "etag", response.OperationResults[0].ETag, azcore.ETag(decode(t, response.OperationResults[0].ResourceBody)["_etag"].(string)))
	if response.SessionToken == "" || response.RequestCharge <= 0 {
		t.Errorf("session %q, charge %v", response.SessionToken, response.RequestCharge)
	}
	equal(t, "items", ids(queryAll(t, container, "SELECT * FROM c", pk("a"), nil)), "create patch read replace upsert")
}

func TestBatchWithoutContent(t *testing.T) {
	container := newContainer(t)
	batch := container.NewTransactionalBatch(pk("a"))
	batch.CreateItem(encode(t, doc{"id": "1", "pk": "a"}), nil)
	response, err := container.ExecuteTransactionalBatch(t.Context(), batch, nil)
	must(t, err)
	equal(t, "body", len(response.OperationResults[0].ResourceBody), 0)
	if response.OperationResults[0].ETag == "" {
		t.Error("no etag")
	}
}

func TestBatchRollsBack(t *testing.T) {
	container := newContainer(t)
	create(t, container, pk("a"), doc{"id": "taken", "pk": "a"})
	stale := &azcosmos.TransactionalBatchItemOptions{IfMatchETag: to.Ptr(azcore.ETag(`"stale"`))}

	for name, c := range map[string]struct {
		fail func(*azcosmos.TransactionalBatch)
		want string
	}{
		"conflict":     {func(b *azcosmos.TransactionalBatch) { b.CreateItem(encode(t, doc{"id": "taken", "pk": "a"}), nil) }, "424 409 424"},
		"not found":    {func(b *azcosmos.TransactionalBatch) { b.DeleteItem("absent", nil) }, "424 404 424"},
		"read absent":  {func(b *azcosmos.TransactionalBatch) { b.ReadItem("absent", nil) }, "424 404 424"},
		"precondition": {func(b *azcosmos.TransactionalBatch) { b.DeleteItem("taken", stale) }, "424 412 424"},
		"patch condition": {func(b *azcosmos.TransactionalBatch) {
			var patch azcosmos.PatchOperations
			patch.AppendSet("/n", 1)
			patch.SetCondition("from c where c.n = 7")
			b.PatchItem("taken", patch, nil)
		}, "424 412 424"},
	} {
		t.Run(name, func(t *testing.T) {
			batch := container.NewTransactionalBatch(pk("a"))
			batch.CreateItem(encode(t, doc{"id": "first", "pk": "a"}), nil)
			c.fail(&batch)
			batch.CreateItem(encode(t, doc{"id": "last", "pk": "a"}), nil)
			response, err := container.ExecuteTransactionalBatch(t.Context(), batch, nil)
			must(t, err)
			equal(t, "success", response.Success, false)
			equal(t, "status", response.RawResponse.StatusCode, 207)
			equal(t, "statuses", batchStatuses(response), c.want)
			var sum float32
			for _, result := range response.OperationResults {
				sum += result.RequestCharge
				// A body would be taken for an item.
				equal(t, "body of what failed", len(result.ResourceBody), 0)
			}
			equal(t, "charge", fmt.Sprintf("%.2f", response.RequestCharge), fmt.Sprintf("%.2f", sum))
			equal(t, "items", ids(queryAll(t, container, "SELECT * FROM c", pk("a"), nil)), "taken")
		})
	}
}

func TestBatchSeesItsOwnWrites(t *testing.T) {
	container := newContainer(t)
	batch := container.NewTransactionalBatch(pk("a"))
	batch.CreateItem(encode(t, doc{"id": "1", "pk": "a", "n": 1}), nil)
	batch.ReplaceItem("1", encode(t, doc{"id": "1", "pk": "a", "n": 2}), nil)
	batch.ReadItem("1", nil)
	response, err := container.ExecuteTransactionalBatch(t.Context(), batch, nil)
	must(t, err)
	equal(t, "statuses", batchStatuses(response), "201 200 200")
	equal(t, "n", decode(t, response.OperationResults[2].ResourceBody)["n"], any(2.0))
}

func TestBatchLimits(t *testing.T) {
	container := newContainer(t)
	of := func(operations, bytes int) error {
		batch := container.NewTransactionalBatch(pk("a"))
		for n := range operations {
			batch.UpsertItem(encode(t, doc{"id": fmt.Sprint(n), "pk": "a", "s": strings.Repeat("x", bytes)}), nil)
		}
		_, err := container.ExecuteTransactionalBatch(t.Context(), batch, nil)
		return err
	}
	must(t, of(100, 10))
	wantFailure(t, of(101, 10), 400, "more operations than what is supported")
	wantFailure(t, of(3, 900<<10), 413, "RequestEntityTooLarge")
}

func TestBatchWithAnotherPartitionKey(t *testing.T) {
	container := newContainer(t)
	batch := container.NewTransactionalBatch(pk("a"))
	batch.CreateItem(encode(t, doc{"id": "1", "pk": "a"}), nil)
	batch.CreateItem(encode(t, doc{"id": "2", "pk": "b"}), nil)
	response, err := container.ExecuteTransactionalBatch(t.Context(), batch, nil)
	// A server may refuse the request or the operation; either way nothing is written.
	if err != nil {
		wantFailure(t, err, 400)
	} else {
		equal(t, "statuses", batchStatuses(response), "424 400")
	}
	equal(t, "items", len(queryAll(t, container, "SELECT * FROM c", everywhere, nil)), 0)
}

func batchStatuses(response azcosmos.TransactionalBatchResponse) string {
	var statuses []string
	for _, result := range response.OperationResults {
		statuses = append(statuses, fmt.Sprint(result.StatusCode))
	}
	return strings.Join(statuses, " ")
}
