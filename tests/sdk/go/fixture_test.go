package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// doc is an item body.
type doc map[string]any

var counter atomic.Int64

func uniqueID(prefix string) string {
	return fmt.Sprintf("%s%d", prefix, counter.Add(1))
}

func newClient(t *testing.T, options *azcosmos.ClientOptions) *azcosmos.Client {
	t.Helper()
	credential, err := azcosmos.NewKeyCredential(server.Key)
	must(t, err)
	client, err := azcosmos.NewClientWithKey(server.Endpoint, credential, options)
	must(t, err)
	t.Cleanup(client.Close)
	return client
}

func newDatabase(t *testing.T) *azcosmos.DatabaseClient {
	t.Helper()
	return newDatabaseWith(t, newClient(t, nil), nil)
}

func newDatabaseWith(t *testing.T, client *azcosmos.Client, options *azcosmos.CreateDatabaseOptions) *azcosmos.DatabaseClient {
	t.Helper()
	id := uniqueID("db")
	_, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: id}, options)
	must(t, err)
	database, err := client.NewDatabase(id)
	must(t, err)
	t.Cleanup(func() {
		// The test's own context has ended by now.
		_, err := database.Delete(context.Background(), nil)
		if status(err) != http.StatusNotFound {
			must(t, err)
		}
	})
	return database
}

// newContainer makes a container `c` keyed by /pk, version 2.
func newContainer(t *testing.T) *azcosmos.ContainerClient {
	t.Helper()
	return newContainerWith(t, azcosmos.ContainerProperties{}, nil)
}

// newContainerWith fills in id `c` and key /pk where properties leaves them out.
func newContainerWith(t *testing.T, properties azcosmos.ContainerProperties, throughput *azcosmos.ThroughputProperties) *azcosmos.ContainerClient {
	t.Helper()
	if properties.ID == "" {
		properties.ID = "c"
	}
	if properties.PartitionKeyDefinition.Paths == nil {
		properties.PartitionKeyDefinition = azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}
	}
	return createContainer(t, newDatabase(t), properties, throughput)
}

func createContainer(t *testing.T, database *azcosmos.DatabaseClient, properties azcosmos.ContainerProperties, throughput *azcosmos.ThroughputProperties) *azcosmos.ContainerClient {
	t.Helper()
	_, err := database.CreateContainer(t.Context(), properties, &azcosmos.CreateContainerOptions{ThroughputProperties: throughput})
	must(t, err)
	container, err := database.NewContainer(properties.ID)
	must(t, err)
	return container
}

// withContent asks for the written item in the response.
func withContent() *azcosmos.ItemOptions {
	return &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}
}

func pk(value string) azcosmos.PartitionKey {
	return azcosmos.NewPartitionKeyString(value)
}

func create(t *testing.T, container *azcosmos.ContainerClient, key azcosmos.PartitionKey, item doc) azcosmos.ItemResponse {
	t.Helper()
	response, err := container.CreateItem(t.Context(), key, encode(t, item), withContent())
	must(t, err)
	return response
}

func read(t *testing.T, container *azcosmos.ContainerClient, key azcosmos.PartitionKey, id string) doc {
	t.Helper()
	response, err := container.ReadItem(t.Context(), key, id, nil)
	must(t, err)
	return decode(t, response.Value)
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	must(t, err)
	return text
}

func decode(t *testing.T, text []byte) doc {
	t.Helper()
	var item doc
	if err := json.Unmarshal(text, &item); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return item
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// status is the HTTP status of a failed call, or 0.
func status(err error) int {
	var failure *azcore.ResponseError
	if errors.As(err, &failure) {
		return failure.StatusCode
	}
	return 0
}

// wantFailure checks the status and returns the response for closer looks.
func wantFailure(t *testing.T, err error, want int, fragments ...string) *http.Response {
	t.Helper()
	if err == nil {
		t.Fatalf("succeeded, want status %d", want)
	}
	var failure *azcore.ResponseError
	if !errors.As(err, &failure) {
		t.Fatalf("want status %d, got an error without response: %v", want, err)
	}
	if failure.StatusCode != want {
		t.Fatalf("want status %d, got %v", want, err)
	}
	for _, fragment := range fragments {
		if !strings.Contains(err.Error(), fragment) {
			t.Errorf("want %q in %v", fragment, err)
		}
	}
	return failure.RawResponse
}

func wantSubStatus(t *testing.T, response *http.Response, want string) {
	t.Helper()
	equal(t, "x-ms-substatus", response.Header.Get("x-ms-substatus"), want)
}
