package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;

class ChargeTest extends Fixture {
    @Test
    void pointReadOfOneKilobyteCostsOneUnit() {
        CosmosContainer container = newContainer();
        create(container, item("1", "a").put("s", "x".repeat(700)));
        assertEquals(1.0, container.readItem("1", pk("a"), ObjectNode.class).getRequestCharge());
    }

    /** What is read is charged by its bytes, and every page costs at least one unit. */
    @Test
    void pages() {
        CosmosContainer container = newContainer();
        fill(container, 1, 60);
        for (FeedResponse<ObjectNode> page :
                container.queryItems("SELECT * FROM c WHERE c.n < 0", in("p0"), ObjectNode.class).iterableByPage()) {
            assertTrue(page.getRequestCharge() >= 1);
        }
        double feed = charge(container.readAllItems(pk("p0"), ObjectNode.class).iterableByPage(60));
        assertTrue(feed >= 1 && feed < 30, () -> "60 small items cost " + feed);
        CosmosChangeFeedRequestOptions start =
                CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(FeedRange.forLogicalPartition(pk("p0")));
        double changes = charge(container.queryChangeFeed(start.setMaxItemCount(60), ObjectNode.class).iterableByPage());
        assertTrue(changes >= 1 && changes < 30, () -> "60 small changes cost " + changes);
        // Larger than a kilobyte each.
        CosmosContainer large = newContainer();
        for (int i = 0; i < 3; i++) {
            create(large, item("" + i, "a").put("s", "x".repeat(10 << 10)));
        }
        double bytes = charge(large.readAllItems(pk("a"), ObjectNode.class).iterableByPage(60));
        assertTrue(bytes > 3, () -> "30 KB cost " + bytes);
    }

    private static double charge(Iterable<FeedResponse<ObjectNode>> pages) {
        double sum = 0;
        for (FeedResponse<ObjectNode> page : pages) {
            sum += page.getRequestCharge();
        }
        return sum;
    }

    @Test
    void everyAnswerHasACharge() {
        CosmosDatabase database = newDatabase();
        CosmosContainer container = createIn(database, properties("c"), null);
        assertTrue(database.read().getRequestCharge() > 0);
        assertTrue(container.read().getRequestCharge() > 0);
        assertTrue(container.readThroughput().getRequestCharge() > 0);
        assertTrue(container.createItem(item("1", "a")).getRequestCharge() > 0);
        assertTrue(container.deleteItem("1", pk("a"), null).getRequestCharge() > 0);
        CosmosException failure = fails(404, () -> read(container, "1", "a"));
        assertTrue(failure.getRequestCharge() > 0);
        assertFalse(failure.getActivityId().isEmpty());
    }
}
