package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosBulkOperationResponse;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosItemOperation;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Enforced throughput: clients wait as they are told, and in the end everything is there. */
class OverloadTest extends Fixture {
    private static final int RATE = 400;

    @Test
    void aBulkLoadRunsAtTheRateOfItsContainer() {
        bulkLoad(RATE, RATE, 400);
    }

    /** A container with 18,000 RU a second has three physical partitions, and keeps them. */
    @Test
    void aBulkLoadOverThreePhysicalPartitionsRunsAtTheirRate() {
        bulkLoad(18_000, 3 * RATE, 1200);
    }

    private static void bulkLoad(int first, int rate, int count) {
        Process process = Server.launch(List.of("--throughput", "on"));
        JsonNode ready = Server.ready(process);
        try (CosmosClient client = Mode.of(new CosmosClientBuilder()
                .endpoint(ready.get("endpoint").asText())
                .key(ready.get("key").asText()))
                .buildClient()) {
            client.createDatabase("db");
            client.getDatabase("db").createContainer(properties("c"), ThroughputTest.manual(first));
            CosmosContainer container = client.getDatabase("db").getContainer("c");
            container.replaceThroughput(ThroughputTest.manual(rate));
            load(container, rate, count);
        } finally {
            process.destroy();
        }
    }

    private static void load(CosmosContainer container, int rate, int count) {
        String text = "x".repeat(1000);
        List<CosmosItemOperation> operations = new ArrayList<>();
        for (int n = 0; n < count; n++) {
            String key = "k" + n % (count / 4);
            ObjectNode item = item("" + n, key).put("text", text);
            operations.add(CosmosBulkOperations.getCreateItemOperation(item, pk(key)));
        }
        long begun = System.nanoTime();
        double sum = 0;
        for (CosmosBulkOperationResponse<Object> response : container.executeBulkOperations(operations)) {
            assertEquals(201, response.getResponse().getStatusCode());
            sum += response.getResponse().getRequestCharge();
        }
        double seconds = (System.nanoTime() - begun) / 1e9;
        String message = String.format("%.1f s for %.0f RU at %d RU/s", seconds, sum, rate);
        System.out.println(message);
        // The first second began with the container and may be nearly over.
        assertTrue(seconds > sum / rate - 2.5, message);
        // A machine with much to do needs longer.
        assertTrue(seconds < 3 * sum / rate + 5, message);
    }
}
