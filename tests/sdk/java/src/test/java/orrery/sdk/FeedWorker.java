package orrery.sdk;

import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.models.ChangeFeedProcessorItem;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A change feed processor in a process of its own, so that it can be killed. It notes what it was
 * handed in the container `seen`, before it returns and its lease goes on.
 */
final class FeedWorker {
    private static final ObjectMapper JSON = new ObjectMapper();

    private FeedWorker() {}

    static Process start(String host, String database) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                System.getProperty("java.home") + File.separator + "bin" + File.separator + "java",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1"));
        for (String name : List.of("trustStore", "trustStorePassword", "trustStoreType")) {
            String property = "javax.net.ssl." + name;
            command.add("-D" + property + "=" + System.getProperty(property));
        }
        // Surefire hides the class path behind a jar with a manifest.
        String classPath =
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        command.addAll(List.of("-cp", classPath, FeedWorker.class.getName()));
        command.addAll(List.of(Server.shared().endpoint, Server.shared().key, host, database));
        // The output of this process belongs to Surefire.
        return new ProcessBuilder(command)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    public static void main(String[] arguments) throws InterruptedException {
        CosmosAsyncClient client = Mode.of(new CosmosClientBuilder()
                .endpoint(arguments[0])
                .key(arguments[1]))
                .contentResponseOnWriteEnabled(true)
                .buildAsyncClient();
        processor(client.getDatabase(arguments[3]), arguments[2]).start().block();
        Thread.sleep(Duration.ofMinutes(2).toMillis());
    }

    static ChangeFeedProcessor processor(CosmosAsyncDatabase database, String host) {
        CosmosAsyncContainer seen = database.getContainer("seen");
        return new ChangeFeedProcessorBuilder()
                .hostName(host)
                .feedContainer(database.getContainer("source"))
                .leaseContainer(database.getContainer("leases"))
                .options(options())
                .handleLatestVersionChanges(changes -> {
                    for (ChangeFeedProcessorItem change : changes) {
                        note(seen, host, change.getCurrent());
                    }
                })
                .buildChangeFeedProcessor();
    }

    private static ChangeFeedProcessorOptions options() {
        return new ChangeFeedProcessorOptions()
                .setStartFromBeginning(true)
                .setMaxItemCount(5)
                .setFeedPollDelay(Duration.ofMillis(100))
                .setLeaseAcquireInterval(Duration.ofMillis(500))
                .setLeaseRenewInterval(Duration.ofMillis(500))
                .setLeaseExpirationInterval(Duration.ofSeconds(2));
    }

    private static void note(CosmosAsyncContainer seen, String host, JsonNode item) {
        ObjectNode row = JSON.createObjectNode();
        row.put("id", item.get("id").asText() + "@" + item.get("n").asInt());
        row.put("host", host);
        seen.upsertItem(row).block();
    }
}
