package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PartitionKeyTest extends Fixture {
    @Test
    void valuesOfEveryType() {
        CosmosContainer container = newContainer();
        // The key as the client takes it, and as JSON; an absent property is written as nothing.
        Map<String, PartitionKey> keys = new LinkedHashMap<>();
        keys.put("\"a\"", pk("a"));
        keys.put("\"\"", pk(""));
        keys.put("\"žluťoučký 日本 \uD83D\uDE80\"", pk("žluťoučký 日本 \uD83D\uDE80"));
        keys.put("\"a\\\"b\\\\c\"", pk("a\"b\\c"));
        keys.put("5", pk(5));
        keys.put("-0.25", pk(-0.25));
        keys.put("true", pk(true));
        keys.put("false", pk(false));
        keys.put("null", pk(null));
        keys.put("", PartitionKey.NONE);

        keys.forEach((text, key) -> {
            ObjectNode item = JSON.createObjectNode().put("id", "1").put("name", text);
            if (!text.isEmpty()) {
                item.set("pk", json(text));
            }
            assertEquals(201, container.createItem(item, key, null).getStatusCode(), text);
        });
        keys.forEach((text, key) -> {
            ObjectNode got = container.readItem("1", key, ObjectNode.class).getItem();
            assertEquals(text, got.get("name").asText());
            if (key != PartitionKey.NONE) { // which this client takes for "every key" in a query
                CosmosQueryRequestOptions options = new CosmosQueryRequestOptions().setPartitionKey(key);
                assertEquals("1", queryIds(container, "SELECT * FROM c", options), text);
            }
        });
        keys.forEach((text, key) ->
                assertEquals(204, container.deleteItem("1", key, null).getStatusCode(), text));
    }

    @Test
    void mismatch() {
        CosmosContainer container = newContainer();
        CosmosException failure = fails(400, () -> container.createItem(item("1", "b"), pk("a"), null));
        assertEquals(1001, failure.getSubStatusCode());
        String sentence = "PartitionKey extracted from document doesn't match the one specified in the header";
        assertTrue(failure.getMessage().contains(sentence), failure::getShortMessage);

        create(container, item("1", "a"));
        failure = fails(400, () -> container.replaceItem(item("1", "b"), "1", pk("a"), null));
        assertEquals(1001, failure.getSubStatusCode());
    }

    @Test
    void anArrayOrAnObjectIsNoKey() {
        for (PartitionKeyDefinitionVersion version : PartitionKeyDefinitionVersion.values()) {
            CosmosContainer container =
                    newContainer(new CosmosContainerProperties("c", key("/pk").setVersion(version)));
            for (String text : new String[] {"[\"a\"]", "{\"a\":1}"}) {
                ObjectNode item = JSON.createObjectNode().put("id", text.substring(0, 1));
                item.set("pk", json(text));
                assertEquals(201, container.createItem(item).getStatusCode(), text);
                ObjectNode got = container
                        .readItem(item.get("id").asText(), PartitionKey.NONE, ObjectNode.class)
                        .getItem();
                assertEquals(json(text), got.get("pk"));
            }
        }
    }

    @Test
    void nestedPath() {
        CosmosContainer container = newContainer(new CosmosContainerProperties("c", key("/a/b")));
        ObjectNode item = JSON.createObjectNode().put("id", "1");
        item.putObject("a").put("b", "x");
        create(container, item);
        assertEquals("1", read(container, "1", "x").get("id").asText());
    }

    @Test
    void hierarchical() {
        CosmosContainer container = newContainer(new CosmosContainerProperties("c", key("/a", "/b", "/c")));
        for (String b : new String[] {"y", "z"}) {
            for (int c : new int[] {1, 2}) {
                create(
                        container,
                        JSON.createObjectNode().put("id", b + c).put("a", "x").put("b", b).put("c", c));
            }
        }
        create(container, JSON.createObjectNode().put("id", "other").put("a", "w").put("b", "y").put("c", 1));
        PartitionKey full =
                new PartitionKeyBuilder().add("x").add("z").add(2.0).build();
        assertEquals("z2", container.readItem("z2", full, ObjectNode.class).getItem().get("id").asText());

        PartitionKey odd =
                new PartitionKeyBuilder().add("x").addNullValue().add(true).build();
        ObjectNode item = JSON.createObjectNode().put("id", "odd").put("a", "x").putNull("b").put("c", true);
        container.createItem(item, odd, null);
        container.readItem("odd", odd, ObjectNode.class);

        CosmosQueryRequestOptions inFull = new CosmosQueryRequestOptions().setPartitionKey(full);
        assertEquals("z2", queryIds(container, "SELECT * FROM c", inFull));
        PartitionKey one = new PartitionKeyBuilder().add("x").build();
        PartitionKey two = new PartitionKeyBuilder().add("x").add("y").build();
        assertEquals(
                "y1 y2",
                queryIds(container, "SELECT * FROM c", new CosmosQueryRequestOptions().setPartitionKey(two)));
        assertEquals(
                "odd y1 y2 z1 z2",
                queryIds(container, "SELECT * FROM c", new CosmosQueryRequestOptions().setPartitionKey(one)));
        assertEquals(204, container.deleteItem("z2", full, null).getStatusCode());
    }
}
