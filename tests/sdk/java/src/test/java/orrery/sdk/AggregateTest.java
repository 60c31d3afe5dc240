package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import org.junit.jupiter.api.Test;

class AggregateTest extends QueryFixture {
    private static DoubleSummaryStatistics numbers(List<ObjectNode> items, String property) {
        return items.stream()
                .filter(i -> i.has(property))
                .mapToDouble(i -> i.get(property).asDouble())
                .summaryStatistics();
    }

    @Test
    void values() {
        for (String pk : new String[] {null, "k7"}) {
            List<ObjectNode> items = pk == null ? ITEMS : itemsOf(pk);
            DoubleSummaryStatistics price = numbers(items, "price");
            DoubleSummaryStatistics rating = numbers(items, "rating");
            one(pk, items.size(), "COUNT(1)");
            one(pk, rating.getCount(), "COUNT(c.rating)");
            one(pk, price.getSum(), "SUM(c.price)");
            one(pk, rating.getSum(), "SUM(c.rating)");
            one(pk, price.getAverage(), "AVG(c.price)");
            one(pk, rating.getAverage(), "AVG(c.rating)");
            one(pk, price.getMin(), "MIN(c.price)");
            one(pk, price.getMax(), "MAX(c.price)");
        }
    }

    private static void one(String pk, Object want, String aggregate) {
        String query = "SELECT VALUE " + aggregate + " FROM c";
        if (pk == null) {
            answers(List.of(want), query);
        } else {
            answersIn(pk, List.of(want), query);
            answers(List.of(want), query + " WHERE c.pk = '" + pk + "'");
        }
    }

    @Test
    void extremesOfMixedTypes() {
        JsonNode greatest = ITEMS.stream().max(by("mixed")).orElseThrow().get("mixed");
        answers(List.of(JSON.nullNode()), "SELECT VALUE MIN(c.mixed) FROM c");
        answers(List.of(greatest), "SELECT VALUE MAX(c.mixed) FROM c");
        answers(List.of(ITEMS.size() * 9 / 10), "SELECT VALUE COUNT(c.mixed) FROM c");
    }

    @Test
    void lists() {
        DoubleSummaryStatistics price = numbers(ITEMS, "price");
        answers(
                List.of(JSON.createObjectNode()
                        .put("items", ITEMS.size())
                        .put("total", price.getSum())
                        .put("mean", price.getAverage())
                        .put("least", price.getMin())
                        .put("most", price.getMax())),
                "SELECT COUNT(1) AS items, SUM(c.price) AS total, AVG(c.price) AS mean, MIN(c.price) AS least,"
                        + " MAX(c.price) AS most FROM c");
        answers(List.of(JSON.createObjectNode().put("$1", ITEMS.size())), "SELECT COUNT(1) FROM c");
    }

    @Test
    void nothing() {
        answers(List.of(0), "SELECT VALUE COUNT(1) FROM c WHERE c.n < 0");
        answers(List.of(0), "SELECT VALUE SUM(c.n) FROM c WHERE c.n < 0");
        answersIn("k7", List.of(0), "SELECT VALUE COUNT(1) FROM c WHERE c.n < 0");
    }

    @Test
    void elementsOfArrays() {
        List<JsonNode> parts = ITEMS.stream().flatMap(i -> elements(i, "parts")).toList();
        answers(List.of(parts.size()), "SELECT VALUE COUNT(1) FROM p IN c.parts");
        answers(
                List.of(parts.stream().mapToInt(p -> p.get("count").asInt()).sum()),
                "SELECT VALUE SUM(p.count) FROM c JOIN p IN c.parts");
    }

    /** A subquery that reads no item has its one row once, however many partitions there are. */
    @Test
    void subqueryWithoutFrom() {
        List<CosmosContainer> containers =
                List.of(CATALOGUE, newContainer(properties("c"), ThroughputTest.manual(18000)));
        for (CosmosContainer container : containers) {
            for (String query : new String[] {
                "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE 1)",
                "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT 1 AS a) AS s"
            }) {
                List<Integer> rows = container.queryItems(query, everywhere(), Integer.class).stream()
                        .toList();
                assertEquals(List.of(1), rows, query);
            }
        }
    }
}
