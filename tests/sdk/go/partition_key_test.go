package sdk

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestPartitionKeyTypes(t *testing.T) {
	container := newContainer(t)
	cases := map[string]struct {
		key   azcosmos.PartitionKey
		value any
	}{
		"string":       {azcosmos.NewPartitionKeyString("a"), "a"},
		"empty string": {azcosmos.NewPartitionKeyString(""), ""},
		"not ASCII":    {azcosmos.NewPartitionKeyString("žluťoučký 日本"), "žluťoučký 日本"},
		"quotes":       {azcosmos.NewPartitionKeyString(`a"b\c`), `a"b\c`},
		"integer":      {azcosmos.NewPartitionKeyNumber(5), 5},
		"fraction":     {azcosmos.NewPartitionKeyNumber(-0.25), -0.25},
		"large":        {azcosmos.NewPartitionKeyNumber(1e21), 1e21},
		"true":         {azcosmos.NewPartitionKeyBool(true), true},
		"false":        {azcosmos.NewPartitionKeyBool(false), false},
		"null":         {azcosmos.NullPartitionKey, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			create(t, container, c.key, doc{"id": "1", "pk": c.value, "name": name})
			equal(t, "read", read(t, container, c.key, "1")["name"], any(name))
			equal(t, "query", len(queryAll(t, container, "SELECT * FROM c", c.key, nil)), 1)
		})
	}
	for name, c := range cases {
		t.Run("delete "+name, func(t *testing.T) {
			_, err := container.DeleteItem(t.Context(), c.key, "1", nil)
			must(t, err)
		})
	}
}

func TestPartitionKeyMismatch(t *testing.T) {
	container := newContainer(t)
	_, err := container.CreateItem(t.Context(), pk("a"), encode(t, doc{"id": "1", "pk": "b"}), nil)
	wantSubStatus(t, wantFailure(t, err, 400, "doesn't match partition key field values"), "1001")

	create(t, container, pk("a"), doc{"id": "1", "pk": "a"})
	_, err = container.ReplaceItem(t.Context(), pk("a"), "1", encode(t, doc{"id": "1", "pk": "b"}), nil)
	wantSubStatus(t, wantFailure(t, err, 400), "1001")

	two := azcosmos.NewPartitionKeyString("a").AppendString("b")
	_, err = container.CreateItem(t.Context(), two, encode(t, doc{"id": "2", "pk": "a"}), nil)
	wantFailure(t, err, 400)
}

func TestPartitionKeyIsNestedPath(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/a/b"}, Version: 2},
	}, nil)
	create(t, container, pk("x"), doc{"id": "1", "a": doc{"b": "x"}})
	equal(t, "id", read(t, container, pk("x"), "1")["id"], any("1"))
}

func TestPartitionKeyIsID(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/id"}, Version: 2},
	}, nil)
	create(t, container, pk("1"), doc{"id": "1"})
	equal(t, "id", read(t, container, pk("1"), "1")["id"], any("1"))
}

func TestHierarchicalPartitionKey(t *testing.T) {
	container := newContainerWith(t, azcosmos.ContainerProperties{
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{
			Kind: azcosmos.PartitionKeyKindMultiHash, Paths: []string{"/a", "/b", "/c"}, Version: 2,
		},
	}, nil)
	properties, err := container.Read(t.Context(), nil)
	must(t, err)
	definition := properties.ContainerProperties.PartitionKeyDefinition
	equal(t, "kind", definition.Kind, azcosmos.PartitionKeyKindMultiHash)
	equal(t, "paths", len(definition.Paths), 3)

	full := func(b string, c float64) azcosmos.PartitionKey {
		return azcosmos.NewPartitionKeyString("x").AppendString(b).AppendNumber(c)
	}
	for _, b := range []string{"y", "z"} {
		for _, c := range []float64{1, 2} {
			create(t, container, full(b, c), doc{"id": "1", "a": "x", "b": b, "c": c})
		}
	}
	equal(t, "b", read(t, container, full("z", 2), "1")["b"], any("z"))
	withNull := azcosmos.NewPartitionKeyString("x").AppendNull().AppendBool(true)
	create(t, container, withNull, doc{"id": "1", "a": "x", "b": nil, "c": true})
	equal(t, "c", read(t, container, withNull, "1")["c"], any(true))

	equal(t, "full key", len(queryAll(t, container, "SELECT * FROM c", full("y", 1), nil)), 1)
	equal(t, "everything", len(queryAll(t, container, "SELECT * FROM c", azcosmos.NewPartitionKey(), nil)), 5)

	prefix := azcosmos.NewPartitionKeyString("x").AppendString("y")
	_, err = container.CreateItem(t.Context(), prefix, encode(t, doc{"id": "2", "a": "x", "b": "y", "c": 1}), nil)
	wantFailure(t, err, 400)
}
