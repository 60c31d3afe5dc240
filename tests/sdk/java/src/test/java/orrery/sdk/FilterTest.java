package orrery.sdk;

import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Locale;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

class FilterTest extends QueryFixture {
    private static final List<SqlParameter> PARAMETERS = List.of(
            new SqlParameter("@name", "Lamp 12"),
            new SqlParameter("@least", 7.5),
            new SqlParameter("@tags", List.of("red", "blue")),
            new SqlParameter("@part", new Part("part1", 3)),
            new SqlParameter("@null", null),
            new SqlParameter("@yes", true));

    private record Part(String name, int count) {
        // The client serializes bean properties.
        public String getName() {
            return name;
        }

        public int getCount() {
            return count;
        }
    }

    private static void keeps(String filter, Predicate<ObjectNode> want) {
        SqlQuerySpec query = new SqlQuerySpec("SELECT VALUE c.id FROM c WHERE " + filter, PARAMETERS);
        answers(items(want).stream().map(i -> i.get("id")).toList(), query, everywhere());
        answers(itemsOf("k8").stream().filter(want).map(i -> i.get("id")).toList(), query, in("k8"));
    }

    private static String name(ObjectNode item) {
        return item.get("name").asText();
    }

    private static boolean tagged(ObjectNode item, String tag) {
        return elements(item, "tags").anyMatch(t -> t.asText().equals(tag));
    }

    @Test
    void like() {
        keeps("c.name LIKE 'Lamp 1%'", i -> name(i).startsWith("Lamp 1"));
        keeps("c.name LIKE '%4'", i -> name(i).endsWith("4"));
        keeps("c.name LIKE '%a%r 3%'", i -> name(i).matches(".*a.*r 3.*"));
        keeps("c.name LIKE '_amp 1_'", i -> name(i).matches(".amp 1."));
        keeps("c.name LIKE '%[0-2]'", i -> name(i).matches(".*[0-2]"));
        keeps("c.name NOT LIKE 'Lamp%'", i -> !name(i).startsWith("Lamp"));
        keeps("c.name LIKE '%!%%' ESCAPE '!'", i -> name(i).contains("%"));
    }

    @Test
    void strings() {
        keeps("CONTAINS(c.name, 'p 2')", i -> name(i).contains("p 2"));
        keeps("CONTAINS(c.name, 'LAMP', true)", i -> name(i).toLowerCase(Locale.ROOT).contains("lamp"));
        keeps("STARTSWITH(c.name, 'chair 4')", i -> name(i).startsWith("chair 4"));
        keeps("STARTSWITH(c.name, 'CHAIR', true)", i -> name(i).startsWith("chair"));
        keeps("ENDSWITH(c.name, '7')", i -> name(i).endsWith("7"));
        keeps("LENGTH(c.name) = 6", i -> name(i).length() == 6);
        keeps("REGEXMATCH(c.name, '^[LM].*5')", i -> name(i).matches("[LM].*5.*"));
        keeps("STARTSWITH(c.mixed, 's')", i -> i.path("mixed").isTextual() && i.get("mixed").asText().startsWith("s"));
    }

    @Test
    void arrays() {
        keeps("ARRAY_CONTAINS(c.tags, 'blue')", i -> tagged(i, "blue"));
        keeps("NOT ARRAY_CONTAINS(c.tags, 'blue')", i -> !tagged(i, "blue"));
        keeps(
                "ARRAY_CONTAINS(c.parts, {count: 3}, true)",
                i -> elements(i, "parts").anyMatch(p -> p.get("count").asInt() == 3));
        keeps("ARRAY_CONTAINS(c.parts, {count: 3})", i -> false);
        keeps("ARRAY_LENGTH(c.parts) > 1", i -> i.get("parts").size() > 1);
        keeps("c.tags = ['red', 'blue']", i -> i.get("tags").toString().equals("[\"red\",\"blue\"]"));
    }

    @Test
    void types() {
        keeps("IS_DEFINED(c.mixed)", i -> i.has("mixed"));
        keeps("NOT IS_DEFINED(c.mixed)", i -> !i.has("mixed"));
        keeps("IS_NULL(c.mixed)", i -> i.path("mixed").isNull());
        keeps("IS_BOOL(c.mixed)", i -> i.path("mixed").isBoolean());
        keeps("IS_NUMBER(c.mixed)", i -> i.path("mixed").isNumber());
        keeps("IS_STRING(c.mixed)", i -> i.path("mixed").isTextual());
        keeps("c.mixed > 50", i -> i.path("mixed").isNumber() && i.get("mixed").asDouble() > 50);
        keeps("c.mixed != null", i -> i.has("mixed") && !i.get("mixed").isNull());
        keeps("(c.mixed ?? 'none') = 'none'", i -> !i.has("mixed"));
    }

    @Test
    void ranges() {
        Predicate<ObjectNode> between = i -> i.get("price").asDouble() >= 5 && i.get("price").asDouble() <= 7.5;
        keeps("c.price BETWEEN 5 AND @least", between);
        keeps("c.price NOT BETWEEN 5 AND @least", between.negate());
        keeps(
                "c.n % 10 = 3 AND c.price * 2 > @least",
                i -> i.get("n").asInt() % 10 == 3 && i.get("price").asDouble() * 2 > 7.5);
        keeps(
                "c.rating NOT IN (1, 2)",
                i -> i.has("rating") && !List.of(1, 2).contains(i.get("rating").asInt()));
    }

    @Test
    void parameters() {
        keeps("c.name = @name", i -> name(i).equals("Lamp 12"));
        keeps("c.price >= @least", i -> i.get("price").asDouble() >= 7.5);
        keeps("c.tags = @tags", i -> i.get("tags").toString().equals("[\"red\",\"blue\"]"));
        keeps(
                "ARRAY_CONTAINS(c.parts, @part)",
                i -> elements(i, "parts").anyMatch(p -> p.equals(part())));
        keeps("c.mixed = @null", i -> i.path("mixed").isNull());
        keeps("c.mixed = @yes", i -> i.path("mixed").asText().equals("true"));
    }

    @Test
    void aParameterThatIsNotSentIsUndefined() {
        keeps("c.name = @unsent", i -> false);
        keeps("NOT IS_DEFINED(@unsent)", i -> true);
        keeps("c.name = 'Lamp 12' OR c.price > @unsent", i -> name(i).equals("Lamp 12"));
    }

    private static JsonNode part() {
        return JSON.createObjectNode().put("name", "part1").put("count", 3);
    }
}
