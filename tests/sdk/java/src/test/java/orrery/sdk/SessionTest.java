package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class SessionTest extends Fixture {
    @Test
    void tokens() {
        CosmosContainer container = newContainer();
        String token = container.createItem(item("1", "a")).getSessionToken();
        assertTrue(token.matches("\\d+:(-1#\\d+|\\d+#\\d+(#\\d+=\\d+)*)"), token);
        CosmosItemRequestOptions options = new CosmosItemRequestOptions().setSessionToken(token);
        assertEquals(
                200, container.readItem("1", pk("a"), options, ObjectNode.class).getStatusCode());
        CosmosException missing = fails(404, () -> read(container, "absent", "a"));
        assertNotNull(missing.getResponseHeaders().get("x-ms-session-token"));
    }

    /** Three ranges whose positions are far apart: one that is taken for another's is not reached. */
    @Test
    void aSessionOverThePagesOfUnevenRangesReadsEveryKey() {
        CosmosDatabase database = newDatabase();
        CosmosContainer container = createIn(database, properties("c"), ThroughputTest.manual(18000));
        Map<String, List<String>> keys = new TreeMap<>();
        for (int n = 0; n < 9 || keys.size() < 3; n++) {
            String token = container.createItem(item("1", "k" + n)).getSessionToken();
            keys.computeIfAbsent(token.split(":")[0], range -> new ArrayList<>()).add("k" + n);
        }
        int writes = 60;
        for (List<String> names : keys.values()) {
            for (int n = 0; n < writes; n++) {
                container.upsertItem(item("1", names.get(0)));
            }
            writes /= 3;
        }
        FeedRange everything = FeedRange.forFullRange();
        List<Consumer<CosmosContainer>> ways = List.of(
                c -> c.queryItems("SELECT * FROM c", everywhere(), ObjectNode.class).forEach(row -> {}),
                c -> c.queryItems("SELECT * FROM c ORDER BY c.pk", everywhere(), ObjectNode.class)
                        .forEach(row -> {}),
                c -> c.queryItems("SELECT VALUE COUNT(1) FROM c", everywhere(), Integer.class)
                        .forEach(row -> {}),
                c -> c.queryItems("SELECT * FROM c", everywhere().setFeedRange(everything), ObjectNode.class)
                        .forEach(row -> {}),
                c -> c.queryChangeFeed(
                                CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(everything),
                                ObjectNode.class)
                        .iterableByPage()
                        .iterator()
                        .next());
        for (Consumer<CosmosContainer> way : ways) {
            // A client of its own begins without a session.
            try (CosmosClient fresh = clientBuilder().buildClient()) {
                CosmosContainer same = fresh.getDatabase(database.getId()).getContainer("c");
                way.accept(same);
                for (List<String> names : keys.values()) {
                    for (String name : names) {
                        assertEquals(200, same.readItem("1", pk(name), ObjectNode.class).getStatusCode());
                    }
                }
            }
        }
    }

    @Test
    void aTokenThatEndsInACommaPasses() {
        CosmosContainer container = newContainer();
        String token = container.createItem(item("1", "a")).getSessionToken();
        CosmosItemRequestOptions options = new CosmosItemRequestOptions().setSessionToken(token + ",");
        assertEquals(
                200, container.readItem("1", pk("a"), options, ObjectNode.class).getStatusCode());
        CosmosQueryRequestOptions query = in("a").setSessionToken(token + ",");
        assertEquals("1", queryIds(container, "SELECT * FROM c", query));
    }

    /** The making of the partition has taken the first, in an account that has lost no container. */
    @Test
    void theFirstItemHasTheSecondLsn() {
        Process process = Server.launch(List.of());
        JsonNode ready = Server.ready(process);
        CosmosClientBuilder builder = clientBuilder()
                .endpoint(ready.get("endpoint").asText())
                .key(ready.get("key").asText());
        try (CosmosClient client = builder.buildClient()) {
            client.createDatabase("db");
            CosmosContainer container = createIn(client.getDatabase("db"), properties("c"), null);
            CosmosItemResponse<ObjectNode> created = container.createItem(item("1", "a"));
            assertEquals("2", created.getResponseHeaders().get("lsn"));
            assertEquals("0:-1#2", created.getSessionToken());
        } finally {
            process.destroy();
        }
    }
}
