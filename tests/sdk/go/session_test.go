package sdk

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

var tokenShape = regexp.MustCompile(`^\d+:(-1#\d+|\d+#\d+(#\d+=\d+)*)$`)

func TestSessionTokens(t *testing.T) {
	container := newContainer(t)
	created := create(t, container, pk("a"), doc{"id": "1", "pk": "a"})
	if created.SessionToken == nil || !tokenShape.MatchString(*created.SessionToken) {
		t.Fatalf("token %v", created.SessionToken)
	}
	read, err := container.ReadItem(t.Context(), pk("a"), "1", &azcosmos.ItemOptions{SessionToken: created.SessionToken})
	must(t, err)
	if read.SessionToken == nil {
		t.Error("read without token")
	}
	_, err = container.ReadItem(t.Context(), pk("a"), "absent", nil)
	missing := wantFailure(t, err, 404)
	if missing.Header.Get("x-ms-session-token") == "" {
		t.Error("404 without token")
	}
}

func TestATokenThatEndsInACommaPasses(t *testing.T) {
	container := newContainer(t)
	created := create(t, container, pk("a"), doc{"id": "1", "pk": "a"})
	_, err := container.ReadItem(t.Context(), pk("a"), "1", &azcosmos.ItemOptions{SessionToken: to.Ptr(*created.SessionToken + ",")})
	must(t, err)
}

// Every page of a query has a token of the range that served it, and each one lets every key be read.
func TestTokensOfPagesReadEveryKey(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{}, to.Ptr(azcosmos.NewManualThroughputProperties(18000)))
	const keys = 30
	fill(t, container, keys, 1)
	for _, pageSize := range []int32{7, 100} {
		pager := container.NewQueryItemsPager("SELECT * FROM c", everywhere, &azcosmos.QueryOptions{PageSizeHint: pageSize})
		count := 0
		for pager.More() {
			page, err := pager.NextPage(t.Context())
			must(t, err)
			count += len(page.Items)
			token := page.RawResponse.Header.Get("x-ms-session-token")
			if !tokenShape.MatchString(token) {
				t.Fatalf("token %q", token)
			}
			for n := range keys {
				options := &azcosmos.ItemOptions{SessionToken: &token}
				_, err := container.ReadItem(t.Context(), pk(fmt.Sprintf("p%d", n)), fmt.Sprintf("%d-0", n), options)
				must(t, err)
			}
		}
		equal(t, "items", count, keys)
	}
}
