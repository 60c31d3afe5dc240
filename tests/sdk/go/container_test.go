package sdk

import (
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestContainerLifeCycle(t *testing.T) {
	database := newDatabase(t)
	created, err := database.CreateContainer(t.Context(), azcosmos.ContainerProperties{
		ID:                     "c",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
	}, nil)
	must(t, err)
	equal(t, "status", created.RawResponse.StatusCode, 201)
	container, err := database.NewContainer("c")
	must(t, err)

	read, err := container.Read(t.Context(), nil)
	must(t, err)
	properties := read.ContainerProperties
	equal(t, "resource id", properties.ResourceID, created.ContainerProperties.ResourceID)
	if !strings.HasSuffix(properties.SelfLink, "/colls/"+properties.ResourceID+"/") {
		t.Errorf("self link %q of %q", properties.SelfLink, properties.ResourceID)
	}
	equal(t, "conflict resolution", properties.ConflictResolutionPolicy.Mode, azcosmos.ConflictResolutionModeLastWriteWins)
	equal(t, "conflict path", properties.ConflictResolutionPolicy.ResolutionPath, "/_ts")

	_, err = database.CreateContainer(t.Context(), *properties, nil)
	wantFailure(t, err, 409)

	deleted, err := container.Delete(t.Context(), nil)
	must(t, err)
	equal(t, "status", deleted.RawResponse.StatusCode, 204)
	_, err = container.Read(t.Context(), nil)
	wantFailure(t, err, 404)
	_, err = container.CreateItem(t.Context(), pk("a"), encode(t, doc{"id": "1", "pk": "a"}), nil)
	wantFailure(t, err, 404)
}

func TestContainerGetsTheDefaultIndexingPolicy(t *testing.T) {
	read, err := newContainer(t).Read(t.Context(), nil)
	must(t, err)
	policy := read.ContainerProperties.IndexingPolicy
	equal(t, "mode", strings.ToLower(string(policy.IndexingMode)), "consistent")
	equal(t, "automatic", policy.Automatic, true)
	if !slices.Equal(policy.IncludedPaths, []azcosmos.IncludedPath{{Path: "/*"}}) {
		t.Errorf("included %v", policy.IncludedPaths)
	}
	if !slices.Equal(policy.ExcludedPaths, []azcosmos.ExcludedPath{{Path: `/"_etag"/?`}}) {
		t.Errorf("excluded %v", policy.ExcludedPaths)
	}
}

func TestPartitionKeyVersion(t *testing.T) {
	database := newDatabase(t)
	// Absent means version 1 and stays absent.
	for id, version := range map[string]int{"absent": 0, "one": 1, "two": 2} {
		container := createContainer(t, database, azcosmos.ContainerProperties{
			ID:                     id,
			PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: version},
		}, nil)
		read, err := container.Read(t.Context(), nil)
		must(t, err)
		equal(t, id, read.ContainerProperties.PartitionKeyDefinition.Version, version)
		create(t, container, pk("a"), doc{"id": "1", "pk": "a"})
		equal(t, "id", read1(t, container), "1")
	}
}

func read1(t *testing.T, container *azcosmos.ContainerClient) any {
	t.Helper()
	return read(t, container, pk("a"), "1")["id"]
}

func TestContainerPoliciesRoundTrip(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{
		DefaultTimeToLive: to.Ptr(int32(3600)),
		IndexingPolicy: &azcosmos.IndexingPolicy{
			Automatic:     true,
			IndexingMode:  azcosmos.IndexingModeConsistent,
			IncludedPaths: []azcosmos.IncludedPath{{Path: "/*"}},
			ExcludedPaths: []azcosmos.ExcludedPath{{Path: "/big/*"}},
			CompositeIndexes: [][]azcosmos.CompositeIndex{{
				{Path: "/a", Order: azcosmos.CompositeIndexAscending},
				{Path: "/b", Order: azcosmos.CompositeIndexDescending},
			}},
			SpatialIndexes: []azcosmos.SpatialIndex{{
				Path:         "/place/*",
				SpatialTypes: []azcosmos.SpatialType{azcosmos.SpatialTypePoint, azcosmos.SpatialTypePolygon},
			}},
		},
		UniqueKeyPolicy: &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/a", "/b"}}}},
		ConflictResolutionPolicy: &azcosmos.ConflictResolutionPolicy{
			Mode:           azcosmos.ConflictResolutionModeLastWriteWins,
			ResolutionPath: "/rank",
		},
	}, nil)

	read, err := container.Read(t.Context(), nil)
	must(t, err)
	got := read.ContainerProperties
	equal(t, "ttl", *got.DefaultTimeToLive, 3600)
	equal(t, "conflict path", got.ConflictResolutionPolicy.ResolutionPath, "/rank")
	equal(t, "unique key", strings.Join(got.UniqueKeyPolicy.UniqueKeys[0].Paths, " "), "/a /b")
	if !slices.Contains(got.IndexingPolicy.ExcludedPaths, azcosmos.ExcludedPath{Path: "/big/*"}) ||
		!slices.Contains(got.IndexingPolicy.ExcludedPaths, azcosmos.ExcludedPath{Path: `/"_etag"/?`}) {
		t.Errorf("excluded %v", got.IndexingPolicy.ExcludedPaths)
	}
	composite := got.IndexingPolicy.CompositeIndexes
	if len(composite) != 1 || !slices.Equal(composite[0], []azcosmos.CompositeIndex{{Path: "/a", Order: "ascending"}, {Path: "/b", Order: "descending"}}) {
		t.Errorf("composite %v", composite)
	}
	spatial := got.IndexingPolicy.SpatialIndexes
	if len(spatial) != 1 || spatial[0].Path != "/place/*" || !slices.Contains(spatial[0].SpatialTypes, azcosmos.SpatialTypePoint) {
		t.Errorf("spatial %v", spatial)
	}
}

func TestContainerReplace(t *testing.T) {
	container := newContainer(t)
	before, err := container.Read(t.Context(), nil)
	must(t, err)

	changed := *before.ContainerProperties
	changed.DefaultTimeToLive = to.Ptr(int32(-1))
	changed.IndexingPolicy = &azcosmos.IndexingPolicy{
		Automatic:     true,
		IndexingMode:  azcosmos.IndexingModeConsistent,
		IncludedPaths: []azcosmos.IncludedPath{{Path: "/a/?"}},
		ExcludedPaths: []azcosmos.ExcludedPath{{Path: "/*"}},
	}
	replaced, err := container.Replace(t.Context(), changed, nil)
	must(t, err)
	equal(t, "ttl", *replaced.ContainerProperties.DefaultTimeToLive, -1)
	equal(t, "resource id", replaced.ContainerProperties.ResourceID, before.ContainerProperties.ResourceID)
	if replaced.ETag == before.ETag {
		t.Error("etag did not change")
	}
	if !slices.Contains(replaced.ContainerProperties.IndexingPolicy.IncludedPaths, azcosmos.IncludedPath{Path: "/a/?"}) {
		t.Errorf("included %v", replaced.ContainerProperties.IndexingPolicy.IncludedPaths)
	}

	changed.DefaultTimeToLive = nil
	replaced, err = container.Replace(t.Context(), changed, nil)
	must(t, err)
	if replaced.ContainerProperties.DefaultTimeToLive != nil {
		t.Error("a replace without ttl turns it off")
	}
}

func TestPartitionKeyIsImmutable(t *testing.T) {
	container := newContainer(t)
	read, err := container.Read(t.Context(), nil)
	must(t, err)
	changed := *read.ContainerProperties
	changed.PartitionKeyDefinition.Paths = []string{"/other"}
	_, err = container.Replace(t.Context(), changed, nil)
	wantFailure(t, err, 400)
}

func TestContainerDefinitionsThatAreRefused(t *testing.T) {
	database := newDatabase(t)
	paths := func(paths ...string) azcosmos.PartitionKeyDefinition {
		return azcosmos.PartitionKeyDefinition{Kind: azcosmos.PartitionKeyKindMultiHash, Paths: paths, Version: 2}
	}
	for name, properties := range map[string]azcosmos.ContainerProperties{
		"four key paths": {PartitionKeyDefinition: paths("/a", "/b", "/c", "/d")},
		"no key path":    {PartitionKeyDefinition: paths()},
		"ttl zero":       {PartitionKeyDefinition: paths("/a"), DefaultTimeToLive: to.Ptr(int32(0))},
		"ttl below -1":   {PartitionKeyDefinition: paths("/a"), DefaultTimeToLive: to.Ptr(int32(-10))},
		"no root path": {PartitionKeyDefinition: paths("/a"), IndexingPolicy: &azcosmos.IndexingPolicy{
			Automatic: true, IndexingMode: azcosmos.IndexingModeConsistent,
			IncludedPaths: []azcosmos.IncludedPath{{Path: "/a/?"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			properties.ID = "c"
			_, err := database.CreateContainer(t.Context(), properties, nil)
			wantFailure(t, err, 400)
		})
	}
}

func TestQueryContainers(t *testing.T) {
	database := newDatabase(t)
	for _, id := range []string{"a", "b", "c"} {
		createContainer(t, database, azcosmos.ContainerProperties{
			ID:                     id,
			PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}, Version: 2},
		}, nil)
	}
	equal(t, "all", containerIDs(t, database, "SELECT * FROM c", nil), "a b c")
	parameters := []azcosmos.QueryParameter{{Name: "@id", Value: "b"}}
	equal(t, "one", containerIDs(t, database, "SELECT * FROM c WHERE c.id = @id", parameters), "b")
}

func containerIDs(t *testing.T, database *azcosmos.DatabaseClient, query string, parameters []azcosmos.QueryParameter) string {
	t.Helper()
	var ids []string
	pager := database.NewQueryContainersPager(query, &azcosmos.QueryContainersOptions{QueryParameters: parameters})
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		for _, container := range page.Containers {
			ids = append(ids, container.ID)
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}
