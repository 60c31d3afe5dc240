package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.ChangeFeedPolicy;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The change feed of all versions and deletes, of containers that keep them. */
class ChangeFeedAllVersionsTest extends Fixture {
    static CosmosContainerProperties kept() {
        return properties("c")
                .setChangeFeedPolicy(ChangeFeedPolicy.createAllVersionsAndDeletesPolicy(Duration.ofMinutes(10)));
    }

    static String summary(ObjectNode change) {
        JsonNode meta = change.get("metadata");
        JsonNode body = change.path("current").has("id") ? change.get("current") : change.get("previous");
        return meta.get("operationType").asText() + " " + body.get("id").asText() + " " + body.path("n").asInt();
    }

    private static String start(CosmosContainer container) {
        Changes.Feed feed = Changes.read(container, Changes.now().allVersionsAndDeletes());
        assertTrue(feed.all().isEmpty());
        return feed.continuation();
    }

    private static Changes.Feed next(CosmosContainer container, String continuation) {
        return Changes.read(container, Changes.from(continuation).allVersionsAndDeletes().setMaxItemCount(2));
    }

    @Test
    void everyVersionAndThePreviousImageOfWhatWasDeleted() {
        CosmosContainer container = newContainer(kept());
        String start = start(container);
        create(container, item("1", "a").put("n", 1));
        container.upsertItem(item("1", "a").put("n", 2));
        container.replaceItem(item("1", "a").put("n", 3), "1", pk("a"), null);
        container.deleteItem("1", pk("a"), null);
        List<ObjectNode> found = next(container, start).all();
        assertEquals(
                List.of("create 1 1", "replace 1 2", "replace 1 3", "delete 1 3"),
                found.stream().map(ChangeFeedAllVersionsTest::summary).toList());
        assertFalse(found.get(1).hasNonNull("previous"));
        assertEquals(
                found.get(1).get("metadata").get("lsn"), found.get(2).get("metadata").get("previousImageLSN"));
        assertFalse(found.get(3).get("metadata").path("timeToLiveExpired").asBoolean());
        Duration retention = container.read().getProperties().getChangeFeedPolicy()
                .getRetentionDurationForAllVersionsAndDeletesPolicy();
        assertEquals(Duration.ofMinutes(10), retention);
    }

    @Test
    void expiryIsMarked() {
        CosmosContainer container = newContainer(kept().setDefaultTimeToLiveInSeconds(-1));
        String start = start(container);
        create(container, item("1", "a").put("n", 1).put("ttl", 1));
        Changes.await("the expiry", () -> next(container, start).all().size() == 2);
        List<ObjectNode> found = next(container, start).all();
        assertEquals("delete 1 1", summary(found.get(1)));
        assertTrue(found.get(1).get("metadata").get("timeToLiveExpired").asBoolean());
    }

    @Test
    void acrossASplit() {
        CosmosDatabase database = newDatabase();
        CosmosContainer container = createIn(database, kept(), ThroughputTest.manual(400));
        String start = start(container);
        fill(container, 12, 1);
        Changes.split(container, database.getId(), 25000, 3);
        for (int p = 0; p < 12; p++) {
            container.deleteItem(p + "-0", pk("p" + p), null);
        }
        Map<String, List<String>> seen = new HashMap<>();
        for (ObjectNode change : next(container, start).all()) {
            String[] words = summary(change).split(" ");
            seen.computeIfAbsent(words[1], id -> new ArrayList<>()).add(words[0]);
        }
        assertEquals(12, seen.size());
        seen.forEach((id, kinds) -> assertEquals(List.of("create", "delete"), kinds, id));
    }

    @Test
    void needsARetention() {
        CosmosContainer without = newContainer();
        fails(400, () -> start(without));
    }
}
