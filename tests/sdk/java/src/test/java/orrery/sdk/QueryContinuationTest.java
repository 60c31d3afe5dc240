package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Every page is asked of the client that did not answer the page before. */
class QueryContinuationTest extends QueryFixture {
    private static final CosmosClient OTHER = clientBuilder().buildClient();

    @AfterAll
    static void close() {
        OTHER.close();
    }

    private static void resumes(String query, CosmosQueryRequestOptions options) {
        List<String> want = canonical(rows(query, options, 100));
        for (int size : new int[] {11, 100}) {
            List<JsonNode> got = new ArrayList<>();
            CosmosContainer[] containers = {CATALOGUE, OTHER.getDatabase(DATABASE).getContainer("c")};
            String continuation = null;
            int pages = 0;
            do {
                FeedResponse<JsonNode> page = containers[pages++ % 2]
                        .queryItems(query, options, JsonNode.class)
                        .iterableByPage(continuation, size)
                        .iterator()
                        .next();
                got.addAll(page.getResults());
                continuation = page.getContinuationToken();
                assertTrue(pages <= 400, "no end of pages");
            } while (continuation != null);
            assertEquals(want, canonical(got), query + " in pages of " + size);
        }
    }

    @Test
    void plain() {
        resumes("SELECT * FROM c", everywhere());
        resumes("SELECT VALUE c.id FROM c WHERE c.price > 10", everywhere());
        resumes("SELECT VALUE c.id FROM c", in("k3"));
    }

    @Test
    void join() {
        resumes("SELECT c.id, p AS part FROM c JOIN p IN c.parts", everywhere());
    }

    @Test
    void order() {
        resumes("SELECT c.id FROM c ORDER BY c.n", everywhere());
        resumes("SELECT c.id FROM c ORDER BY c.n DESC", everywhere());
        resumes("SELECT c.id FROM c ORDER BY c.n", in("k3"));
    }

    @Test
    void orderOfMixedTypesWithTies() {
        resumes("SELECT c.id, c.mixed FROM c ORDER BY c.mixed", everywhere());
        resumes("SELECT c.id, c.mixed FROM c ORDER BY c.mixed DESC", everywhere());
        resumes("SELECT c.id, c[\"group\"] FROM c ORDER BY c[\"group\"]", everywhere());
    }

    @Test
    void topAndWindow() {
        resumes("SELECT TOP 50 c.id FROM c ORDER BY c.n", everywhere());
        resumes("SELECT TOP 50 c.id FROM c", everywhere());
        resumes("SELECT c.id FROM c ORDER BY c.n OFFSET 20 LIMIT 50", everywhere());
        resumes("SELECT c.id FROM c OFFSET 20 LIMIT 50", everywhere());
        resumes("SELECT c.id FROM c ORDER BY c.n OFFSET 2 LIMIT 10", in("k3"));
    }

    @Test
    void orderedDistinct() {
        resumes("SELECT DISTINCT VALUE c.price FROM c ORDER BY c.price", everywhere());
    }
}
