package orrery.sdk;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class SubqueryTest extends QueryFixture {
    private static Stream<JsonNode> large(ObjectNode item) {
        return elements(item, "parts").filter(p -> p.get("count").asInt() >= 4);
    }

    private static List<JsonNode> ids(List<ObjectNode> items) {
        return items.stream().map(i -> i.get("id")).toList();
    }

    @Test
    void exists() {
        String exists = "EXISTS(SELECT VALUE p FROM p IN c.parts WHERE p.count >= 4)";
        answers(ids(items(i -> large(i).findAny().isPresent())), "SELECT VALUE c.id FROM c WHERE " + exists);
        answers(ids(items(i -> large(i).findAny().isEmpty())), "SELECT VALUE c.id FROM c WHERE NOT " + exists);
        answers(
                ITEMS.stream().map(i -> pick(i, "id").put("large", large(i).findAny().isPresent())).toList(),
                "SELECT c.id, " + exists + " AS large FROM c");
        answersIn(
                "k1",
                ids(itemsOf("k1").stream().filter(i -> large(i).findAny().isPresent()).toList()),
                "SELECT VALUE c.id FROM c WHERE " + exists);
    }

    @Test
    void array() {
        List<ObjectNode> want = ITEMS.stream()
                .map(i -> {
                    ObjectNode row = pick(i, "id");
                    ArrayNode names = row.putArray("names");
                    large(i).forEach(p -> names.add(p.get("name")));
                    return row;
                })
                .toList();
        answers(want, "SELECT c.id, ARRAY(SELECT VALUE p.name FROM p IN c.parts WHERE p.count >= 4) AS names FROM c");
    }

    @Test
    void scalar() {
        answers(
                ITEMS.stream().map(i -> pick(i, "id").put("large", large(i).count())).toList(),
                "SELECT c.id, (SELECT VALUE COUNT(1) FROM p IN c.parts WHERE p.count >= 4) AS large FROM c");
        answers(
                ids(items(i -> large(i).count() == 2)),
                "SELECT VALUE c.id FROM c WHERE (SELECT VALUE COUNT(1) FROM p IN c.parts WHERE p.count >= 4) = 2");
    }
}
