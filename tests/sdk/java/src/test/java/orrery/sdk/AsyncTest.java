package orrery.sdk;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

class AsyncTest extends Fixture {
    @Test
    void itemsThroughTheAsyncClient() {
        CosmosDatabase database = newDatabase();
        createIn(database, properties("c"), null);
        try (CosmosAsyncClient client = clientBuilder().buildAsyncClient()) {
            CosmosAsyncContainer container = client.getDatabase(database.getId()).getContainer("c");
            long written = Flux.range(0, 50)
                    .flatMap(n -> container.createItem(item("" + n, "p" + n % 5)), 10)
                    .count()
                    .block();
            assertEquals(50, written);
            Long found = container
                    .queryItems("SELECT * FROM c", everywhere(), ObjectNode.class)
                    .count()
                    .block();
            assertEquals(50, found);
            Integer status = container
                    .readItem("absent", pk("p0"), ObjectNode.class)
                    .map(response -> response.getStatusCode())
                    .onErrorResume(CosmosException.class, e -> Mono.just(e.getStatusCode()))
                    .block();
            assertEquals(404, status);
        }
    }
}
