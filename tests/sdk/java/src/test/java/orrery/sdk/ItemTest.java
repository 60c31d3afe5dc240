package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;

class ItemTest extends Fixture {
    @Test
    void lifeCycle() {
        CosmosContainer container = newContainer();
        CosmosItemResponse<ObjectNode> created = container.createItem(item("1", "a").put("n", 1));
        assertEquals(201, created.getStatusCode());
        assertEquals(1, read(container, "1", "a").get("n").asInt());

        CosmosItemResponse<ObjectNode> replaced =
                container.replaceItem(item("1", "a").put("n", 2), "1", pk("a"), null);
        assertEquals(200, replaced.getStatusCode());
        assertEquals(2, replaced.getItem().get("n").asInt());

        assertEquals(200, container.upsertItem(item("1", "a").put("n", 3)).getStatusCode());
        assertEquals(201, container.upsertItem(item("2", "a")).getStatusCode());
        assertEquals(3, read(container, "1", "a").get("n").asInt());

        assertEquals(204, container.deleteItem("1", pk("a"), null).getStatusCode());
        fails(404, () -> read(container, "1", "a"));
        assertEquals(204, container.deleteItem(item("2", "a"), null).getStatusCode());
    }

    @Test
    void systemProperties() {
        CosmosContainer container = newContainer();
        CosmosItemResponse<ObjectNode> response =
                container.createItem(item("1", "a").put("_etag", "x").put("_ts", 1).put("_rid", "x"));
        ObjectNode first = response.getItem();
        assertEquals(response.getETag(), first.get("_etag").asText());
        assertTrue(first.get("_etag").asText().startsWith("\""));
        assertTrue(first.get("_self").asText().endsWith("/docs/" + first.get("_rid").asText() + "/"));
        assertTrue(first.get("_ts").asLong() > 1_000_000_000);
        assertEquals("attachments/", first.get("_attachments").asText());

        ObjectNode second = container.replaceItem(item("1", "a"), "1", pk("a"), null).getItem();
        assertEquals(first.get("_rid"), second.get("_rid"));
        assertNotEquals(first.get("_etag"), second.get("_etag"));
    }

    @Test
    void errors() {
        CosmosContainer container = newContainer();
        create(container, item("1", "a"));
        fails(409, () -> container.createItem(item("1", "a")));
        create(container, item("1", "b"));

        fails(404, () -> read(container, "absent", "a"));
        fails(404, () -> read(container, "1", "other"));
        fails(404, () -> container.replaceItem(item("absent", "a"), "absent", pk("a"), null));
        fails(404, () -> container.deleteItem("absent", pk("a"), null));
        fails(404, () -> container.deleteItem("1", pk("other"), null));
        fails(400, () -> container.createItem(JSON.createObjectNode().put("pk", "a"), pk("a"), null));
        fails(413, () -> container.createItem(item("large", "a").put("s", "x".repeat(2 << 20))));
    }

    @Test
    void jsonSurvives() {
        CosmosContainer container = newContainer();
        String text = "čeština \u0000 \u2028 \uD83D\uDE80 \"quoted\" back\\slash";
        ObjectNode written = item("1", "a").put("text", text).put("large", 9007199254740991L).put("small", -1.5e-7);
        written.set("nested", json("{\"a\":[1,\"b\",null,true,{}],\"\":\"empty name\"}"));
        create(container, written);
        ObjectNode got = read(container, "1", "a");
        assertEquals(text, got.get("text").asText());
        assertEquals(9007199254740991L, got.get("large").asLong());
        assertEquals(-1.5e-7, got.get("small").asDouble());
        assertEquals((JsonNode) written.get("nested"), got.get("nested"));
    }

    @Test
    void consistencyLevels() {
        CosmosContainer container = newContainer();
        create(container, item("1", "a"));
        for (ConsistencyLevel level : new ConsistencyLevel[] {
            ConsistencyLevel.SESSION, ConsistencyLevel.CONSISTENT_PREFIX, ConsistencyLevel.EVENTUAL
        }) {
            CosmosItemRequestOptions options = new CosmosItemRequestOptions().setConsistencyLevel(level);
            assertEquals(
                    200,
                    container.readItem("1", pk("a"), options, ObjectNode.class).getStatusCode());
        }
    }
}
