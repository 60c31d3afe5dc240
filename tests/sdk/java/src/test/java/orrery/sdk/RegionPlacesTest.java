package orrery.sdk;

import static orrery.sdk.RegionAccount.ASIA;
import static orrery.sdk.RegionAccount.NORTH;
import static orrery.sdk.RegionAccount.WEST;
import static orrery.sdk.RegionAccount.regions;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Which region a request goes to. */
class RegionPlacesTest extends Fixture {
    private static RegionAccount account;

    @BeforeAll
    static void start() {
        // Left alone, the others would replace a write region that stands still for some seconds.
        account = RegionAccount.start(List.of(WEST, NORTH, ASIA), "--service-managed-failover", "off");
    }

    @AfterAll
    static void stop() {
        account.close();
    }

    static Stream<Arguments> places() {
        return Stream.of(
                Arguments.of(List.of(), List.of(), WEST),
                Arguments.of(List.of(NORTH, WEST), List.of(), NORTH),
                Arguments.of(List.of(ASIA, NORTH), List.of(), ASIA),
                Arguments.of(List.of("East US 2", ASIA), List.of(), ASIA),
                Arguments.of(List.of(NORTH, ASIA), List.of(NORTH), ASIA));
    }

    @ParameterizedTest
    @MethodSource("places")
    void readsGoToThePreferredRegionAndWritesToTheirs(List<String> preferred, List<String> excluded, String region) {
        CosmosContainer container = account.container(preferred.toArray(String[]::new));
        String pk = uniqueId("pk");
        var created = container.createItem(item("1", pk));
        assertEquals(Set.of(WEST), regions(created.getDiagnostics().getDiagnosticsContext()));
        var replaced = container.replaceItem(item("1", pk).put("n", 1), "1", pk(pk), new CosmosItemRequestOptions());
        assertEquals(Set.of(WEST), regions(replaced.getDiagnostics().getDiagnosticsContext()));

        account.awaitEven();
        var options = new CosmosItemRequestOptions().setExcludedRegions(excluded);
        var read = container.readItem("1", pk(pk), options, ObjectNode.class);
        assertEquals(1, read.getItem().get("n").asInt());
        assertEquals(Set.of(region), regions(read.getDiagnostics().getDiagnosticsContext()));
        var query = in(pk).setExcludedRegions(excluded);
        for (var page : container.queryItems("SELECT * FROM c", query, ObjectNode.class).iterableByPage()) {
            assertEquals(1, page.getResults().size());
            assertEquals(
                    Set.of(region), regions(page.getCosmosDiagnostics().getDiagnosticsContext()));
        }
    }
}
