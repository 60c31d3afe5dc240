package sdk

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

const otherKey = "bm90IHRoZSBrZXkgb2YgdGhpcyBzZXJ2ZXIhIQ=="

// The client reads the account before its first request, so any answer proves
// that the account document was accepted.
func TestAccountIsReadBeforeTheFirstRequest(t *testing.T) {
	client := newClient(t, nil)
	pager := client.NewQueryDatabasesPager("SELECT * FROM c", nil)
	page, err := pager.NextPage(t.Context())
	must(t, err)
	if page.ActivityID == "" {
		t.Error("no activity id")
	}
}

func TestPreferredRegionThatDoesNotExist(t *testing.T) {
	client := newClient(t, &azcosmos.ClientOptions{PreferredRegions: []string{"Atlantis"}})
	newDatabaseWith(t, client, nil)
}

func TestConnectionString(t *testing.T) {
	text := "AccountEndpoint=" + server.Endpoint + ";AccountKey=" + server.Key + ";"
	client, err := azcosmos.NewClientFromConnectionString(text, nil)
	must(t, err)
	t.Cleanup(client.Close)
	newDatabaseWith(t, client, nil)
}

func TestWrongKeyIsUnauthorized(t *testing.T) {
	credential, err := azcosmos.NewKeyCredential(otherKey)
	must(t, err)
	client, err := azcosmos.NewClientWithKey(server.Endpoint, credential, nil)
	must(t, err)
	t.Cleanup(client.Close)
	_, err = client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: uniqueID("db")}, nil)
	wantFailure(t, err, 401)
}
