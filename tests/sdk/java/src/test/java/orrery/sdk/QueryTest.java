package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.Test;

class QueryTest extends Fixture {
    @Test
    void oneLogicalPartition() {
        CosmosContainer container = newContainer();
        fill(container, 3, 3);
        assertEquals("1-0 1-1 1-2", queryIds(container, "SELECT * FROM c", in("p1")));
        assertEquals("1-0 1-1 1-2", ids(container.readAllItems(pk("p1"), ObjectNode.class)));
    }

    @Test
    void everyLogicalPartition() {
        CosmosContainer container = newContainer();
        fill(container, 3, 2);
        assertEquals("0-0 0-1 1-0 1-1 2-0 2-1", queryIds(container, "SELECT * FROM c", everywhere()));
        assertEquals("2-0 2-1", queryIds(container, "SELECT * FROM c WHERE c.pk = 'p2'", everywhere()));
        assertEquals("", queryIds(newContainer(), "SELECT * FROM c", everywhere()));
    }

    @Test
    void filters() {
        CosmosContainer container = newContainer();
        fill(container, 1, 5);
        for (String[] c : new String[][] {
            {"c.n = @two", "0-2"},
            {"c.n > @two", "0-3 0-4"},
            {"c.n >= @two AND c.n < 4", "0-2 0-3"},
            {"c.n != @two AND c.even", "0-0 0-4"},
            {"c.even = false OR c.n = 0", "0-0 0-1 0-3"},
            {"NOT c.even", "0-1 0-3"},
            {"c[\"id\"] = '0-1'", "0-1"},
            {"c.id IN ('0-0', '0-3', 'x')", "0-0 0-3"},
            {"c.nested.s = @s", "0-1"},
            {"c.absent = null", ""},
        }) {
            SqlQuerySpec query = new SqlQuerySpec(
                    "SELECT * FROM c WHERE " + c[0],
                    List.of(new SqlParameter("@two", 2), new SqlParameter("@s", "s1")));
            assertEquals(c[1], queryIds(container, query, in("p0")), c[0]);
            assertEquals(c[1], queryIds(container, query, everywhere()), c[0]);
        }
    }

    @Test
    void pages() {
        CosmosContainer container = newContainer();
        fill(container, 1, 7);
        List<ObjectNode> all = new ArrayList<>();
        List<Integer> sizes = new ArrayList<>();
        for (FeedResponse<ObjectNode> page :
                container.queryItems("SELECT * FROM c", in("p0"), ObjectNode.class).iterableByPage(3)) {
            assertTrue(page.getRequestCharge() > 0);
            all.addAll(page.getResults());
            if (!page.getResults().isEmpty()) {
                sizes.add(page.getResults().size());
            }
        }
        assertEquals(List.of(3, 3, 1), sizes);
        assertEquals("0-0 0-1 0-2 0-3 0-4 0-5 0-6", ids(all));
    }

    @Test
    void resumesFromContinuation() {
        CosmosContainer container = newContainer();
        fill(container, 2, 3);
        Iterator<FeedResponse<ObjectNode>> pages = container
                .queryItems("SELECT * FROM c", everywhere(), ObjectNode.class)
                .iterableByPage(2)
                .iterator();
        FeedResponse<ObjectNode> first = pages.next();
        assertEquals(2, first.getResults().size());
        assertNotNull(first.getContinuationToken());
        List<ObjectNode> all = new ArrayList<>(first.getResults());
        container
                .queryItems("SELECT * FROM c", everywhere(), ObjectNode.class)
                .iterableByPage(first.getContinuationToken(), 2)
                .forEach(page -> all.addAll(page.getResults()));
        assertEquals("0-0 0-1 0-2 1-0 1-1 1-2", ids(all));
    }

    @Test
    void syntaxError() {
        CosmosContainer container = newContainer();
        fails(400, () -> queryIds(container, "SELEKT * FROM c", everywhere()));
    }
}
