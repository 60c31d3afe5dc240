package orrery.sdk;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class DistinctTest extends QueryFixture {
    private static Collection<JsonNode> distinct(Stream<? extends JsonNode> values) {
        Map<String, JsonNode> kept = new LinkedHashMap<>();
        values.filter(value -> !value.isMissingNode()).forEach(value -> kept.putIfAbsent(canonical(value), value));
        return kept.values();
    }

    @Test
    void values() {
        for (String property : List.of("group", "rating", "mixed", "price")) {
            String query = "SELECT DISTINCT VALUE c[\"" + property + "\"] FROM c";
            answers(distinct(ITEMS.stream().map(i -> i.path(property))), query);
            answersIn("k11", distinct(itemsOf("k11").stream().map(i -> i.path(property))), query);
        }
    }

    @Test
    void objects() {
        answers(
                distinct(ITEMS.stream().map(i -> pick(i, "group", "rating"))),
                "SELECT DISTINCT c[\"group\"], c.rating FROM c");
        for (String property : List.of("mixed", "tags", "parts")) {
            answers(
                    distinct(ITEMS.stream().map(i -> pick(i, property))), "SELECT DISTINCT c." + property + " FROM c");
        }
        answers(
                distinct(ITEMS.stream().flatMap(i -> elements(i, "parts"))),
                "SELECT DISTINCT VALUE p FROM c JOIN p IN c.parts");
    }

    @Test
    void ordered() {
        List<JsonNode> prices =
                distinct(ITEMS.stream().map(i -> i.get("price"))).stream().sorted(TOTAL_ORDER).toList();
        answersInOrder(prices, "SELECT DISTINCT VALUE c.price FROM c ORDER BY c.price", everywhere());
        List<ObjectNode> mixed = distinct(ITEMS.stream().map(i -> pick(i, "mixed"))).stream()
                .map(row -> (ObjectNode) row)
                .sorted(by("mixed").reversed())
                .toList();
        answersInOrder(mixed, "SELECT DISTINCT c.mixed FROM c ORDER BY c.mixed DESC", everywhere());
    }

    /** Not with TOP: this client asks each partition for that many rows, before it drops equal ones. */
    @Test
    void limited() {
        List<JsonNode> prices =
                distinct(ITEMS.stream().map(i -> i.get("price"))).stream().sorted(TOTAL_ORDER).toList();
        answersInOrder(
                prices.subList(5, 25),
                "SELECT DISTINCT VALUE c.price FROM c ORDER BY c.price OFFSET 5 LIMIT 20",
                everywhere());
    }

    /** The client counts the different rows of all partitions itself. */
    @Test
    void countsOfDistinctRows() {
        int prices = distinct(ITEMS.stream().map(i -> i.get("price"))).size();
        answers(
                List.of(prices),
                "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.price FROM c)");
    }
}
