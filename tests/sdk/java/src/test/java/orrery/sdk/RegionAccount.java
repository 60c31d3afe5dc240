package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDiagnosticsContext;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.StreamSupport;

/**
 * A server in memory with regions and the container `db/c`, ordered about as an operator would. The
 * first region takes the writes.
 */
final class RegionAccount implements AutoCloseable {
    static final String WEST = "West US";
    static final String NORTH = "North Europe";
    static final String ASIA = "Southeast Asia";
    /** Not a region, but the address of all of them. */
    static final String WHOLE = "the account";

    private static final long WAIT_MILLIS_MAX = 60_000;
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    private final Process process;
    private final JsonNode ready;
    private final Map<String, String> endpoints = new HashMap<>();
    private final List<CosmosClient> clients = new ArrayList<>();

    private RegionAccount(Process process, JsonNode ready) {
        this.process = process;
        this.ready = ready;
        for (JsonNode region : ready.get("regions")) {
            endpoints.put(region.get("name").asText(), region.get("endpoint").asText());
        }
        endpoints.put(WHOLE, ready.get("account").asText());
    }

    static RegionAccount start(List<String> names, String... options) {
        List<String> flags = new ArrayList<>();
        for (String name : names) {
            flags.addAll(List.of("--region", name));
        }
        flags.addAll(List.of(options));
        Process process = Server.launch(flags);
        RegionAccount account = new RegionAccount(process, Server.ready(process));
        CosmosClient client = account.client(List.of(), null, builder -> builder);
        client.createDatabase("db");
        client.getDatabase("db").createContainer("c", "/pk");
        account.awaitEven();
        return account;
    }

    @Override
    public void close() {
        clients.forEach(CosmosClient::close);
        process.destroy();
    }

    CosmosContainer container(String... preferred) {
        return container(List.of(preferred), null, builder -> builder);
    }

    /** Through a client that prefers these regions and knows the account by the endpoint of `at`. */
    CosmosContainer container(List<String> preferred, String at, UnaryOperator<CosmosClientBuilder> more) {
        return client(preferred, at, more).getDatabase("db").getContainer("c");
    }

    CosmosClient client(String... preferred) {
        return client(List.of(preferred), null, builder -> builder);
    }

    /** A container beside `db/c`, there in all regions. */
    void makeContainer(String id, int throughput) {
        client().getDatabase("db")
                .createContainer(
                        new CosmosContainerProperties(id, "/pk"),
                        ThroughputProperties.createManualThroughput(throughput));
        awaitEven();
    }

    private CosmosClient client(List<String> preferred, String at, UnaryOperator<CosmosClientBuilder> more) {
        String endpoint = at == null ? ready.get("endpoint").asText() : endpoints.get(at);
        CosmosClientBuilder builder = Mode.of(new CosmosClientBuilder()
                // The client makes names for the regions of this one and does not take an address.
                .endpoint(endpoint.replace("127.0.0.1", "localhost"))
                .key(ready.get("key").asText())
                .preferredRegions(preferred)
                .contentResponseOnWriteEnabled(true));
        CosmosClient client = more.apply(builder).buildClient();
        clients.add(client);
        return client;
    }

    /** The regions that an operation came to, as the client says. */
    static Set<String> regions(CosmosDiagnosticsContext context) {
        Set<String> named = new HashSet<>();
        for (String contacted : context.getContactedRegionNames()) {
            List.of(WEST, NORTH, ASIA).stream()
                    .filter(name -> name.equalsIgnoreCase(contacted))
                    .forEach(named::add);
        }
        return named;
    }

    JsonNode report() {
        return order("GET", "/account", null);
    }

    String writeRegion() {
        return report().get("writeRegion").asText();
    }

    JsonNode state(String region) {
        return StreamSupport.stream(report().get("regions").spliterator(), false)
                .filter(row -> row.get("name").asText().equals(region))
                .findFirst()
                .orElseThrow();
    }

    void failover(String to, boolean forced) {
        order("POST", "/account/failover", Fixture.JSON.createObjectNode().put("to", to).put("forced", forced));
    }

    /** Of one partition. */
    void failover(String to, String partition) {
        order("POST", "/account/failover", about(partition).put("to", to));
    }

    void takeDown(String region, String partition) {
        order("POST", "/regions/" + quoted(region) + "/down", about(partition));
    }

    void bringUp(String region, String partition) {
        order("POST", "/regions/" + quoted(region) + "/up", about(partition));
    }

    private static ObjectNode about(String partition) {
        return Fixture.JSON.createObjectNode().put("partition", partition);
    }

    void takeDown(String region) {
        order("POST", "/regions/" + quoted(region) + "/down", null);
    }

    void bringUp(String region) {
        order("POST", "/regions/" + quoted(region) + "/up", null);
    }

    void add(String region) {
        JsonNode added = order("POST", "/regions", Fixture.JSON.createObjectNode().put("name", region));
        endpoints.put(region, added.get("endpoint").asText());
    }

    void remove(String region) {
        order("DELETE", "/regions/" + quoted(region), null);
    }

    void link(String from, String to, String verb) {
        order("POST", "/links/" + quoted(from) + "/" + quoted(to), Fixture.JSON.createObjectNode().put("order", verb));
    }

    void delay(long millis) {
        order("POST", "/links/*/*", Fixture.JSON.createObjectNode().put("order", "delay").put("millis", millis));
    }

    /** Records wait on this link while `work` goes on. */
    void paused(String from, String to, Runnable work) {
        link(from, to, "pause");
        try {
            work.run();
        } finally {
            link(from, to, "resume");
        }
    }

    /** Until all regions that are up have applied the same. */
    void awaitEven() {
        await(() -> {
            Set<Long> places = new HashSet<>();
            for (JsonNode row : report().get("regions")) {
                if (Set.of("write", "read").contains(row.get("state").asText())) {
                    places.add(row.get("kept").asLong());
                    places.add(row.get("applied").asLong());
                }
            }
            return places.size() == 1;
        });
    }

    /** Until nothing that one region wrote is missing in another, where several of them write. */
    void awaitNothingMissing() {
        await(() -> StreamSupport.stream(report().get("links").spliterator(), false)
                .allMatch(link -> link.path("behind").path("records").asLong() == 0));
    }

    /** Until a region itself knows whether it is a member, which it hears last; one that is not answers 403. */
    void awaitMembership(String region, boolean isMember) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(endpoints.get(region))).build();
        await(() -> (send(request).statusCode() != 403) == isMember);
    }

    static void await(BooleanSupplier holds) {
        long deadline = System.currentTimeMillis() + WAIT_MILLIS_MAX;
        try {
            while (!holds.getAsBoolean()) {
                assertTrue(System.currentTimeMillis() < deadline, "waited in vain");
                Thread.sleep(20);
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private JsonNode order(String verb, String path, ObjectNode body) {
        JsonNode management = ready.get("management");
        URI uri = URI.create(management.get("endpoint").asText()).resolve(path);
        HttpRequest request = HttpRequest.newBuilder(uri)
                .header("authorization", "Bearer " + management.get("key").asText())
                .method(verb, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body.toString()))
                .build();
        HttpResponse<String> response = send(request);
        assertTrue(response.statusCode() < 300, response.body());
        return Fixture.json(response.body());
    }

    private static HttpResponse<String> send(HttpRequest request) {
        try {
            return HTTP.send(request, BodyHandlers.ofString());
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static String quoted(String region) {
        return URLEncoder.encode(region, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
