package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PatchTest extends Fixture {
    @Test
    void operations() {
        CosmosContainer container = newContainer();
        Map<CosmosPatchOperations, String> cases = new LinkedHashMap<>();
        cases.put(patch().add("/new", 1), "{'a':1,'b':{'c':'d'},'l':[1,2],'new':1}");
        cases.put(patch().add("/a", "x"), "{'a':'x','b':{'c':'d'},'l':[1,2]}");
        cases.put(patch().add("/l/1", 9), "{'a':1,'b':{'c':'d'},'l':[1,9,2]}");
        cases.put(patch().add("/l/-", 9), "{'a':1,'b':{'c':'d'},'l':[1,2,9]}");
        cases.put(patch().set("/b/c", "e"), "{'a':1,'b':{'c':'e'},'l':[1,2]}");
        cases.put(patch().set("/b/n", List.of()), "{'a':1,'b':{'c':'d','n':[]},'l':[1,2]}");
        cases.put(patch().set("/l/0", 9), "{'a':1,'b':{'c':'d'},'l':[9,2]}");
        cases.put(patch().replace("/b", "x"), "{'a':1,'b':'x','l':[1,2]}");
        cases.put(patch().remove("/b/c"), "{'a':1,'b':{},'l':[1,2]}");
        cases.put(patch().remove("/l/0"), "{'a':1,'b':{'c':'d'},'l':[2]}");
        cases.put(patch().increment("/a", 41), "{'a':42,'b':{'c':'d'},'l':[1,2]}");
        cases.put(patch().increment("/a", -0.5), "{'a':0.5,'b':{'c':'d'},'l':[1,2]}");
        cases.put(patch().increment("/n", 3), "{'a':1,'b':{'c':'d'},'l':[1,2],'n':3}");
        cases.put(patch().move("/b/c", "/moved"), "{'a':1,'b':{},'l':[1,2],'moved':'d'}");
        cases.put(patch().move("/l/0", "/a"), "{'a':1,'b':{'c':'d'},'l':[2]}");
        cases.put(patch().set("/x~1y", 1), "{'a':1,'b':{'c':'d'},'l':[1,2],'x/y':1}");

        int number = 0;
        for (Map.Entry<CosmosPatchOperations, String> c : cases.entrySet()) {
            String id = "" + number++;
            ObjectNode item = item(id, "a").put("a", 1);
            item.putObject("b").put("c", "d");
            item.putArray("l").add(1).add(2);
            create(container, item);
            CosmosItemResponse<ObjectNode> response =
                    container.patchItem(id, pk("a"), c.getKey(), ObjectNode.class);
            assertEquals(200, response.getStatusCode());
            assertEquals(json(c.getValue().replace('\'', '"')), userProperties(response.getItem()));
            assertEquals(userProperties(response.getItem()), userProperties(read(container, id, "a")));
        }
    }

    @Test
    void refusals() {
        CosmosContainer container = newContainer();
        ObjectNode item = item("1", "a").put("s", "text");
        item.putArray("l").add(1);
        item.putObject("o").put("p", 1);
        create(container, item);
        for (CosmosPatchOperations wrong : List.of(
                patch().replace("/absent", 1),
                patch().remove("/absent"),
                patch().add("/absent/child", 1),
                patch().add("/l/5", 1),
                patch().increment("/s", 1),
                patch().move("/absent", "/x"),
                patch().move("/o", "/o/p"),
                patch().set("/id", "2"),
                patch().set("/pk", "b"),
                patch().set("/_ts", 1),
                patch().set("/s", "changed").remove("/absent"),
                increments(11))) {
            fails(400, () -> container.patchItem("1", pk("a"), wrong, ObjectNode.class));
        }
        assertEquals("text", read(container, "1", "a").get("s").asText());
        CosmosException failure = fails(
                400, () -> container.patchItem("1", pk("a"), patch().add("/absent/child", 1), ObjectNode.class));
        assertTrue(failure.getMessage().contains("For Operation(1)"), failure::getShortMessage);
        fails(404, () -> container.patchItem("absent", pk("a"), patch().set("/a", 1), ObjectNode.class));
    }

    @Test
    void tenOperations() {
        CosmosContainer container = newContainer();
        create(container, item("1", "a").put("n", 0));
        ObjectNode patched =
                container.patchItem("1", pk("a"), increments(10), ObjectNode.class).getItem();
        assertEquals(10, patched.get("n").asInt());
    }

    @Test
    void condition() {
        CosmosContainer container = newContainer();
        create(container, item("1", "a").put("n", 1));
        CosmosPatchOperations increment = increments(1);
        CosmosPatchItemRequestOptions options =
                new CosmosPatchItemRequestOptions().setFilterPredicate("from c where c.n = 1");
        container.patchItem("1", pk("a"), increment, options, ObjectNode.class);
        CosmosException failure =
                fails(412, () -> container.patchItem("1", pk("a"), increment, options, ObjectNode.class));
        assertEquals(1110, failure.getSubStatusCode());
        assertEquals(2, read(container, "1", "a").get("n").asInt());
    }

    private static CosmosPatchOperations patch() {
        return CosmosPatchOperations.create();
    }

    private static CosmosPatchOperations increments(int count) {
        CosmosPatchOperations operations = patch();
        for (int i = 0; i < count; i++) {
            operations.increment("/n", 1);
        }
        return operations;
    }
}
