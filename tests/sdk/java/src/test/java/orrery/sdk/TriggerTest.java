package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.CosmosScripts;
import com.azure.cosmos.CosmosTrigger;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.CosmosTriggerProperties;
import com.azure.cosmos.models.TriggerOperation;
import com.azure.cosmos.models.TriggerType;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.junit.jupiter.api.Test;

class TriggerTest extends Fixture {
    private static final String MARK =
            "() => { const request = getContext().getRequest(); const item = request.getBody();"
                    + " item.marked = (item.marked || 0) + 1; request.setBody(item); }";
    private static final String COUNT =
            "() => __.readDocument(__.getAltLink() + '/docs/count', (error, count) => {"
                    + " if (error) throw error; count.n += 1;"
                    + " count.last = getContext().getRequest().getOperationType();"
                    + " __.replaceDocument(count._self, count); })";

    @Test
    void life() {
        CosmosScripts scripts = newContainer().getScripts();
        CosmosTriggerProperties pre = trigger("t", "() => {}", TriggerType.PRE, TriggerOperation.ALL);
        CosmosTriggerProperties made = scripts.createTrigger(pre).getProperties();
        assertEquals(TriggerType.PRE, made.getTriggerType());
        assertEquals(TriggerOperation.ALL, made.getTriggerOperation());
        fails(409, () -> scripts.createTrigger(pre));
        CosmosTrigger one = scripts.getTrigger("t");
        CosmosTriggerProperties read = one.read().getProperties();
        assertEquals("() => {}", read.getBody());
        CosmosTriggerProperties replaced = one.replace(read.setBody("() => 1")
                        .setTriggerType(TriggerType.POST)
                        .setTriggerOperation(TriggerOperation.DELETE))
                .getProperties();
        assertEquals("() => 1", replaced.getBody());
        assertEquals(TriggerOperation.DELETE, replaced.getTriggerOperation());
        scripts.createTrigger(trigger("u", "() => {}", TriggerType.PRE, TriggerOperation.CREATE));
        assertEquals(2, scripts.readAllTriggers().stream().count());
        String byType = "SELECT * FROM c WHERE c.triggerType = 'Post'";
        List<String> found = scripts.queryTriggers(byType, new CosmosQueryRequestOptions()).stream()
                .map(CosmosTriggerProperties::getId)
                .toList();
        assertEquals(List.of("t"), found);
        assertEquals(204, one.delete().getStatusCode());
        fails(404, one::read);
    }

    @Test
    void runsAroundWrites() {
        CosmosContainer container = newContainer();
        container.getScripts().createTrigger(trigger("mark", MARK, TriggerType.PRE, TriggerOperation.ALL));
        container.getScripts().createTrigger(trigger("count", COUNT, TriggerType.POST, TriggerOperation.ALL));
        create(container, item("count", "a").put("n", 0));
        CosmosItemRequestOptions both = new CosmosItemRequestOptions()
                .setPreTriggerInclude(List.of("mark", "mark"))
                .setPostTriggerInclude(List.of("count"));
        assertEquals(2, container.createItem(item("1", "a"), pk("a"), both).getItem().get("marked").asInt());
        assertCounted(container, 1, "Create");
        assertTrue(container.upsertItem(item("1", "a"), pk("a"), both).getItem().has("marked"));
        assertCounted(container, 2, "Upsert");
        assertTrue(container.replaceItem(item("1", "a"), "1", pk("a"), both).getItem().has("marked"));
        assertCounted(container, 3, "Replace");
        CosmosItemRequestOptions counted = new CosmosItemRequestOptions().setPostTriggerInclude(List.of("count"));
        container.deleteItem("1", pk("a"), counted);
        assertCounted(container, 4, "Delete");
        assertFalse(create(container, item("2", "a")).has("marked"));
        assertCounted(container, 4, "Delete");
    }

    @Test
    void failures() {
        CosmosContainer container = newContainer();
        CosmosScripts scripts = container.getScripts();
        String refuse = "() => { throw new Error('not today'); }";
        scripts.createTrigger(trigger("before", refuse, TriggerType.PRE, TriggerOperation.CREATE));
        scripts.createTrigger(trigger("after", refuse, TriggerType.POST, TriggerOperation.CREATE));
        scripts.createTrigger(trigger("broken", "function (", TriggerType.PRE, TriggerOperation.ALL));
        for (CosmosItemRequestOptions named : List.of(pre("before"), post("after"))) {
            CosmosException failure = fails(400, () -> container.createItem(item("1", "a"), pk("a"), named));
            assertTrue(failure.getMessage().contains("not today"), failure::getMessage);
            fails(404, () -> read(container, "1", "a"));
        }
        CosmosException broken = fails(400, () -> container.createItem(item("1", "a"), pk("a"), pre("broken")));
        assertEquals(65535, broken.getSubStatusCode());
        fails(400, () -> container.createItem(item("1", "a"), pk("a"), pre("none")));
        fails(400, () -> container.createItem(item("1", "a"), pk("a"), pre("after")));
        fails(400, () -> container.upsertItem(item("1", "a"), pk("a"), pre("before")));
        fails(404, () -> read(container, "1", "a"));
    }

    private static void assertCounted(CosmosContainer container, int times, String last) {
        ObjectNode count = read(container, "count", "a");
        assertEquals(times, count.get("n").asInt());
        assertEquals(last, count.get("last").asText());
    }

    private static CosmosItemRequestOptions pre(String id) {
        return new CosmosItemRequestOptions().setPreTriggerInclude(List.of(id));
    }

    private static CosmosItemRequestOptions post(String id) {
        return new CosmosItemRequestOptions().setPostTriggerInclude(List.of(id));
    }

    private static CosmosTriggerProperties trigger(
            String id, String body, TriggerType type, TriggerOperation operation) {
        return new CosmosTriggerProperties(id, body).setTriggerType(type).setTriggerOperation(operation);
    }
}
