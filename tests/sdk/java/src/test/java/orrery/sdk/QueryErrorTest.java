package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import java.util.List;
import org.junit.jupiter.api.Test;

class QueryErrorTest extends QueryFixture {
    @Test
    void codes() {
        for (String[] c : new String[][] {
            {"SELEKT * FROM c", "SC1001"},
            {"SELECT * FROM c WHERE", "SC1002"},
            {"SELECT * FROM c WHERE c.n = ", "SC1002"},
            {"SELECT VALUE c.id, FROM c", "SC1001"},
            {"SELECT TOP -1 * FROM c", "SC1001"},
            {"SELECT * FROM c WHERE c.mixed IS NULL", "SC1001"},
            {"SELECT VALUE d.id FROM c", "SC2001"},
            {"SELECT VALUE NOSUCH(c.n) FROM c", "SC2005"},
            {"SELECT * FROM c WHERE BADFUNC(c.n) = 1", "SC2005"},
            {"SELECT * FROM c GROUP BY c.n", "SC2041"},
            {"SELECT VALUE STARTSWITH(c.name) FROM c", "SC2050"},
            {"SELECT VALUE COUNT(SUM(c.n)) FROM c", "SC2101"},
            {"SELECT c.n, COUNT(1) FROM c GROUP BY c.name", "SC2102"},
            {"SELECT VALUE ARRAY(SELECT VALUE p FROM p IN c.parts ORDER BY p.count) FROM c", "SC2202"},
            {"SELECT VALUE ARRAY(SELECT TOP 1 VALUE p FROM p IN c.parts) FROM c", "SC2203"},
            {"SELECT VALUE ARRAY(SELECT VALUE p FROM p IN c.parts OFFSET 0 LIMIT 1) FROM c", "SC2204"},
            {"SELECT * FROM c ORDER BY LOWER(c.name)", "2206"},
        }) {
            refused(c[0], c[1], () -> rows(c[0], everywhere(), 10));
            refused(c[0], c[1], () -> rows(c[0], in("k0"), 10));
        }
    }

    /** This client plans first: what is wrong with such a query is not its path. */
    @Test
    void fullTextSearchIsNotBuilt() {
        SqlQuerySpec query = new SqlQuerySpec(
                "SELECT TOP 3 * FROM c ORDER BY RANK FullTextScore(c[@p], 'lamp')", new SqlParameter("@p", "name"));
        for (CosmosQueryRequestOptions options : List.of(everywhere(), in("k0"))) {
            CosmosException failure = fails(400, () -> rows(query, options, 10));
            assertTrue(failure.getMessage().contains("full-text search"), failure::getShortMessage);
        }
    }

    private static void refused(String query, String code, org.junit.jupiter.api.function.Executable call) {
        CosmosException failure = fails(400, call);
        assertTrue(failure.getMessage().contains(code), () -> query + ": " + failure.getShortMessage());
    }
}
