package sdk

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestManualThroughput(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{}, to.Ptr(azcosmos.NewManualThroughputProperties(500)))
	read, err := container.ReadThroughput(t.Context(), nil)
	must(t, err)
	wantManual(t, read, 500)
	equal(t, "pending", read.IsReplacePending, false)
	if read.MinThroughput == nil || *read.MinThroughput != 400 {
		t.Errorf("minimum %v, want 400", read.MinThroughput)
	}

	replaced, err := container.ReplaceThroughput(t.Context(), azcosmos.NewManualThroughputProperties(700), nil)
	must(t, err)
	wantManual(t, replaced, 700)
	read, err = container.ReadThroughput(t.Context(), nil)
	must(t, err)
	wantManual(t, read, 700)
}

func TestThroughputDefaultsTo400(t *testing.T) {
	read, err := newContainer(t).ReadThroughput(t.Context(), nil)
	must(t, err)
	wantManual(t, read, 400)
}

func TestThroughputOutOfRange(t *testing.T) {
	container := newContainer(t)
	for _, value := range []int32{100, 450} {
		_, err := container.ReplaceThroughput(t.Context(), azcosmos.NewManualThroughputProperties(value), nil)
		wantFailure(t, err, 400)
	}
}

func TestAutoscaleThroughput(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{}, to.Ptr(azcosmos.NewAutoscaleThroughputProperties(5000)))
	read, err := container.ReadThroughput(t.Context(), nil)
	must(t, err)
	wantAutoscale(t, read, 5000)

	replaced, err := container.ReplaceThroughput(t.Context(), azcosmos.NewAutoscaleThroughputProperties(8000), nil)
	must(t, err)
	wantAutoscale(t, replaced, 8000)
}

func TestAutoscaleIncrementIsEchoed(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{}, to.Ptr(azcosmos.NewAutoscaleThroughputPropertiesWithIncrement(5000, 10)))
	read, err := container.ReadThroughput(t.Context(), nil)
	must(t, err)
	increment, known := read.ThroughputProperties.AutoscaleIncrement()
	if !known || increment != 10 {
		t.Errorf("increment %d, known %v", increment, known)
	}
}

func TestSharedThroughput(t *testing.T) {
	database := newDatabaseWith(t, newClient(t, nil), &azcosmos.CreateDatabaseOptions{
		ThroughputProperties: to.Ptr(azcosmos.NewManualThroughputProperties(600)),
	})
	read, err := database.ReadThroughput(t.Context(), nil)
	must(t, err)
	wantManual(t, read, 600)
	replaced, err := database.ReplaceThroughput(t.Context(), azcosmos.NewManualThroughputProperties(900), nil)
	must(t, err)
	wantManual(t, replaced, 900)

	definition := azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2}
	shared := createContainer(t, database, azcosmos.ContainerProperties{ID: "shared", PartitionKeyDefinition: definition}, nil)
	_, err = shared.ReadThroughput(t.Context(), nil)
	wantFailure(t, err, 404)

	own := createContainer(t, database, azcosmos.ContainerProperties{ID: "own", PartitionKeyDefinition: definition}, to.Ptr(azcosmos.NewManualThroughputProperties(400)))
	read, err = own.ReadThroughput(t.Context(), nil)
	must(t, err)
	wantManual(t, read, 400)
}

func TestSharedAutoscaleThroughput(t *testing.T) {
	database := newDatabaseWith(t, newClient(t, nil), &azcosmos.CreateDatabaseOptions{
		ThroughputProperties: to.Ptr(azcosmos.NewAutoscaleThroughputProperties(4000)),
	})
	read, err := database.ReadThroughput(t.Context(), nil)
	must(t, err)
	wantAutoscale(t, read, 4000)
}

func TestDatabaseWithoutThroughputHasNone(t *testing.T) {
	_, err := newDatabase(t).ReadThroughput(t.Context(), nil)
	wantFailure(t, err, 404)
}

func wantManual(t *testing.T, response azcosmos.ThroughputResponse, want int32) {
	t.Helper()
	got, manual := response.ThroughputProperties.ManualThroughput()
	if !manual || got != want {
		t.Errorf("throughput %d (manual %v), want %d", got, manual, want)
	}
}

func wantAutoscale(t *testing.T, response azcosmos.ThroughputResponse, want int32) {
	t.Helper()
	got, autoscale := response.ThroughputProperties.AutoscaleMaxThroughput()
	if !autoscale || got != want {
		t.Errorf("maximum %d (autoscale %v), want %d", got, autoscale, want)
	}
}
