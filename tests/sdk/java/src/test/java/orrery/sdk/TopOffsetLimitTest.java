package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.junit.jupiter.api.Test;

class TopOffsetLimitTest extends QueryFixture {
    private static List<JsonNode> sorted(List<ObjectNode> items, int skip, int take) {
        return items.stream().sorted(by("n")).skip(skip).limit(take).map(i -> i.get("n")).toList();
    }

    /** Not TOP 0: this client turns it into pages of 0 rows, which the protocol refuses. */
    @Test
    void topOfAnOrder() {
        for (int top : new int[] {1, 10, 25, 1000}) {
            answersInOrder(
                    sorted(ITEMS, 0, top), "SELECT TOP " + top + " VALUE c.n FROM c ORDER BY c.n", everywhere());
        }
        answersInOrder(sorted(itemsOf("k5"), 0, 4), "SELECT TOP 4 VALUE c.n FROM c ORDER BY c.n", in("k5"));
    }

    @Test
    void windowOfAnOrder() {
        for (int[] window : new int[][] {{0, 5}, {3, 10}, {95, 20}, {290, 50}, {300, 1}, {10, 0}}) {
            answersInOrder(
                    sorted(ITEMS, window[0], window[1]),
                    "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET " + window[0] + " LIMIT " + window[1],
                    everywhere());
        }
        answersInOrder(
                sorted(itemsOf("k5"), 2, 9), "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 2 LIMIT 9", in("k5"));
        answersInOrder(
                sorted(itemsOf("k5"), 2, 9),
                "SELECT VALUE c.n FROM c WHERE c.pk = 'k5' ORDER BY c.n OFFSET 2 LIMIT 9",
                everywhere());
    }

    @Test
    void withoutOrder() {
        for (int size : PAGE_SIZES) {
            for (String query :
                    List.of("SELECT TOP 40 VALUE c.id FROM c", "SELECT VALUE c.id FROM c OFFSET 30 LIMIT 40")) {
                List<JsonNode> rows = rows(query, everywhere(), size);
                assertEquals(40, rows.size(), query);
                assertEquals(40, rows.stream().distinct().count(), query);
            }
        }
    }

    @Test
    void countsFromParameters() {
        SqlQuerySpec top = new SqlQuerySpec(
                "SELECT TOP @top VALUE c.n FROM c ORDER BY c.n", List.of(new SqlParameter("@top", 12)));
        answers(sorted(ITEMS, 0, 12), top, everywhere());
        SqlQuerySpec window = new SqlQuerySpec(
                "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET @skip LIMIT @take",
                List.of(new SqlParameter("@skip", 20), new SqlParameter("@take", 12)));
        answers(sorted(ITEMS, 20, 12), window, everywhere());
    }
}
