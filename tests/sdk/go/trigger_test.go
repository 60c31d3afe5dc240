package sdk

import (
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// This client can name triggers but not register them, so what is tested is that the names arrive.
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
