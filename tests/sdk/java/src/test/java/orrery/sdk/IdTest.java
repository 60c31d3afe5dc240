package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class IdTest extends Fixture {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "with space", " leading", "a+b", "a%b", "a%20b", "a\"b", "a'b", "a&b=c", "a,b;c:d", "(a)[b]{c}",
                "~!@$^*_-.", "čeština", "日本語", "rocket \uD83D\uDE80", "a|b<c>d"
            })
    void oddIds(String id) {
        CosmosContainer container = newContainer();
        create(container, item(id, "a"));
        assertEquals(id, read(container, id, "a").get("id").asText());
        container.replaceItem(item(id, "a").put("n", 1), id, pk("a"), null);
        assertEquals(204, container.deleteItem(id, pk("a"), null).getStatusCode());
    }

    @Test
    void idsAreCaseSensitive() {
        CosmosContainer container = newContainer();
        create(container, item("a", "a"));
        fails(404, () -> read(container, "A", "a"));
    }

    @Test
    void length() {
        CosmosContainer container = newContainer();
        create(container, item("x".repeat(1023), "a"));
        fails(400, () -> create(container, item("x".repeat(1024), "a")));
    }
}
