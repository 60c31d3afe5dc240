package orrery.sdk;

import static orrery.sdk.RegionAccount.ASIA;
import static orrery.sdk.RegionAccount.NORTH;
import static orrery.sdk.RegionAccount.WEST;
import static orrery.sdk.RegionAccount.regions;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RegionFailoverTest extends Fixture {
    /** The client waits a second before each new attempt; one that lost its way would try for two minutes. */
    private static final long PAUSE_MILLIS_MAX = 30_000;

    private RegionAccount account;

    @BeforeEach
    void start() {
        account = RegionAccount.start(List.of(WEST, NORTH));
    }

    @AfterEach
    void stop() {
        account.close();
    }

    /** Writes items one after the other and reads each again, until it is told to stop. */
    private static final class Traffic extends Thread {
        private final CosmosContainer container;
        private final String pk;
        private final List<String> written = new ArrayList<>();
        private long pauseMillis;
        private volatile int count;
        private volatile boolean isStopping;
        private volatile RuntimeException error;

        Traffic(CosmosContainer container, String pk) {
            this.container = container;
            this.pk = pk;
            start();
        }

        @Override
        public void run() {
            try {
                while (!isStopping) {
                    String id = pk + "-" + written.size();
                    long begun = System.currentTimeMillis();
                    container.createItem(item(id, pk));
                    pauseMillis = Math.max(pauseMillis, System.currentTimeMillis() - begun);
                    written.add(id);
                    count = written.size();
                    read(container, id, pk);
                }
            } catch (RuntimeException e) {
                error = e;
            }
        }

        void goesOn() {
            int enough = count + 20;
            RegionAccount.await(() -> count >= enough || error != null);
        }

        void end() throws InterruptedException {
            isStopping = true;
            join();
            assertNull(error);
            System.out.println(pk + ": " + count + " writes, the longest took " + pauseMillis + " ms");
            assertTrue(pauseMillis < PAUSE_MILLIS_MAX, () -> pauseMillis + " ms");
        }
    }

    @Test
    void nothingIsLostWhenTheWriteRegionChangesAndChangesBack() throws InterruptedException {
        var one = new Traffic(account.container(WEST, NORTH), "one");
        var two = new Traffic(account.container(NORTH, WEST), "two");
        for (String region : List.of(NORTH, WEST)) {
            one.goesOn();
            two.goesOn();
            account.failover(region, false);
            assertEquals(region, account.writeRegion());
        }
        one.goesOn();
        two.goesOn();
        one.end();
        two.end();
        account.awaitEven();
        for (String region : List.of(WEST, NORTH)) {
            CosmosContainer container = account.container(region);
            for (Traffic traffic : List.of(one, two)) {
                String expected = String.join(" ", traffic.written.stream().sorted().toList());
                assertEquals(expected, queryIds(container, "SELECT * FROM c", in(traffic.pk)));
            }
        }
    }

    @Test
    void queriesAndTheChangeFeedGoOnInTheOtherRegion() {
        CosmosContainer west = account.container(WEST);
        for (int n = 0; n < 25; n++) {
            create(west, item("%02d".formatted(n), "a").put("n", n % 5));
        }
        String query = "SELECT * FROM c ORDER BY c.n";
        String whole = queryIds(west, query, in("a"));
        FeedResponse<ObjectNode> first = firstPage(west, query, null);
        var fromBeginning = CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(
                FeedRange.forLogicalPartition(pk("a")));
        List<ObjectNode> changes = new ArrayList<>();
        String continuation = drain(west, fromBeginning, changes);
        assertEquals(25, changes.size());

        account.failover(NORTH, false);
        CosmosContainer north = account.container(NORTH);
        create(north, item("other", "other"));
        List<ObjectNode> found = new ArrayList<>(first.getResults());
        for (String token = first.getContinuationToken(); token != null; ) {
            FeedResponse<ObjectNode> page = firstPage(north, query, token);
            assertEquals(Set.of(NORTH), regions(page.getCosmosDiagnostics().getDiagnosticsContext()));
            found.addAll(page.getResults());
            token = page.getContinuationToken();
        }
        assertEquals(whole, ids(found));

        create(north, item("25", "a"));
        changes.clear();
        drain(north, CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(continuation), changes);
        assertEquals("25", ids(changes));
    }

    private static FeedResponse<ObjectNode> firstPage(CosmosContainer container, String query, String continuation) {
        return container.queryItems(query, in("a"), ObjectNode.class)
                .iterableByPage(continuation, 10)
                .iterator()
                .next();
    }

    private static String drain(
            CosmosContainer container, CosmosChangeFeedRequestOptions options, List<ObjectNode> into) {
        String continuation = null;
        for (var page : container.queryChangeFeed(options, ObjectNode.class).iterableByPage()) {
            into.addAll(page.getResults());
            continuation = page.getContinuationToken();
        }
        return continuation;
    }

    @Test
    void aRegionIsAddedUsedAndLeftWhenItIsRemoved() {
        CosmosContainer container = account.container(WEST);
        create(container, item("1", "a"));
        account.add(ASIA);
        account.awaitMembership(ASIA, true);
        CosmosContainer late = account.container(ASIA, WEST);
        var read = late.readItem("1", pk("a"), ObjectNode.class);
        assertEquals(Set.of(ASIA), regions(read.getDiagnostics().getDiagnosticsContext()));

        account.remove(ASIA);
        RegionAccount.await(() -> account.state(ASIA).get("state").asText().equals("removed"));
        account.awaitMembership(ASIA, false);
        read = late.readItem("1", pk("a"), ObjectNode.class);
        assertTrue(regions(read.getDiagnostics().getDiagnosticsContext()).contains(WEST));
        create(late, item("2", "a"));
    }
}
