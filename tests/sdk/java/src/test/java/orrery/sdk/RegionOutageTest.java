package orrery.sdk;

import static orrery.sdk.RegionAccount.ASIA;
import static orrery.sdk.RegionAccount.NORTH;
import static orrery.sdk.RegionAccount.WEST;
import static orrery.sdk.RegionAccount.regions;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

/** The write region is lost without warning and comes back. */
class RegionOutageTest extends Fixture {
    private static CosmosContainer fresh(RegionAccount account) {
        return account.container(List.of(NORTH), NORTH, UnaryOperator.identity());
    }

    private static boolean isTaken(CosmosContainer container, ObjectNode item) {
        try {
            container.upsertItem(item);
            return true;
        } catch (CosmosException e) {
            assertEquals(503, e.getStatusCode(), e::getShortMessage);
            return false;
        }
    }

    @Test
    void readsGoOnAndAnOperatorLetsWritesGoOn() {
        try (RegionAccount account = RegionAccount.start(List.of(WEST, NORTH))) {
            CosmosContainer container = account.container(WEST, NORTH);
            create(container, item("1", "a"));
            account.awaitEven();
            account.takeDown(WEST);
            var read = container.readItem("1", pk("a"), ObjectNode.class);
            assertEquals(Set.of(WEST, NORTH), regions(read.getDiagnostics().getDiagnosticsContext()));
            fails(503, () -> create(container, item("2", "a")));

            account.failover(NORTH, true);
            create(fresh(account), item("2", "a"));
            account.bringUp(WEST);
            RegionAccount.await(() -> account.state(WEST).get("state").asText().equals("read"));
            account.awaitEven();
            // The client that was there all the time hears where to write from the region that is back.
            create(container, item("3", "a"));
            assertEquals("1 2 3", queryIds(container, "SELECT * FROM c", in("a")));
        }
    }

    @Test
    void threeRegionsChooseAnotherWriteRegionByThemselves() {
        try (RegionAccount account = RegionAccount.start(List.of(WEST, NORTH, ASIA))) {
            CosmosContainer container = account.container(NORTH);
            create(container, item("1", "a"));
            account.awaitEven();
            account.takeDown(WEST);
            RegionAccount.await(() -> !account.writeRegion().equals(WEST));
            // The region that was asked hears of the choice by itself, and until then names the one that is down.
            AtomicReference<CosmosContainer> late = new AtomicReference<>();
            RegionAccount.await(() -> {
                late.set(fresh(account));
                return isTaken(late.get(), item("2", "a"));
            });
            assertEquals("1 2", queryIds(late.get(), "SELECT * FROM c", in("a")));
            account.bringUp(WEST);
            RegionAccount.await(() -> account.state(WEST).get("state").asText().equals("read"));
            account.awaitEven();
            assertEquals("1 2", queryIds(account.container(WEST), "SELECT * FROM c", in("a")));
        }
    }
}
