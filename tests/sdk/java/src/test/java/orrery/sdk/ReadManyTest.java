package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ReadManyTest extends Fixture {
    @Test
    void someItems() {
        CosmosContainer container = newContainer();
        fill(container, 3, 3);
        assertEquals("1-1", readMany(container, "1-1"));
        assertEquals("1-0 1-2", readMany(container, "1-0", "1-2"));
        assertEquals("0-0 1-1 2-2", readMany(container, "0-0", "1-1", "2-2"));
        assertEquals("0-0", readMany(container, "0-0", "0-9"));
        assertEquals("", readMany(container, "0-9"));
    }

    @Test
    void keyedById() {
        CosmosContainer container = newContainer(new CosmosContainerProperties("c", key("/id")));
        List<CosmosItemIdentity> wanted = Stream.of("0", "1", "2")
                .peek(id -> create(container, JSON.createObjectNode().put("id", id)))
                .map(id -> new CosmosItemIdentity(pk(id), id))
                .toList();
        FeedResponse<ObjectNode> response = container.readMany(wanted, ObjectNode.class);
        assertEquals("0 1 2", ids(response.getResults()));
        assertTrue(response.getRequestCharge() > 0);
    }

    @Test
    void overThreePhysicalPartitions() {
        CosmosContainer container = newContainer(properties("c"), ThroughputTest.manual(18000));
        fill(container, 12, 1);
        String[] all = IntStream.range(0, 12).mapToObj(n -> n + "-0").toArray(String[]::new);
        assertEquals("0-0 1-0 10-0 11-0 2-0 3-0 4-0 5-0 6-0 7-0 8-0 9-0", readMany(container, all));
    }

    /** Items made by fill, whose partition is in their id. */
    private static String readMany(CosmosContainer container, String... ids) {
        List<CosmosItemIdentity> wanted = Stream.of(ids)
                .map(id -> new CosmosItemIdentity(pk("p" + id.split("-")[0]), id))
                .toList();
        return ids(container.readMany(wanted, ObjectNode.class).getResults());
    }
}
