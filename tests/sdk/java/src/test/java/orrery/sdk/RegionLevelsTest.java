package orrery.sdk;

import static orrery.sdk.RegionAccount.ASIA;
import static orrery.sdk.RegionAccount.NORTH;
import static orrery.sdk.RegionAccount.WEST;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.ThrottlingRetryOptions;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RegionLevelsTest extends Fixture {
    private static final int VERSIONS = 20;
    private static final long DELAY_MILLIS = 100;

    /** From the weakest to the strongest. */
    private static final List<ConsistencyLevel> LEVELS = List.of(
            ConsistencyLevel.EVENTUAL,
            ConsistencyLevel.CONSISTENT_PREFIX,
            ConsistencyLevel.SESSION,
            ConsistencyLevel.BOUNDED_STALENESS,
            ConsistencyLevel.STRONG);

    private static RegionAccount start(ConsistencyLevel level, String... more) {
        return start(List.of(WEST, NORTH), level, more);
    }

    private static RegionAccount start(List<String> names, ConsistencyLevel level, String... more) {
        List<String> options = new ArrayList<>(List.of("--consistency", level.toString()));
        options.addAll(List.of(more));
        return RegionAccount.start(names, options.toArray(String[]::new));
    }

    @ParameterizedTest
    @EnumSource(ConsistencyLevel.class)
    void weakerRequestsAreServedAndStrongerOnesRefused(ConsistencyLevel level) {
        try (RegionAccount account = start(level)) {
            create(account.container(NORTH), item("1", "a"));
            account.awaitEven();
            double least = charge(account.container(NORTH), ConsistencyLevel.EVENTUAL);
            int factor = LEVELS.indexOf(level) >= LEVELS.indexOf(ConsistencyLevel.BOUNDED_STALENESS) ? 2 : 1;
            assertEquals(least * factor, charge(account.container(NORTH), null), 0.001);
            CosmosContainer container = account.container(NORTH);
            for (ConsistencyLevel asked : LEVELS) {
                if (LEVELS.indexOf(asked) <= LEVELS.indexOf(level)) {
                    assertTrue(charge(container, asked) > 0);
                } else {
                    fails(400, () -> charge(container, asked));
                }
            }
        }
    }

    private static double charge(CosmosContainer container, ConsistencyLevel level) {
        var options = new CosmosItemRequestOptions().setConsistencyLevel(level);
        return container.readItem("1", pk("a"), options, ObjectNode.class).getRequestCharge();
    }

    @Test
    void atStrongEveryRegionHasWhatWasWritten() {
        // Left alone, the others would replace a write region that stands still for some seconds.
        String[] alone = {"--service-managed-failover", "off"};
        try (RegionAccount account = start(List.of(WEST, NORTH, ASIA), ConsistencyLevel.STRONG, alone)) {
            CosmosContainer writer = account.container(WEST);
            List<CosmosContainer> readers = List.of(account.container(NORTH), account.container(ASIA));
            for (int n = 0; n < 20; n++) {
                writer.upsertItem(item("1", "a").put("n", n));
                for (CosmosContainer reader : readers) {
                    assertEquals(n, read(reader, "1", "a").get("n").asInt());
                }
            }
            account.delay(DELAY_MILLIS);
            // A busy machine adds to it as it likes, but not each time.
            RegionAccount.await(() -> {
                long begun = System.nanoTime();
                writer.upsertItem(item("1", "a"));
                long taken = Duration.ofNanos(System.nanoTime() - begun).toMillis();
                assertTrue(taken >= 2 * DELAY_MILLIS, () -> taken + " ms");
                return taken < 4 * DELAY_MILLIS;
            });
        }
    }

    @Test
    void atBoundedStalenessWritesWaitForARegionThatIsTooFarBehind() throws InterruptedException {
        String versions = String.valueOf(VERSIONS);
        try (RegionAccount account = start(ConsistencyLevel.BOUNDED_STALENESS, "--bounded-versions", versions)) {
            CosmosContainer impatient = account.container(
                    List.of(),
                    null,
                    builder -> builder.throttlingRetryOptions(
                            new ThrottlingRetryOptions().setMaxRetryAttemptsOnThrottledRequests(0)));
            CosmosContainer patient = account.container(
                    List.of(),
                    null,
                    builder -> builder.throttlingRetryOptions(new ThrottlingRetryOptions()
                            .setMaxRetryAttemptsOnThrottledRequests(500)
                            .setMaxRetryWaitTime(Duration.ofSeconds(60))));
            int[] statuses = new int[1];
            Thread waiting = new Thread(
                    () -> statuses[0] = patient.createItem(item("late", "a")).getStatusCode());
            account.paused(WEST, NORTH, () -> {
                int taken = 0;
                while (isTaken(impatient, taken)) {
                    taken++;
                }
                assertTrue(taken > 0 && taken <= VERSIONS, "writes: " + taken);
                waiting.start();
            });
            waiting.join();
            assertEquals(201, statuses[0]);
        }
    }

    private static boolean isTaken(CosmosContainer container, int n) {
        try {
            create(container, item(String.valueOf(n), "a"));
            return true;
        } catch (CosmosException e) {
            assertEquals(429, e.getStatusCode(), e::getShortMessage);
            return false;
        }
    }
}
