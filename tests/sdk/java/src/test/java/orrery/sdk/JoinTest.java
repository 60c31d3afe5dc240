package orrery.sdk;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class JoinTest extends QueryFixture {
    private static Stream<ObjectNode> parts(ObjectNode item) {
        return elements(item, "parts").map(part -> pick(item, "id").<ObjectNode>set("part", part));
    }

    @Test
    void elementsWithTheirItem() {
        String query = "SELECT c.id, p AS part FROM c JOIN p IN c.parts";
        answers(ITEMS.stream().flatMap(JoinTest::parts).toList(), query);
        answersIn("k2", itemsOf("k2").stream().flatMap(JoinTest::parts).toList(), query);
    }

    @Test
    void elementsAlone() {
        answers(
                ITEMS.stream().flatMap(i -> elements(i, "parts")).toList(),
                "SELECT VALUE p FROM p IN c.parts");
    }

    @Test
    void filteredByItemAndElement() {
        answers(
                items(i -> i.get("price").asDouble() < 12).stream()
                        .flatMap(JoinTest::parts)
                        .filter(row -> row.get("part").get("count").asInt() > 2)
                        .toList(),
                "SELECT c.id, p AS part FROM c JOIN p IN c.parts WHERE p.count > 2 AND c.price < 12");
    }

    @Test
    void crossProduct() {
        List<ObjectNode> want = ITEMS.stream()
                .flatMap(i -> elements(i, "tags").flatMap(t -> parts(i).map(row -> row.<ObjectNode>set("tag", t))))
                .toList();
        answers(want, "SELECT c.id, t AS tag, p AS part FROM c JOIN t IN c.tags JOIN p IN c.parts");
    }

    @Test
    void rowsOfASubquery() {
        List<JsonNode> want = ITEMS.stream()
                .flatMap(i -> elements(i, "parts"))
                .filter(p -> p.get("count").asInt() == 4)
                .map(p -> p.get("name"))
                .toList();
        answers(want, "SELECT VALUE s.name FROM c JOIN (SELECT VALUE p FROM p IN c.parts WHERE p.count = 4) AS s");
    }
}
