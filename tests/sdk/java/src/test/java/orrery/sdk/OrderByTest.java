package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
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

    /** Sort values that are longer than a token may be: the client resumes among equal ones by their resource ids. */
    @Test
    void longTiesComeInOneOrderWhateverThePages() {
        CosmosContainer container = newContainer(properties("c"), ThroughputTest.manual(18000));
        String begin = "x".repeat(3000);
        for (int n = 0; n < 40; n++) {
            String end = n % 10 == 0 ? "a" + n : n % 10 == 9 ? "c" + n : "b";
            create(container, item(String.valueOf(n), "k" + n % 7).put("l", begin + end));
        }
        for (String direction : List.of("ASC", "DESC")) {
            String query = "SELECT c.id, c.l FROM c ORDER BY c.l " + direction;
            List<String> want = longTies(container, query, 100, false);
            assertEquals(40, want.stream().distinct().count());
            for (int size : new int[] {1, 3, 7}) {
                assertEquals(want, longTies(container, query, size, false), direction + " in pages of " + size);
                assertEquals(want, longTies(container, query, size, true), direction + " resumed in pages of " + size);
            }
        }
    }

    /** The ids of the rows; if asked, every page is that of a new query, which begins at a continuation. */
    private static List<String> longTies(CosmosContainer container, String query, int size, boolean resumes) {
        CosmosQueryRequestOptions options = everywhere().setResponseContinuationTokenLimitInKb(1);
        List<String> ids = new ArrayList<>();
        String last = null;
        String continuation = null;
        do {
            for (FeedResponse<ObjectNode> page :
                    container.queryItems(query, options, ObjectNode.class).iterableByPage(continuation, size)) {
                for (ObjectNode row : page.getResults()) {
                    String value = row.get("l").asText();
                    int order = last == null ? 0 : value.compareTo(last);
                    assertTrue(query.endsWith("DESC") ? order <= 0 : order >= 0, "the order of " + ids);
                    last = value;
                    ids.add(row.get("id").asText());
                    assertTrue(ids.size() <= 40, "rows repeat: " + ids);
                }
                continuation = page.getContinuationToken();
                if (resumes) {
                    break;
                }
            }
        } while (resumes && continuation != null);
        return ids;
    }
}
