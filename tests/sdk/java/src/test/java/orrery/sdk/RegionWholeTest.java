package orrery.sdk;

import static orrery.sdk.RegionAccount.NORTH;
import static orrery.sdk.RegionAccount.WEST;
import static orrery.sdk.RegionAccount.WHOLE;
import static orrery.sdk.RegionAccount.regions;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Clients that know the account by its own address, which does not go with any region. */
class RegionWholeTest extends Fixture {
    static Stream<List<String>> preferred() {
        return Stream.of(List.of(), List.of(WEST, NORTH));
    }

    @ParameterizedTest
    @MethodSource("preferred")
    void clientsStartAndGoOnWhileAnyRegionIsThere(List<String> preferred) {
        try (RegionAccount account = RegionAccount.start(List.of(WEST, NORTH))) {
            CosmosContainer old = connect(account, preferred);
            create(old, item("1", "a"));
            account.awaitEven();
            account.takeDown(WEST);
            for (CosmosContainer container : List.of(old, connect(account, preferred))) {
                var read = container.readItem("1", pk("a"), ObjectNode.class);
                assertTrue(regions(read.getDiagnostics().getDiagnosticsContext()).contains(NORTH));
            }
            account.failover(NORTH, true);
            create(connect(account, preferred), item("2", "a"));

            account.bringUp(WEST);
            RegionAccount.await(() -> account.state(WEST).get("state").asText().equals("read"));
            account.awaitEven();
            create(old, item("3", "a"));
            create(connect(account, preferred), item("4", "a"));
            assertEquals("1 2 3 4", queryIds(old, "SELECT * FROM c", in("a")));
        }
    }

    private static CosmosContainer connect(RegionAccount account, List<String> preferred) {
        return account.container(preferred, WHOLE, UnaryOperator.identity());
    }
}
