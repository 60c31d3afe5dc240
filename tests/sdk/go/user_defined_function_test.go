package sdk

import (
	"net/http"
	"testing"
)

func TestFunctionsInQueries(t *testing.T) {
	database, container := scripted(t)
	register(t, database, "udfs", doc{"id": "twice", "body": "(n) => n * 2"})
	register(t, database, "udfs", doc{"id": "fail", "body": "(n) => { throw new Error('no ' + n); }"})
	for n := range 4 {
		create(t, container, pk("a"), doc{"id": string(rune('0' + n)), "pk": "a", "n": n})
	}
	query := func(text string) ([]string, error) {
		var rows []string
		pager := container.NewQueryItemsPager(text, pk("a"), nil)
		for pager.More() {
			page, err := pager.NextPage(t.Context())
			if err != nil {
				return nil, err
			}
			for _, row := range page.Items {
				rows = append(rows, string(row))
			}
		}
		return rows, nil
	}

	rows, err := query("SELECT VALUE udf.twice(c.n) FROM c WHERE udf.twice(c.n) > 2 ORDER BY c.n")
	must(t, err)
	if len(rows) != 2 || rows[0] != "4" || rows[1] != "6" {
		t.Errorf("got %v", rows)
	}
	_, err = query("SELECT VALUE udf.fail(c.n) FROM c WHERE c.n = 3")
	wantFailure(t, err, http.StatusBadRequest, "no 3")
	_, err = query("SELECT VALUE udf.missing(c.n) FROM c")
	wantFailure(t, err, http.StatusBadRequest, "missing")
}
