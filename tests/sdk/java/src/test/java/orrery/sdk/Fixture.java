package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.azure.cosmos.models.PartitionKind;
import com.azure.cosmos.models.SqlQuerySpec;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.function.Executable;

/** What the tests share: one client, databases that go away after each test, short words for items. */
abstract class Fixture {
    static final ObjectMapper JSON = new ObjectMapper();
    static final CosmosClient CLIENT = clientBuilder().contentResponseOnWriteEnabled(true).buildClient();

    private static final AtomicInteger COUNTER = new AtomicInteger();
    private final List<CosmosDatabase> databases = new ArrayList<>();

    static CosmosClientBuilder clientBuilder() {
        return Mode.of(new CosmosClientBuilder()
                .endpoint(Server.shared().endpoint)
                .key(Server.shared().key));
    }

    @AfterEach
    void deleteDatabases() {
        for (CosmosDatabase database : databases) {
            try {
                database.delete();
            } catch (CosmosException e) {
                if (e.getStatusCode() != 404) {
                    throw e;
                }
            }
        }
    }

    static String uniqueId(String prefix) {
        return prefix + COUNTER.incrementAndGet();
    }

    CosmosDatabase newDatabase() {
        return newDatabase(null);
    }

    CosmosDatabase newDatabase(ThroughputProperties throughput) {
        String id = uniqueId("db");
        CLIENT.createDatabase(id, throughput);
        CosmosDatabase database = CLIENT.getDatabase(id);
        databases.add(database);
        return database;
    }

    /** A container `c` keyed by /pk, version 2. */
    CosmosContainer newContainer() {
        return newContainer(properties("c"));
    }

    CosmosContainer newContainer(CosmosContainerProperties properties) {
        return newContainer(properties, null);
    }

    CosmosContainer newContainer(CosmosContainerProperties properties, ThroughputProperties throughput) {
        return createIn(newDatabase(), properties, throughput);
    }

    static CosmosContainer createIn(
            CosmosDatabase database, CosmosContainerProperties properties, ThroughputProperties throughput) {
        database.createContainer(properties, throughput);
        return database.getContainer(properties.getId());
    }

    static CosmosContainerProperties properties(String id) {
        return new CosmosContainerProperties(id, key("/pk"));
    }

    static PartitionKeyDefinition key(String... paths) {
        return new PartitionKeyDefinition()
                .setPaths(List.of(paths))
                .setKind(paths.length > 1 ? PartitionKind.MULTI_HASH : PartitionKind.HASH)
                .setVersion(PartitionKeyDefinitionVersion.V2);
    }

    static PartitionKey pk(Object value) {
        return new PartitionKey(value);
    }

    static ObjectNode item(String id, String pk) {
        return JSON.createObjectNode().put("id", id).put("pk", pk);
    }

    static ObjectNode create(CosmosContainer container, ObjectNode item) {
        return container.createItem(item).getItem();
    }

    static ObjectNode read(CosmosContainer container, String id, String pk) {
        return container.readItem(id, pk(pk), ObjectNode.class).getItem();
    }

    /** Items `{p}-{n}` in logical partitions p0, p1, ... */
    static void fill(CosmosContainer container, int partitions, int items) {
        for (int p = 0; p < partitions; p++) {
            for (int n = 0; n < items; n++) {
                ObjectNode item = item(p + "-" + n, "p" + p).put("n", n).put("even", n % 2 == 0);
                item.putObject("nested").put("s", "s" + n);
                create(container, item);
            }
        }
    }

    static String queryIds(CosmosContainer container, String query, CosmosQueryRequestOptions options) {
        return queryIds(container, new SqlQuerySpec(query), options);
    }

    static String queryIds(CosmosContainer container, SqlQuerySpec query, CosmosQueryRequestOptions options) {
        return ids(container.queryItems(query, options, ObjectNode.class));
    }

    static CosmosQueryRequestOptions in(String pk) {
        return new CosmosQueryRequestOptions().setPartitionKey(pk(pk));
    }

    static CosmosQueryRequestOptions everywhere() {
        return new CosmosQueryRequestOptions();
    }

    /** The sorted ids, with blanks between. */
    static String ids(Iterable<ObjectNode> items) {
        return String.join(
                " ",
                StreamSupport.stream(items.spliterator(), false)
                        .map(item -> item.get("id").asText())
                        .sorted()
                        .toList());
    }

    /** The item without id, key and system properties. */
    static JsonNode userProperties(ObjectNode item) {
        return item.deepCopy().remove(List.of("id", "pk", "_rid", "_self", "_etag", "_ts", "_attachments"));
    }

    static JsonNode json(String text) {
        try {
            return JSON.readTree(text);
        } catch (java.io.IOException e) {
            throw new AssertionError(e);
        }
    }

    static CosmosException fails(int status, Executable call) {
        CosmosException failure = assertThrows(CosmosException.class, call);
        assertEquals(status, failure.getStatusCode(), failure::getShortMessage);
        return failure;
    }

    /** A 304 is an answer in one connection mode and an exception in another. */
    static int readStatus(java.util.function.Supplier<CosmosItemResponse<ObjectNode>> call) {
        try {
            return call.get().getStatusCode();
        } catch (CosmosException e) {
            return e.getStatusCode();
        }
    }
}
