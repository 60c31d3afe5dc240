package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;

class OrderByTest extends QueryFixture {
    @Test
    void uniqueNumbers() {
        List<ObjectNode> sorted = ITEMS.stream().sorted(by("n")).map(i -> pick(i, "id", "n")).toList();
        answersInOrder(sorted, "SELECT c.id, c.n FROM c ORDER BY c.n", everywhere());
        List<ObjectNode> reversed = sorted.stream().sorted(by("n").reversed()).toList();
        answersInOrder(reversed, "SELECT c.id, c.n FROM c ORDER BY c.n DESC", everywhere());
    }

    @Test
    void everyPrimitiveType() {
        mixed("ASC", by("mixed"), ITEMS, everywhere());
        mixed("DESC", by("mixed").reversed(), ITEMS, everywhere());
    }

    @Test
    void onePartition() {
        for (String pk : List.of("k0", "k3", "k4", "k6", "k18")) {
            mixed("ASC", by("mixed"), itemsOf(pk), in(pk));
            mixed("DESC", by("mixed").reversed(), itemsOf(pk), in(pk));
        }
    }

    /** Ties may come in any order, but in the same one whatever the page size. */
    private static void mixed(
            String direction, Comparator<ObjectNode> order, List<ObjectNode> items, CosmosQueryRequestOptions options) {
        String query = "SELECT c.id, c.mixed FROM c ORDER BY c.mixed " + direction;
        List<JsonNode> first = rows(query, options, 1);
        assertEquals(
                canonical(items.stream().sorted(order).map(i -> pick(i, "mixed")).toList()),
                canonical(first.stream().map(row -> pick((ObjectNode) row, "mixed")).toList()),
                query);
        assertEquals(items.size(), first.stream().map(row -> row.get("id")).distinct().count());
        answersInOrder(first, query, options);
    }

    @Test
    void filtered() {
        List<ObjectNode> want = items(i -> i.get("price").asDouble() > 20).stream().sorted(by("n")).toList();
        answersInOrder(
                want.stream().map(i -> i.get("id")).toList(),
                "SELECT VALUE c.id FROM c WHERE c.price > 20 ORDER BY c.n",
                everywhere());
    }

    @Test
    void wholeItemsAndPropertiesThatAreNotProjected() {
        List<ObjectNode> sorted = ITEMS.stream().sorted(by("n")).toList();
        List<String> got = rows("SELECT * FROM c ORDER BY c.n", everywhere(), 100).stream()
                .map(row -> canonical(userProperties((ObjectNode) row)))
                .toList();
        assertEquals(sorted.stream().map(i -> canonical(userProperties(i))).toList(), got);
        answersInOrder(
                sorted.stream().map(i -> pick(i, "name")).toList(),
                "SELECT c.name FROM c ORDER BY c[\"n\"] ASC",
                everywhere());
    }

    @Test
    void rowsOfAJoin() {
        List<ObjectNode> want = ITEMS.stream()
                .sorted(by("n"))
                .flatMap(i -> elements(i, "parts").map(p -> pick(i, "n").set("part", p.get("name"))))
                .map(row -> (ObjectNode) row)
                .toList();
        answersInOrder(want, "SELECT c.n, p.name AS part FROM c JOIN p IN c.parts ORDER BY c.n", everywhere());
    }
}
