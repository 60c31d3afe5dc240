package sdk

import "testing"

func TestQueryErrorCodes(t *testing.T) {
	container := newCatalogue(t)
	for query, code := range map[string]string{
		"SELEKT * FROM c":                             "SC1001",
		"SELECT * FROM c WHERE":                       "SC1002",
		"SELECT c.id, FROM c":                         "SC1001",
		"SELECT TOP -1 * FROM c":                      "SC1001",
		"SELECT * FROM c WHERE c.mixed IS NULL":       "SC1001",
		"SELECT * FROM c OFFSET 3":                    "SC1002",
		"SELECT VALUE d.id FROM c":                    "SC2001",
		"SELECT VALUE NOSUCH(c.n) FROM c":             "SC2005",
		"SELECT * FROM c WHERE BADFUNC(c.n) = 1":      "SC2005",
		"SELECT * FROM c GROUP BY c.n":                "SC2041",
		"SELECT VALUE STARTSWITH(c.name) FROM c":      "SC2050",
		"SELECT VALUE COUNT(SUM(c.n)) FROM c":         "SC2101",
		"SELECT c.n, COUNT(1) FROM c GROUP BY c.name": "SC2102",
		"SELECT VALUE ARRAY(SELECT VALUE p FROM p IN c.parts ORDER BY p.count) FROM c": "SC2202",
		"SELECT VALUE ARRAY(SELECT TOP 1 VALUE p FROM p IN c.parts) FROM c":            "SC2203",
		"SELECT VALUE ARRAY(SELECT VALUE p FROM p IN c.parts OFFSET 0 LIMIT 1) FROM c": "SC2204",
		"SELECT * FROM c ORDER BY LOWER(c.name)":                                       "2206",
	} {
		for scope, key := range map[string]any{"everywhere": nil, "one key": "k0"} {
			t.Run(query+" "+scope, func(t *testing.T) {
				partition := everywhere
				if key != nil {
					partition = pk(key.(string))
				}
				_, err := container.NewQueryItemsPager(query, partition, nil).NextPage(t.Context())
				wantFailure(t, err, 400, code)
			})
		}
	}
}
