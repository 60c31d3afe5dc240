package sdk

import (
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// Every page is asked of a new client.
func TestContinuationsOutliveTheirClient(t *testing.T) {
	for _, key := range []azcosmos.PartitionKey{everywhere, pk("k3")} {
		for _, query := range []string{
			"SELECT * FROM c",
			"SELECT c.id, p AS part FROM c JOIN p IN c.parts",
			"SELECT VALUE c.id FROM c ORDER BY c.n DESC",
			"SELECT c.id, c.mixed FROM c ORDER BY c.mixed",
			"SELECT c.id, p.name FROM c JOIN p IN c.parts ORDER BY c.kind DESC",
			"SELECT TOP 50 c.id FROM c",
			"SELECT TOP 50 c.id FROM c ORDER BY c.kind",
			"SELECT c.id FROM c ORDER BY c.kind OFFSET 5 LIMIT 50",
			"SELECT c.id FROM c OFFSET 5 LIMIT 50",
			"SELECT DISTINCT VALUE c.price FROM c",
			"SELECT DISTINCT VALUE c.mixed FROM c ORDER BY c.mixed",
			"SELECT c.mixed, COUNT(1) AS items FROM c GROUP BY c.mixed",
		} {
			options := azcosmos.QueryOptions{PageSizeHint: 1000}
			want := texts(t, queryRows(t, newCatalogue(t), query, key, options))
			for _, size := range []int32{3, 7} {
				var got []any
				options := azcosmos.QueryOptions{PageSizeHint: size}
				for {
					page, err := newCatalogue(t).NewQueryItemsPager(query, key, &options).NextPage(t.Context())
					must(t, err)
					for _, item := range page.Items {
						got = append(got, decodeRow(t, item))
					}
					if page.ContinuationToken == nil || *page.ContinuationToken == "" {
						break
					}
					options.ContinuationToken = page.ContinuationToken
				}
				if got := texts(t, got); !slices.Equal(got, want) {
					t.Errorf("%s in pages of %d:\n got %v\nwant %v", query, size, got, want)
				}
			}
		}
	}
}
