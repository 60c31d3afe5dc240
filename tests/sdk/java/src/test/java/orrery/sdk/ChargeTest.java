package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;

class ChargeTest extends Fixture {
    @Test
    void pointReadOfOneKilobyteCostsOneUnit() {
        CosmosContainer container = newContainer();
        create(container, item("1", "a").put("s", "x".repeat(700)));
        assertEquals(1.0, container.readItem("1", pk("a"), ObjectNode.class).getRequestCharge());
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
