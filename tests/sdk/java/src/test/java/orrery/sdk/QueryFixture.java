package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * One catalogue of items over three physical partitions, shared by the query tests because none of
 * them writes. The client plans every query and merges the partitions itself, so each test computes
 * the rows it wants from ITEMS and compares them for every page size.
 */
abstract class QueryFixture extends Fixture {
    static final int[] PAGE_SIZES = {1, 7, 100};
    static final int KEYS = 20;
    static final List<ObjectNode> ITEMS =
            IntStream.range(0, 300).mapToObj(QueryFixture::catalogueItem).toList();
    static final String DATABASE = uniqueId("catalogue");
    static final CosmosContainer CATALOGUE = catalogue();

    private static CosmosContainer catalogue() {
        CLIENT.createDatabase(DATABASE);
        CosmosContainer container =
                createIn(CLIENT.getDatabase(DATABASE), properties("c"), ThroughputTest.manual(18000));
        ITEMS.forEach(container::createItem);
        return container;
    }

    private static ObjectNode catalogueItem(int i) {
        ObjectNode item = item(String.format("%03d", i), "k" + i % KEYS)
                .put("n", i * 7 % 300)
                .put("group", "g" + i % 7)
                .put("price", i * 37 % 101 / 4.0)
                .put("name", (i % 2 == 0 ? "Lamp " : "chair ") + i % 50);
        if (i % 3 != 0) {
            item.put("rating", i % 5);
        }
        mix(item, i);
        ArrayNode tags = item.putArray("tags");
        for (String tag : List.of("red", "green", "blue")) {
            if (i % (tag.length()) == 0) {
                tags.add(tag);
            }
        }
        ArrayNode parts = item.putArray("parts");
        for (int p = 0; p < i % 4; p++) {
            parts.addObject().put("name", "part" + p).put("count", (i + p) % 6);
        }
        return item;
    }

    /** A property that is missing or of any primitive type, each with and without equals. */
    private static void mix(ObjectNode item, int i) {
        switch (i % 10) {
            case 0 -> {}
            case 1 -> item.putNull("mixed");
            case 2 -> item.put("mixed", false);
            case 3 -> item.put("mixed", true);
            case 4 -> item.put("mixed", i);
            case 5 -> item.put("mixed", -i - 0.5);
            case 6 -> item.put("mixed", i % 3);
            case 7 -> item.put("mixed", "");
            case 8 -> item.put("mixed", "s" + i);
            default -> item.put("mixed", "S" + i % 20);
        }
    }

    static List<ObjectNode> items(Predicate<ObjectNode> filter) {
        return ITEMS.stream().filter(filter).toList();
    }

    static List<ObjectNode> itemsOf(String pk) {
        return items(item -> item.get("pk").asText().equals(pk));
    }

    /** An item with only these of its properties. */
    static ObjectNode pick(ObjectNode item, String... names) {
        return item.deepCopy().retain(names);
    }

    static Stream<JsonNode> elements(JsonNode item, String property) {
        return StreamSupport.stream(item.get(property).spliterator(), false);
    }

    /** Undefined, null, booleans, numbers, strings. */
    static final Comparator<JsonNode> TOTAL_ORDER = Comparator.<JsonNode>comparingInt(QueryFixture::typeRank)
            .thenComparing((a, b) -> switch (typeRank(a)) {
                case 2 -> Boolean.compare(a.booleanValue(), b.booleanValue());
                case 3 -> Double.compare(a.doubleValue(), b.doubleValue());
                case 4 -> a.textValue().compareTo(b.textValue());
                default -> 0;
            });

    private static int typeRank(JsonNode value) {
        if (value == null || value.isMissingNode()) {
            return 0;
        }
        return value.isNull() ? 1 : value.isBoolean() ? 2 : value.isNumber() ? 3 : 4;
    }

    static Comparator<ObjectNode> by(String property) {
        return Comparator.comparing(item -> item.path(property), TOTAL_ORDER);
    }

    static List<JsonNode> rows(SqlQuerySpec query, CosmosQueryRequestOptions options, int pageSize) {
        List<JsonNode> rows = new ArrayList<>();
        for (FeedResponse<JsonNode> page :
                CATALOGUE.queryItems(query, options, JsonNode.class).iterableByPage(pageSize)) {
            rows.addAll(page.getResults());
        }
        return rows;
    }

    static List<JsonNode> rows(String query, CosmosQueryRequestOptions options, int pageSize) {
        return rows(new SqlQuerySpec(query), options, pageSize);
    }

    /** Checks rows whose order the query does not fix, over the whole container. */
    static void answers(Collection<?> want, String query) {
        answers(want, new SqlQuerySpec(query), everywhere());
    }

    static void answers(Collection<?> want, SqlQuerySpec query, CosmosQueryRequestOptions options) {
        for (int size : PAGE_SIZES) {
            assertEquals(
                    canonical(want).stream().sorted().toList(),
                    canonical(rows(query, options, size)).stream().sorted().toList(),
                    query.getQueryText() + " in pages of " + size);
        }
    }

    static void answersIn(String pk, Collection<?> want, String query) {
        answers(want, new SqlQuerySpec(query), in(pk));
    }

    /** Checks rows in their order. */
    static void answersInOrder(Collection<?> want, String query, CosmosQueryRequestOptions options) {
        for (int size : PAGE_SIZES) {
            assertEquals(
                    canonical(want), canonical(rows(query, options, size)), query + " in pages of " + size);
        }
    }

    static List<String> canonical(Collection<?> rows) {
        return rows.stream().map(row -> canonical(JSON.<JsonNode>valueToTree(row))).toList();
    }

    /** A text that is equal for equal values: property order and the notation of numbers do not matter. */
    static String canonical(JsonNode value) {
        if (value.isNumber()) {
            return Double.toString(value.doubleValue());
        }
        if (value.isArray()) {
            return StreamSupport.stream(value.spliterator(), false)
                    .map(QueryFixture::canonical)
                    .toList()
                    .toString();
        }
        if (value.isObject()) {
            Map<String, String> sorted = new TreeMap<>();
            value.properties().forEach(property -> sorted.put(property.getKey(), canonical(property.getValue())));
            return sorted.toString();
        }
        return value.toString();
    }
}
