package sdk

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestIfMatch(t *testing.T) {
	container := newContainer(t)
	ifMatch := func(etag azcore.ETag) *azcosmos.ItemOptions {
		return &azcosmos.ItemOptions{IfMatchEtag: to.Ptr(etag), EnableContentResponseOnWrite: true}
	}
	var patch azcosmos.PatchOperations
	patch.AppendSet("/n", 2)
	body := encode(t, doc{"id": "1", "pk": "a", "n": 1})

	for name, write := range map[string]func(*azcosmos.ItemOptions) (azcosmos.ItemResponse, error){
		"replace": func(o *azcosmos.ItemOptions) (azcosmos.ItemResponse, error) {
			return container.ReplaceItem(t.Context(), pk("a"), "1", body, o)
		},
		"upsert": func(o *azcosmos.ItemOptions) (azcosmos.ItemResponse, error) {
			return container.UpsertItem(t.Context(), pk("a"), body, o)
		},
		"patch": func(o *azcosmos.ItemOptions) (azcosmos.ItemResponse, error) {
			return container.PatchItem(t.Context(), pk("a"), "1", patch, o)
		},
		"delete": func(o *azcosmos.ItemOptions) (azcosmos.ItemResponse, error) {
			return container.DeleteItem(t.Context(), pk("a"), "1", o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			stale := create(t, container, pk("a"), doc{"id": "1", "pk": "a", "n": 0}).ETag
			current, err := container.ReplaceItem(t.Context(), pk("a"), "1", body, withContent())
			must(t, err)

			_, err = write(ifMatch(stale))
			wantFailure(t, err, 412, "PreconditionFailed")
			_, err = write(ifMatch(current.ETag))
			must(t, err)
			if name != "delete" {
				_, err = container.DeleteItem(t.Context(), pk("a"), "1", nil)
				must(t, err)
			}
		})
	}
}

func TestIfMatchAny(t *testing.T) {
	container := newContainer(t)
	mustExist := &azcosmos.ItemOptions{IfMatchEtag: to.Ptr(azcore.ETagAny)}
	body := encode(t, doc{"id": "1", "pk": "a"})
	create(t, container, pk("a"), doc{"id": "1", "pk": "a"})
	_, err := container.ReplaceItem(t.Context(), pk("a"), "1", body, mustExist)
	must(t, err)
}
