package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The change feed of latest versions: every item once, where it was changed last. */
class ChangeFeedTest extends Fixture {
    private CosmosContainer wide() {
        CosmosContainer container = newContainer(properties("c"), ThroughputTest.manual(18000));
        fill(container, 10, 4);
        return container;
    }

    @Test
    void scopesAndPages() {
        CosmosContainer container = wide();
        String everything = queryIds(container, "SELECT * FROM c", everywhere());
        for (int size : new int[] {1, 7, 1000}) {
            Changes.Feed feed = Changes.read(container, Changes.beginning().setMaxItemCount(size));
            assertTrue(feed.pages().stream().allMatch(page -> page.size() <= size));
            assertEquals(everything, feed.ids(), "pages of " + size);
            assertTrue(feed.all().stream().allMatch(item -> item.get("_lsn").isIntegralNumber()));
        }
        List<ObjectNode> parts = new ArrayList<>();
        for (FeedRange range : container.getFeedRanges()) {
            parts.addAll(Changes.read(container, Changes.beginning(range).setMaxItemCount(3)).all());
        }
        assertEquals(everything, ids(parts));
        FeedRange key = FeedRange.forLogicalPartition(pk("p3"));
        Changes.Feed inKey = Changes.read(container, Changes.beginning(key).setMaxItemCount(3));
        assertEquals(List.of(0, 1, 2, 3), inKey.numbers());
        assertEquals("", Changes.read(container, Changes.from(inKey.continuation())).ids());
    }

    @Test
    void fromNow() {
        CosmosContainer container = wide();
        Changes.Feed start = Changes.read(container, Changes.now());
        assertEquals("", start.ids());
        create(container, item("later", "p1"));
        container.upsertItem(item("3-0", "p3"));
        Changes.Feed next = Changes.read(container, Changes.from(start.continuation()));
        assertEquals("3-0 later", next.ids());
        assertEquals("", Changes.read(container, Changes.from(next.continuation())).ids());
    }

    @Test
    void fromATime() throws InterruptedException {
        CosmosContainer container = newContainer(properties("c"), ThroughputTest.manual(12000));
        fill(container, 3, 1);
        long last = Changes.read(container, Changes.beginning()).all().stream()
                .mapToLong(item -> item.get("_ts").asLong())
                .max()
                .orElseThrow();
        Thread.sleep(Math.max(0, last * 1000 + 1100 - System.currentTimeMillis()));
        create(container, item("late0", "p0"));
        create(container, item("late1", "p1"));
        assertEquals("late0 late1", since(container, last));
        assertEquals("0-0 1-0 2-0 late0 late1", since(container, last - 3600));
        assertEquals("", since(container, last + 3600));
    }

    private static String since(CosmosContainer container, long seconds) {
        CosmosChangeFeedRequestOptions options = CosmosChangeFeedRequestOptions.createForProcessingFromPointInTime(
                Instant.ofEpochSecond(seconds), FeedRange.forFullRange());
        return Changes.read(container, options).ids();
    }

    @Test
    void updatesOnceAndNoDeletes() {
        CosmosContainer container = newContainer();
        fill(container, 1, 5);
        for (int n = 100; n < 104; n++) {
            container.upsertItem(item("0-0", "p0").put("n", n));
        }
        container.patchItem(
                "0-1", pk("p0"), CosmosPatchOperations.create().increment("/n", 200), ObjectNode.class);
        container.deleteItem("0-2", pk("p0"), null);
        Changes.Feed feed = Changes.read(container, Changes.beginning());
        assertEquals(List.of(3, 4, 103, 201), feed.numbers());
        container.deleteItem("0-3", pk("p0"), null);
        assertEquals("", Changes.read(container, Changes.from(feed.continuation())).ids());
    }

    @Test
    void everyVersionInOrderToWhoKeepsUp() {
        CosmosContainer container = newContainer(properties("c"), ThroughputTest.manual(12000));
        Map<String, List<Integer>> seen = new HashMap<>();
        CosmosChangeFeedRequestOptions where = Changes.beginning();
        for (int version = 0; version < 4; version++) {
            for (int n = 0; n < 8; n++) {
                container.upsertItem(item("i" + n, "p" + n % 3).put("n", version));
            }
            Changes.Feed feed = Changes.read(container, where.setMaxItemCount(2));
            feed.all().forEach(item -> seen.computeIfAbsent(item.get("id").asText(), id -> new ArrayList<>())
                    .add(item.get("n").asInt()));
            where = Changes.from(feed.continuation());
        }
        assertEquals(8, seen.size());
        seen.forEach((id, versions) -> assertEquals(List.of(0, 1, 2, 3), versions, id));
    }

    @Test
    void theContinuationOutlivesTheClient() {
        CosmosDatabase database = newDatabase();
        CosmosContainer container = createIn(database, properties("c"), ThroughputTest.manual(18000));
        fill(container, 8, 2);
        List<ObjectNode> seen = new ArrayList<>();
        CosmosChangeFeedRequestOptions where = Changes.beginning();
        for (int empty = 0; empty < 3; ) {
            try (CosmosClient client = clientBuilder().buildClient()) {
                FeedResponse<ObjectNode> page = client.getDatabase(database.getId())
                        .getContainer("c")
                        .queryChangeFeed(where.setMaxItemCount(3), ObjectNode.class)
                        .iterableByPage()
                        .iterator()
                        .next();
                seen.addAll(page.getResults());
                empty = page.getResults().isEmpty() ? empty + 1 : 0;
                where = Changes.from(page.getContinuationToken());
            }
        }
        assertEquals(queryIds(container, "SELECT * FROM c", everywhere()), ids(seen));
    }
}
