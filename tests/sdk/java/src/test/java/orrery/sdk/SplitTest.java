package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A container that splits under a client that goes on with what it was doing. */
class SplitTest extends Fixture {
    private static final int KEYS = 30;

    private CosmosDatabase database;
    private CosmosContainer container;
    private String everything;

    @BeforeEach
    void onePartition() {
        database = newDatabase();
        container = createIn(database, properties("c"), ThroughputTest.manual(400));
        fill(container, KEYS, 2);
        everything = queryIds(container, "SELECT * FROM c", everywhere());
    }

    private void split() {
        Changes.split(container, database.getId(), 25000, 3);
    }

    private String late() {
        for (int p = 0; p < KEYS; p++) {
            create(container, item("late" + p, "p" + p));
        }
        return String.join(
                " ", IntStream.range(0, KEYS).mapToObj(p -> "late" + p).sorted().toList());
    }

    @Test
    void anOpenFeedGoesOn() {
        Iterator<FeedResponse<ObjectNode>> pages = container
                .queryChangeFeed(Changes.beginning().setMaxItemCount(7), ObjectNode.class)
                .iterableByPage()
                .iterator();
        List<ObjectNode> seen = new ArrayList<>(pages.next().getResults());
        split();
        pages.forEachRemaining(page -> seen.addAll(page.getResults()));
        assertEquals(everything, ids(seen));
    }

    @Test
    void keptContinuationsGoOn() {
        FeedRange range = container.getFeedRanges().get(0);
        String whole = Changes.read(container, Changes.beginning()).continuation();
        String part = Changes.read(container, Changes.beginning(range)).continuation();
        FeedRange key = FeedRange.forLogicalPartition(pk("p3"));
        String ofKey = Changes.read(container, Changes.beginning(key)).continuation();
        split();
        String late = late();
        for (String continuation : List.of(whole, part)) {
            Changes.Feed feed = Changes.read(container, Changes.from(continuation).setMaxItemCount(4));
            assertEquals(late, feed.ids());
            assertEquals("", Changes.read(container, Changes.from(feed.continuation())).ids());
        }
        assertEquals("late3", Changes.read(container, Changes.from(ofKey)).ids());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SELECT * FROM c",
                "SELECT * FROM c ORDER BY c.id",
                "SELECT * FROM c ORDER BY c.id DESC",
            })
    void anOpenQueryGoesOn(String query) {
        Iterator<FeedResponse<ObjectNode>> pages = container
                .queryItems(query, everywhere(), ObjectNode.class)
                .iterableByPage(7)
                .iterator();
        List<ObjectNode> seen = new ArrayList<>(pages.next().getResults());
        split();
        while (pages.hasNext()) {
            seen.addAll(pages.next().getResults());
        }
        assertEquals(everything, ids(seen));
        if (query.contains("ORDER")) {
            List<String> order = seen.stream().map(item -> item.get("id").asText()).toList();
            List<String> sorted = new ArrayList<>(order);
            sorted.sort(query.contains("DESC") ? Comparator.reverseOrder() : null);
            assertEquals(sorted, order);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"SELECT * FROM c", "SELECT * FROM c ORDER BY c.id"})
    void aKeptContinuationOfAQueryGoesOn(String query) {
        FeedResponse<ObjectNode> first = container
                .queryItems(query, everywhere(), ObjectNode.class)
                .iterableByPage(7)
                .iterator()
                .next();
        List<ObjectNode> seen = new ArrayList<>(first.getResults());
        split();
        container
                .queryItems(query, everywhere(), ObjectNode.class)
                .iterableByPage(first.getContinuationToken(), 7)
                .forEach(page -> seen.addAll(page.getResults()));
        assertEquals(everything, ids(seen));
    }

    /** The values are longer than the tokens of the server, which begin alike. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anOrderOfLongValuesGoesOn(boolean isResumed) {
        String begin = "x".repeat(3000);
        List<String> sorted = IntStream.range(0, KEYS).mapToObj(n -> "%03d".formatted(n)).toList();
        for (int n = 0; n < KEYS; n++) {
            create(container, item("l" + n, "p" + n).put("l", begin + sorted.get(n)));
        }
        String query = "SELECT c.l FROM c WHERE IS_DEFINED(c.l) ORDER BY c.l";
        CosmosQueryRequestOptions options = everywhere().setResponseContinuationTokenLimitInKb(1);
        Iterator<FeedResponse<ObjectNode>> pages =
                container.queryItems(query, options, ObjectNode.class).iterableByPage(4).iterator();
        List<ObjectNode> seen = new ArrayList<>();
        String continuation = null;
        for (int page = 0; page < 3; page++) {
            FeedResponse<ObjectNode> next = pages.next();
            seen.addAll(next.getResults());
            continuation = next.getContinuationToken();
        }
        split();
        if (isResumed) {
            pages = container
                    .queryItems(query, options, ObjectNode.class)
                    .iterableByPage(continuation, 4)
                    .iterator();
        }
        pages.forEachRemaining(page -> seen.addAll(page.getResults()));
        assertEquals(
                sorted, seen.stream().map(row -> row.get("l").asText().substring(3000)).toList());
    }

    @Test
    void readManyAndFeedRangesAfterASplit() {
        List<CosmosItemIdentity> wanted = IntStream.range(0, KEYS)
                .mapToObj(p -> new CosmosItemIdentity(pk("p" + p), p + "-1"))
                .toList();
        String before = ids(container.readMany(wanted, ObjectNode.class).getResults());
        FeedRange old = container.getFeedRanges().get(0);
        split();
        assertEquals(before, ids(container.readMany(wanted, ObjectNode.class).getResults()));
        String inOld = queryIds(
                container,
                "SELECT * FROM c",
                new CosmosQueryRequestOptions().setFeedRange(old));
        assertEquals(everything, inOld);
    }

    @Test
    void readersAndWritersNoticeNothing() throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        ExecutorService threads = Executors.newFixedThreadPool(3);
        List<Future<Integer>> workers = IntStream.range(0, 3)
                .mapToObj(worker -> threads.submit(() -> {
                    int n = 0;
                    for (; !stop.get() || n < 20; n++) {
                        String id = "w" + worker + "-" + n;
                        ObjectNode made = create(container, item(id, "p" + n % KEYS));
                        assertEquals(made, read(container, id, "p" + n % KEYS));
                    }
                    return n;
                }))
                .toList();
        try {
            split();
        } finally {
            stop.set(true);
        }
        int written = 0;
        for (Future<Integer> worker : workers) {
            written += worker.get();
        }
        threads.shutdown();
        Changes.Feed feed = Changes.read(container, Changes.beginning());
        assertEquals(2 * KEYS + written, feed.all().size());
        assertEquals(queryIds(container, "SELECT * FROM c", everywhere()), feed.ids());
    }

    @Test
    void sessionTokensFromBeforeTheSplit() {
        String token = container.upsertItem(item("s", "a")).getSessionToken();
        split();
        CosmosItemRequestOptions options = new CosmosItemRequestOptions().setSessionToken(token);
        assertEquals(
                "s",
                container
                        .readItem("s", pk("a"), options, ObjectNode.class)
                        .getItem()
                        .get("id")
                        .asText());
    }
}
