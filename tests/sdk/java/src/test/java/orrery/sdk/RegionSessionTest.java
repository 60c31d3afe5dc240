package orrery.sdk;

import static orrery.sdk.RegionAccount.NORTH;
import static orrery.sdk.RegionAccount.WEST;
import static orrery.sdk.RegionAccount.regions;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An item is 1 in North Europe, and 2 only where it was written, since the link is paused. */
class RegionSessionTest extends Fixture {
    private static RegionAccount account;

    private String pk;
    private CosmosContainer writer;

    @BeforeAll
    static void start() {
        account = RegionAccount.start(List.of(WEST, NORTH));
    }

    @AfterAll
    static void stop() {
        account.close();
    }

    @BeforeEach
    void write() {
        pk = uniqueId("pk");
        writer = account.container(NORTH, WEST);
        create(writer, item("1", pk).put("n", 1));
        account.awaitEven();
    }

    private String change() {
        return writer.replaceItem(item("1", pk).put("n", 2), "1", pk(pk), null).getSessionToken();
    }

    private CosmosItemResponse<ObjectNode> read(CosmosContainer container, String token) {
        var options = new CosmosItemRequestOptions().setSessionToken(token);
        return container.readItem("1", pk(pk), options, ObjectNode.class);
    }

    private static void check(int n, Set<String> places, CosmosItemResponse<ObjectNode> read) {
        assertEquals(n, read.getItem().get("n").asInt());
        assertEquals(places, regions(read.getDiagnostics().getDiagnosticsContext()));
    }

    @Test
    void aClientReadsItsWritesInARegionThatIsBehind() {
        account.paused(WEST, NORTH, () -> {
            change();
            check(2, Set.of(NORTH, WEST), read(writer, null));
            String all = "SELECT VALUE c.n FROM c";
            var rows = writer.queryItems(all, in(pk), Integer.class).stream().toList();
            assertEquals(List.of(2), rows);
        });
        account.awaitEven();
        check(2, Set.of(NORTH), read(writer, null));
    }

    @Test
    void aTokenTakesASessionToAnotherClient() {
        CosmosContainer other = account.container(NORTH, WEST);
        account.paused(WEST, NORTH, () -> {
            String token = change();
            check(1, Set.of(NORTH), read(other, null));
            check(2, Set.of(NORTH, WEST), read(other, token));
        });
    }

    @Test
    void eventualReadsWhatTheRegionHas() {
        CosmosContainer weaker = account.container(
                List.of(NORTH, WEST), null, builder -> builder.consistencyLevel(ConsistencyLevel.EVENTUAL));
        account.paused(WEST, NORTH, () -> {
            change();
            check(1, Set.of(NORTH), read(weaker, null));
        });
    }
}
