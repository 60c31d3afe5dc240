package sdk

import (
	"regexp"
	"testing"

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
