package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.ChangeFeedProcessorItem;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import com.azure.cosmos.models.ChangeFeedProcessorState;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The change feed processor: leases shared, taken over from the dead, and split with their ranges. */
@Timeout(300)
class ChangeFeedProcessorTest extends Fixture {
    private static final int ITEMS = 30;

    private CosmosDatabase database;
    private CosmosContainer source;
    private CosmosContainer seen;
    private CosmosContainer leases;

    @Test
    void twoWorkersAKillAndASplit() throws IOException {
        database = newDatabase();
        source = createIn(database, properties("source"), ThroughputTest.manual(18000));
        leases = createIn(database, new CosmosContainerProperties("leases", key("/id")), null);
        seen = createIn(database, new CosmosContainerProperties("seen", key("/id")), null);
        write(0);
        Process doomed = FeedWorker.start("doomed", database.getId());
        try (CosmosAsyncClient client =
                clientBuilder().contentResponseOnWriteEnabled(true).buildAsyncClient()) {
            CosmosAsyncDatabase same = client.getDatabase(database.getId());
            ChangeFeedProcessor survivor = FeedWorker.processor(same, "survivor");
            Changes.await("the first worker", () -> owners().equals(Set.of("doomed")));
            survivor.start().block();
            Changes.await("both to share the leases", () -> owners().equals(Set.of("doomed", "survivor")));
            write(1);
            Changes.await("all of the first rounds", () -> isSeen(0) && isSeen(1));

            doomed.destroyForcibly();
            write(2);
            Changes.await("the survivor to take over", () -> isSeen(2) && owners().equals(Set.of("survivor")));

            Changes.split(source, database.getId(), 50000, 5);
            write(3);
            Changes.await("changes behind the split", () -> isSeen(3));
            Changes.await("a lease for each range", () -> leaseRows().size() >= 5);
            survivor.stop().block();
            estimate(FeedWorker.processor(same, "estimator"));
        } finally {
            doomed.destroyForcibly();
        }
    }

    /** Everything written since the last checkpoint is behind, in the whole container. */
    private void estimate(ChangeFeedProcessor idle) {
        List<ChangeFeedProcessorState> states = new ArrayList<>();
        // A page that is under way when the processor stops is still handed over, and noted in its lease.
        Changes.await("a round of which nobody has read", () -> {
            Set<String> before = checkpoints();
            write(4);
            states.clear();
            states.addAll(idle.getCurrentState().block());
            return checkpoints().equals(before);
        });
        int behind = states.stream()
                .mapToInt(ChangeFeedProcessorState::getEstimatedLag)
                .sum();
        assertTrue(behind >= ITEMS, "estimated " + behind);
        assertTrue(states.stream().allMatch(state -> state.getContinuationToken() != null));
    }

    private void write(int round) {
        for (int n = 0; n < ITEMS; n++) {
            source.upsertItem(item("i" + n, "p" + n).put("n", round));
        }
    }

    private boolean isSeen(int round) {
        Set<String> rows = rows(seen).stream()
                .map(row -> row.get("id").asText())
                .collect(Collectors.toSet());
        // Who is late may see only the newest version of an item.
        return IntStream.range(0, ITEMS).allMatch(n -> IntStream.range(round, 5)
                .anyMatch(later -> rows.contains("i" + n + "@" + later)));
    }

    private Set<String> owners() {
        return leaseRows().stream()
                .map(row -> row.path("Owner").asText())
                .collect(Collectors.toSet());
    }

    private Set<String> checkpoints() {
        return leaseRows().stream()
                .map(row -> row.get("LeaseToken") + " " + row.get("ContinuationToken"))
                .collect(Collectors.toSet());
    }

    private List<ObjectNode> leaseRows() {
        return rows(leases).stream().filter(row -> row.has("LeaseToken")).toList();
    }

    private static List<ObjectNode> rows(CosmosContainer container) {
        return container.queryItems("SELECT * FROM c", everywhere(), ObjectNode.class).stream()
                .toList();
    }

    @Test
    void allVersionsAndDeletes() {
        database = newDatabase();
        source = createIn(database, ChangeFeedAllVersionsTest.kept().setId("source"), null);
        createIn(database, new CosmosContainerProperties("leases", key("/id")), null);
        ConcurrentLinkedQueue<String> changes = new ConcurrentLinkedQueue<>();
        try (CosmosAsyncClient client =
                clientBuilder().contentResponseOnWriteEnabled(true).buildAsyncClient()) {
            CosmosAsyncDatabase same = client.getDatabase(database.getId());
            ChangeFeedProcessor processor = new ChangeFeedProcessorBuilder()
                    .hostName("one")
                    .feedContainer(same.getContainer("source"))
                    .leaseContainer(same.getContainer("leases"))
                    .options(new ChangeFeedProcessorOptions().setFeedPollDelay(Duration.ofMillis(100)))
                    .handleAllVersionsAndDeletesChanges(page -> page.forEach(change -> changes.add(kind(change))))
                    .buildChangeFeedProcessor();
            processor.start().block();
            Changes.await("the first look", () -> {
                source.upsertItem(item("probe", "a"));
                return !changes.isEmpty();
            });
            source.deleteItem("probe", pk("a"), null);
            create(source, item("1", "a"));
            source.upsertItem(item("1", "a"));
            source.deleteItem("1", pk("a"), null);
            List<String> expected = List.of("delete probe", "create 1", "replace 1", "delete 1");
            Changes.await("every change", () -> changes.size() >= 5 && changes.contains("delete 1"));
            assertEquals(expected, tail(changes, 4));
            processor.stop().block();
        }
    }

    private static String kind(ChangeFeedProcessorItem change) {
        var body = change.getCurrent() != null && change.getCurrent().has("id")
                ? change.getCurrent()
                : change.getPrevious();
        return change.getChangeFeedMetaData().getOperationType().toString().toLowerCase() + " " + body.get("id").asText();
    }

    private static List<String> tail(ConcurrentLinkedQueue<String> changes, int count) {
        List<String> all = List.copyOf(changes);
        return all.subList(Math.max(0, all.size() - count), all.size());
    }
}
