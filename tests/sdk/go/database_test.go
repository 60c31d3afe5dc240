package sdk

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestDatabaseLifeCycle(t *testing.T) {
	client := newClient(t, nil)
	id := uniqueID("db")
	created, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: id}, nil)
	must(t, err)
	equal(t, "status", created.RawResponse.StatusCode, 201)
	properties := created.DatabaseProperties
	equal(t, "id", properties.ID, id)
	equal(t, "self link", properties.SelfLink, "dbs/"+properties.ResourceID+"/")
	if properties.ETag == nil || *properties.ETag != created.ETag {
		t.Errorf("etag %v in the body, %q in the header", properties.ETag, created.ETag)
	}
	if properties.LastModified.Unix() <= 0 {
		t.Error("no _ts")
	}

	database, err := client.NewDatabase(id)
	must(t, err)
	read, err := database.Read(t.Context(), nil)
	must(t, err)
	equal(t, "resource id", read.DatabaseProperties.ResourceID, properties.ResourceID)

	deleted, err := database.Delete(t.Context(), nil)
	must(t, err)
	equal(t, "status", deleted.RawResponse.StatusCode, 204)
	_, err = database.Read(t.Context(), nil)
	wantFailure(t, err, 404, "NotFound")
}

func TestDatabaseConflict(t *testing.T) {
	client := newClient(t, nil)
	database := newDatabaseWith(t, client, nil)
	_, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: database.ID()}, nil)
	wantFailure(t, err, 409, "Conflict")
}

func TestDatabaseMissing(t *testing.T) {
	database, err := newClient(t, nil).NewDatabase("absent")
	must(t, err)
	_, err = database.Read(t.Context(), nil)
	wantFailure(t, err, 404)
	_, err = database.Delete(t.Context(), nil)
	wantFailure(t, err, 404)
	container, err := database.NewContainer("c")
	must(t, err)
	_, err = container.Read(t.Context(), nil)
	wantFailure(t, err, 404)
}

func TestDatabaseIsRecreatedWithAnotherResourceID(t *testing.T) {
	client := newClient(t, nil)
	database := newDatabaseWith(t, client, nil)
	first, err := database.Read(t.Context(), nil)
	must(t, err)
	_, err = database.Delete(t.Context(), nil)
	must(t, err)
	second, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: database.ID()}, nil)
	must(t, err)
	if first.DatabaseProperties.ResourceID == second.DatabaseProperties.ResourceID {
		t.Error("resource id used twice")
	}
}

func TestDatabasePreconditions(t *testing.T) {
	database := newDatabase(t)
	read, err := database.Read(t.Context(), nil)
	must(t, err)
	other := azcore.ETag(`"other"`)

	_, err = database.Delete(t.Context(), &azcosmos.DeleteDatabaseOptions{IfMatchEtag: &other})
	wantFailure(t, err, 412)
	_, err = database.Delete(t.Context(), &azcosmos.DeleteDatabaseOptions{IfMatchEtag: &read.ETag})
	must(t, err)
}

func TestQueryDatabases(t *testing.T) {
	client := newClient(t, nil)
	first, second := newDatabaseWith(t, client, nil), newDatabaseWith(t, client, nil)

	all := databaseIDs(t, client, "SELECT * FROM c", nil)
	if !all[first.ID()] || !all[second.ID()] {
		t.Errorf("%s and %s not in %v", first.ID(), second.ID(), all)
	}
	one := databaseIDs(t, client, "SELECT * FROM c WHERE c.id = @id", []azcosmos.QueryParameter{{Name: "@id", Value: second.ID()}})
	if len(one) != 1 || !one[second.ID()] {
		t.Errorf("got %v, want %s alone", one, second.ID())
	}
}

func databaseIDs(t *testing.T, client *azcosmos.Client, query string, parameters []azcosmos.QueryParameter) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	pager := client.NewQueryDatabasesPager(query, &azcosmos.QueryDatabasesOptions{QueryParameters: parameters})
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		for _, database := range page.Databases {
			ids[database.ID] = true
		}
	}
	return ids
}
