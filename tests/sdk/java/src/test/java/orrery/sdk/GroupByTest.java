package orrery.sdk;

import static java.util.stream.Collectors.groupingBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

class GroupByTest extends QueryFixture {
    private static Collection<List<ObjectNode>> groups(List<ObjectNode> items, Function<ObjectNode, Object> key) {
        Map<Object, List<ObjectNode>> groups = items.stream().collect(groupingBy(key));
        return groups.values();
    }

    private static ObjectNode summary(List<ObjectNode> group) {
        var price = group.stream().mapToDouble(i -> i.get("price").asDouble()).summaryStatistics();
        return pick(group.get(0), "group")
                .put("items", group.size())
                .put("total", price.getSum())
                .put("mean", price.getAverage())
                .put("least", price.getMin())
                .put("most", price.getMax());
    }

    @Test
    void aggregatesOfEachGroup() {
        String query = "SELECT c[\"group\"], COUNT(1) AS items, SUM(c.price) AS total, AVG(c.price) AS mean,"
                + " MIN(c.price) AS least, MAX(c.price) AS most FROM c GROUP BY c[\"group\"]";
        answers(groups(ITEMS, i -> i.get("group")).stream().map(GroupByTest::summary).toList(), query);
        answersIn(
                "k9", groups(itemsOf("k9"), i -> i.get("group")).stream().map(GroupByTest::summary).toList(), query);
    }

    @Test
    void missingKeysAreOneGroup() {
        List<ObjectNode> want = groups(ITEMS, i -> i.path("rating")).stream()
                .map(group -> pick(group.get(0), "rating").put("items", group.size()))
                .toList();
        answers(want, "SELECT c.rating, COUNT(1) AS items FROM c GROUP BY c.rating");
    }

    /** But null: the client leaves a property out of a group whose value is null. */
    @Test
    void keysOfEveryType() {
        List<ObjectNode> items = ITEMS.stream().filter(i -> !i.path("mixed").isNull()).toList();
        List<ObjectNode> want = groups(items, i -> canonical(i.path("mixed"))).stream()
                .map(group -> pick(group.get(0), "mixed").put("items", group.size()))
                .toList();
        answers(want, "SELECT c.mixed, COUNT(1) AS items FROM c WHERE NOT IS_NULL(c.mixed) GROUP BY c.mixed");
    }

    @Test
    void severalKeys() {
        List<ObjectNode> want = groups(ITEMS, i -> List.of(i.get("group"), i.path("rating"))).stream()
                .map(group -> pick(group.get(0), "group", "rating").put("items", group.size()))
                .toList();
        answers(want, "SELECT c[\"group\"], c.rating, COUNT(1) AS items FROM c GROUP BY c[\"group\"], c.rating");
    }

    @Test
    void valuesOfEachGroup() {
        List<JsonNode> keys = groups(ITEMS, i -> i.get("group")).stream()
                .map(group -> group.get(0).get("group"))
                .toList();
        answers(keys, "SELECT VALUE c[\"group\"] FROM c GROUP BY c[\"group\"]");
        List<Integer> sizes = groups(ITEMS, i -> i.get("group")).stream().map(List::size).toList();
        answers(sizes, "SELECT VALUE COUNT(1) FROM c GROUP BY c[\"group\"]");
    }

    @Test
    void filteredAndComputed() {
        List<ObjectNode> cheap = items(i -> i.get("price").asDouble() < 10);
        List<ObjectNode> want = groups(cheap, i -> i.get("name").asText().toUpperCase().substring(0, 4)).stream()
                .map(group -> JSON.createObjectNode()
                        .put("kind", group.get(0).get("name").asText().toUpperCase().substring(0, 4))
                        .put("items", group.size()))
                .toList();
        answers(
                want,
                "SELECT UPPER(LEFT(c.name, 4)) AS kind, COUNT(1) AS items FROM c WHERE c.price < 10"
                        + " GROUP BY UPPER(LEFT(c.name, 4))");
    }
}
