package orrery.sdk;

import static orrery.sdk.RegionAccount.ASIA;
import static orrery.sdk.RegionAccount.NORTH;
import static orrery.sdk.RegionAccount.WEST;
import static orrery.sdk.RegionAccount.regions;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Single partitions fail over: their items are written in another region, all others where they were. */
class RegionPartitionTest extends Fixture {
    /** Writes items of one partition key and says which regions were asked. */
    private static final class Writer {
        private final CosmosContainer container;
        private final String key;
        private int count;
        private String partition;

        Writer(CosmosContainer container, String key) {
            this.container = container;
            this.key = key;
        }

        Set<String> write() {
            count++;
            var made = container.createItem(item("" + count, key));
            partition = "dbs/db/colls/wide/ranges/" + made.getSessionToken().split(":")[0];
            return regions(made.getDiagnostics().getDiagnosticsContext());
        }

        void read() {
            assertEquals("" + count, container.readItem("" + count, pk(key), ObjectNode.class).getItem().get("id").asText());
        }
    }

    private static CosmosContainer wide(RegionAccount account) {
        account.makeContainer("wide", 18_000);
        return account.client(WEST, NORTH, ASIA).getDatabase("db").getContainer("wide");
    }

    /** A writer of another partition. */
    private static Writer another(CosmosContainer container, Writer first) {
        for (int number = 0; number < 50; number++) {
            Writer other = new Writer(container, first.key + number);
            assertEquals(Set.of(WEST), other.write());
            if (!other.partition.equals(first.partition)) {
                return other;
            }
        }
        throw new AssertionError("all keys are in one partition");
    }

    @Test
    void aPartitionIsMovedOrFailsAndComesBack() {
        try (RegionAccount account = RegionAccount.start(List.of(WEST, NORTH, ASIA), "--per-partition-failover")) {
            CosmosContainer container = wide(account);
            Writer moving = new Writer(container, "a");
            assertEquals(Set.of(WEST), moving.write());
            Writer staying = another(container, moving);

            account.failover(NORTH, moving.partition);
            assertEquals(Set.of(WEST, NORTH), moving.write());
            assertEquals(Set.of(NORTH), moving.write());
            account.awaitNothingMissing();
            moving.read();
            assertEquals(Set.of(WEST), staying.write());
            account.failover(WEST, moving.partition);
            assertTrue(moving.write().contains(WEST));
            assertEquals(Set.of(WEST), moving.write());

            account.takeDown(WEST, moving.partition);
            // Until then a write waits in the next region, but for three seconds only.
            RegionAccount.await(() -> account.report().get("partitions").findValuesAsText("owner").contains(NORTH));
            assertEquals(Set.of(WEST, NORTH), moving.write());
            assertEquals(Set.of(NORTH), moving.write());
            account.awaitNothingMissing();
            moving.read();
            assertEquals(Set.of(WEST), staying.write());
            account.bringUp(WEST, moving.partition);
            RegionAccount.await(() -> account.report().get("partitions").isEmpty());
            assertTrue(moving.write().contains(WEST));
            assertEquals(Set.of(WEST), moving.write());
            account.awaitNothingMissing();
            moving.read();
            assertEquals(moving.count, queryIds(container, "SELECT * FROM c", in("a")).split(" ").length);
        }
    }
}
