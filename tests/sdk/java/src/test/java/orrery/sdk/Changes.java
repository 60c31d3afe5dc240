package orrery.sdk;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/** Short words for the change feed, and for containers that split. */
final class Changes {
    private static final int WAIT_MILLIS_MAX = 60_000;

    /** Pages up to where there is nothing new, and the continuation behind them. */
    record Feed(List<List<ObjectNode>> pages, String continuation) {
        List<ObjectNode> all() {
            return pages.stream().flatMap(List::stream).toList();
        }

        String ids() {
            return Fixture.ids(all());
        }

        List<Integer> numbers() {
            return all().stream().map(item -> item.get("n").asInt()).toList();
        }
    }

    private Changes() {}

    static Feed read(CosmosContainer container, CosmosChangeFeedRequestOptions options) {
        List<List<ObjectNode>> pages = new ArrayList<>();
        String continuation = null;
        for (FeedResponse<ObjectNode> page :
                container.queryChangeFeed(options, ObjectNode.class).iterableByPage()) {
            if (!page.getResults().isEmpty()) {
                pages.add(page.getResults());
            }
            continuation = page.getContinuationToken();
        }
        return new Feed(pages, continuation);
    }

    static CosmosChangeFeedRequestOptions beginning() {
        return beginning(FeedRange.forFullRange());
    }

    static CosmosChangeFeedRequestOptions beginning(FeedRange range) {
        return CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(range);
    }

    static CosmosChangeFeedRequestOptions now() {
        return CosmosChangeFeedRequestOptions.createForProcessingFromNow(FeedRange.forFullRange());
    }

    static CosmosChangeFeedRequestOptions from(String continuation) {
        return CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(continuation);
    }

    /**
     * Raises the throughput and waits for the split with a client of its own: the client under test is
     * not told that its ranges are gone.
     */
    static void split(CosmosContainer container, String database, int throughput, int partitions) {
        try (CosmosClient other = Fixture.clientBuilder().buildClient()) {
            CosmosContainer same = other.getDatabase(database).getContainer(container.getId());
            same.replaceThroughput(ThroughputTest.manual(throughput));
            // Clients remember ranges, so each look is that of a new one.
            await("the split", () -> {
                try (CosmosClient fresh = Fixture.clientBuilder().buildClient()) {
                    return fresh.getDatabase(database).getContainer(container.getId()).getFeedRanges().size()
                            >= partitions;
                }
            });
        }
    }

    static void await(String what, BooleanSupplier condition) {
        long deadline = System.currentTimeMillis() + WAIT_MILLIS_MAX;
        while (!condition.getAsBoolean()) {
            if (System.currentTimeMillis() > deadline) {
                throw new AssertionError("waited in vain for " + what);
            }
            try {
                Thread.sleep(100);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
