package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A container deleted, and created again, under a client that still remembers the old one. */
@Timeout(180)
class RecreateTest extends Fixture {
    @Test
    void readersAndWritersRecover() {
        CosmosDatabase database = newDatabase();
        CosmosContainer container = createIn(database, properties("c"), ThroughputTest.manual(18000));
        fill(container, 6, 1);
        assertEquals(6, Changes.read(container, Changes.beginning()).all().size());
        recreate(database, 400);
        fails(404, () -> read(container, "1-0", "p1"));
        create(container, item("new", "p1"));
        assertEquals("new", read(container, "new", "p1").get("id").asText());
        assertEquals("new", queryIds(container, "SELECT * FROM c", everywhere()));
        assertEquals("new", queryIds(container, "SELECT * FROM c ORDER BY c.id", everywhere()));
        List<CosmosItemIdentity> wanted =
                List.of(new CosmosItemIdentity(pk("p1"), "new"), new CosmosItemIdentity(pk("p2"), "2-0"));
        assertEquals("new", ids(container.readMany(wanted, ObjectNode.class).getResults()));
        assertEquals("new", Changes.read(container, Changes.beginning()).ids());
        assertEquals(1, container.getFeedRanges().size());
    }

    @Test
    void aDeleteUnderLoadIs404ForEverybody() throws InterruptedException {
        CosmosDatabase database = newDatabase();
        CosmosContainer container = createIn(database, properties("c"), ThroughputTest.manual(12000));
        ExecutorService threads = Executors.newFixedThreadPool(4);
        List<Future<?>> workers = IntStream.range(0, 4)
                .<Future<?>>mapToObj(worker -> threads.submit(() -> load(container, worker)))
                .toList();
        Thread.sleep(500);
        try (CosmosClient other = clientBuilder().buildClient()) {
            other.getDatabase(database.getId()).getContainer("c").delete();
        }
        for (Future<?> worker : workers) {
            Throwable cause = assertThrows(ExecutionException.class, worker::get).getCause();
            assertEquals(404, ((CosmosException) cause).getStatusCode());
        }
        threads.shutdown();
    }

    private static void load(CosmosContainer container, int worker) {
        for (int n = 0; ; n++) {
            container.upsertItem(item(worker + "-" + n, "p" + n % 7));
            if (n % 5 == 0) {
                queryIds(container, "SELECT TOP 3 * FROM c", in("p1"));
            }
        }
    }

    private static void recreate(CosmosDatabase database, int throughput) {
        try (CosmosClient other = clientBuilder().buildClient()) {
            CosmosDatabase same = other.getDatabase(database.getId());
            same.getContainer("c").delete();
            createIn(same, properties("c"), ThroughputTest.manual(throughput));
        }
    }
}
